/* SPDX-License-Identifier: MIT
 *
 * See work.h.
 */
#include "work.h"

#include <ATen/ATen.h>

namespace gradwire {

std::string GradwireWork::name() const
{
    std::string title = title_;
    return "rank " + std::to_string(rank_) + ", " +
           title.substr(title.find(':') + 1) +
           (message_limit_.count() ? ", message " : ", call ") +
           std::to_string(number_);
}

/* The thread that waits for a collective runs the calls itself. */
bool GradwireWork::wait(milliseconds timeout)
{
    auto lanes = lanes_.lock();
    bool is_message = message_limit_.count() > 0;
    if (lanes && is_message)
        wait_for_message(timeout.count() > 0 ? timeout : message_limit_);
    else if (lanes && timeout.count() <= 0)
        while (!isCompleted() && lanes->calls &&
               call_queue_run_one(lanes->calls))
            ;
    return Work::wait(is_message ? kNoTimeout : timeout);
}

/* A message that is late is the end of all messages, on all ranks: its buffer
 * belongs to the user again. */
void GradwireWork::wait_for_message(milliseconds limit)
{
    std::unique_lock<std::mutex> lock(mutex_);
    if (cv_.wait_for(lock, limit, [this] { return completed_; }))
        return;
    lock.unlock();
    std::string text =
        name() + ": nothing came in " + std::to_string(limit.count()) + " ms";
    if (auto lanes = lanes_.lock())
        mailbox_abort(lanes->messages, GW_ETIMEOUT, text.c_str());
}

void GradwireWork::end(std::exception_ptr exception, int source)
{
    source_ = source;
    if (exception)
        future_->setError(exception);
    else
        future_->markCompleted(outputs_.empty()      ? at::IValue(Tensors())
                               : outputs_.size() > 1 ? at::IValue(outputs_)
                                                     : at::IValue(outputs_[0]));
    finish(exception);
}

static void run(const Queued &queued, struct gw_comm *comm)
{
    const auto &work = *queued.work;
    at::ThreadLocalStateGuard state(queued.state);
    at::AutoDispatchBelowADInplaceOrView no_grad;
    if (!comm)
        throw std::runtime_error(sentence_of(
            GW_ECLOSED, work.name(), "the process group was destroyed"));
    queued.lanes->staging.begin();
    enum gw_err code;
    try {
        code = queued.body(comm, queued.lanes->staging);
    } catch (const std::exception &e) {
        /* The other ranks wait for this one. */
        std::string text = work.name() + ": " + e.what();
        gw_comm_abort(comm, GW_EINVAL, text.c_str());
        throw;
    }
    if (code)
        throw std::runtime_error(
            sentence_of(code, work.name(), gw_comm_error(comm)->text));
}

void run_queued(void *context, struct gw_comm *comm)
{
    auto *queued = static_cast<Queued *>(context);
    try {
        run(*queued, comm);
    } catch (...) {
        queued->exception = std::current_exception();
    }
    queued->body = nullptr;
}

void report_queued(void *context)
{
    std::unique_ptr<Queued> queued(static_cast<Queued *>(context));
    queued->work->end(queued->exception);
}

void message_done(void *context, enum gw_err code, const char *text, int peer)
{
    std::unique_ptr<Message> message(static_cast<Message *>(context));
    std::exception_ptr exception;
    if (code) {
        exception = std::make_exception_ptr(
            std::runtime_error(sentence_of(code, message->work->name(), text)));
    } else if (message->target.defined()) {
        at::AutoDispatchBelowADInplaceOrView no_grad;
        message->target.copy_(message->tensor);
    }
    message->work->end(exception, peer);
}

} // namespace gradwire
