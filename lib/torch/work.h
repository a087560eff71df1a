/* SPDX-License-Identifier: MIT
 *
 * One operation of the process group, which a user waits for.
 */
#ifndef TORCH_WORK_H
#define TORCH_WORK_H

#include "lanes.h"
#include "tensors.h"

#include <ATen/ThreadLocalState.h>
#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace gradwire {

using c10d::OpType;
using std::chrono::milliseconds;

class GradwireWork : public c10d::Work {
  public:
    GradwireWork(int rank, OpType type, const char *title, uint64_t number,
                 const c10::optional<Tensors> &inputs,
                 std::vector<Tensors> outputs)
        : Work(rank, type, title, inputs), title_(title), number_(number),
          outputs_(std::move(outputs)),
          future_(c10::make_intrusive<at::ivalue::Future>(
              outputs_.size() > 1
                  ? c10::ListType::create(
                        c10::ListType::create(c10::TensorType::get()))
                  : c10::ListType::create(c10::TensorType::get())))
    {
    }

    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
    {
        return future_;
    }

    Tensors result() override
    {
        TORCH_CHECK(isCompleted() && !exception_,
                    "gradwire: the work is not done");
        return outputs_.empty() ? Tensors() : outputs_[0];
    }

    int sourceRank() const override
    {
        return source_;
    }

    bool wait(milliseconds timeout) override;

    void end(std::exception_ptr exception, int source = -1);

    /* For error messages: "rank 1, all_reduce, call 17". */
    std::string name() const;

    std::weak_ptr<Lanes> lanes_;
    milliseconds message_limit_{0}; /* of messages: of a wait without a limit */

  private:
    void wait_for_message(milliseconds limit);

    const char *title_;
    uint64_t number_;
    std::vector<Tensors> outputs_;
    c10::intrusive_ptr<at::ivalue::Future> future_;
    int source_ = -1;
};

/* The call of a collective on the communicator. */
using Body = std::function<enum gw_err(struct gw_comm *, Staging &)>;

/* One collective in the queue. */
struct Queued {
    c10::intrusive_ptr<GradwireWork> work;
    Body body;
    Lanes *lanes;
    at::ThreadLocalState state; /* of the thread that made the call */
    std::exception_ptr exception;
};

/* The functions of its queued_call; `context` is the Queued. The second one
 * ends its work, and frees it. */
void run_queued(void *context, struct gw_comm *comm);
void report_queued(void *context);

/* One message; the tensor may be a contiguous copy of the user's. */
struct Message {
    c10::intrusive_ptr<GradwireWork> work;
    at::Tensor tensor, target;
};

/* Ends its work: a mailbox_done; `context` is a Message, which is freed. */
void message_done(void *context, enum gw_err code, const char *text, int peer);

} // namespace gradwire

#endif
