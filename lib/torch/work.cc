/* SPDX-License-Identifier: MIT
 *
 * See work.h.
 */
#include "work.h"

#include <torch/torch.h>

namespace gradwire {

void run_queued(void *context, struct gw_comm *comm)
{
    std::unique_ptr<Queued> queued(static_cast<Queued *>(context));
    std::exception_ptr exception;
    try {
        at::ThreadLocalStateGuard state(queued->state);
        at::AutoDispatchBelowADInplaceOrView no_grad;
        if (!comm)
            throw std::runtime_error(
                sentence_of(GW_ECLOSED, "the process group was destroyed"));
        enum gw_err code = queued->body(comm);
        if (code)
            throw std::runtime_error(
                sentence_of(code, gw_comm_error(comm)->text));
    } catch (...) {
        exception = std::current_exception();
    }
    queued->body = nullptr;
    queued->work->end(exception);
}

void message_done(void *context, enum gw_err code, const char *text, int peer)
{
    std::unique_ptr<Message> message(static_cast<Message *>(context));
    std::exception_ptr exception;
    if (code) {
        exception = std::make_exception_ptr(
            std::runtime_error(sentence_of(code, text)));
    } else if (message->target.defined()) {
        at::AutoDispatchBelowADInplaceOrView no_grad;
        message->target.copy_(message->tensor);
    }
    message->work->end(exception, peer);
}

} // namespace gradwire
