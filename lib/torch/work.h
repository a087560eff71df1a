/* SPDX-License-Identifier: MIT
 *
 * One operation of the process group, which a user waits for, and the two queues
 * in which operations are.
 */
#ifndef TORCH_WORK_H
#define TORCH_WORK_H

#include "call_queue.h"
#include "mailbox.h"
#include "tensors.h"

#include <ATen/ThreadLocalState.h>
#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace gradwire {

using c10d::OpType;
using std::chrono::milliseconds;

/* The queues of calls and messages of a group; each unfinished work that
 * waits holds it. */
struct Lanes {
    struct call_queue *calls = nullptr;
    struct mailbox *messages = nullptr;
    ~Lanes()
    {
        call_queue_close(&calls);
        mailbox_close(&messages);
    }
};

class GradwireWork : public c10d::Work {
  public:
    GradwireWork(int rank, OpType type, const char *title,
                 const c10::optional<Tensors> &inputs,
                 std::vector<Tensors> outputs)
        : Work(rank, type, title, inputs), outputs_(std::move(outputs)),
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

    /* The thread that waits runs the calls itself. */
    bool wait(milliseconds timeout) override
    {
        if (timeout.count() <= 0)
            if (auto lanes = lanes_.lock())
                while (!isCompleted() && call_queue_run_one(lanes->calls))
                    ;
        return Work::wait(timeout);
    }

    void end(std::exception_ptr exception, int source = -1)
    {
        source_ = source;
        if (exception)
            future_->setError(exception);
        else
            future_->markCompleted(outputs_.empty() ? at::IValue(Tensors())
                                   : outputs_.size() > 1
                                       ? at::IValue(outputs_)
                                       : at::IValue(outputs_[0]));
        finish(exception);
    }

    std::weak_ptr<Lanes> lanes_; /* of collectives only */

  private:
    std::vector<Tensors> outputs_;
    c10::intrusive_ptr<at::ivalue::Future> future_;
    int source_ = -1;
};

/* The call of a collective on the communicator. */
using Body = std::function<enum gw_err(struct gw_comm *)>;

/* One collective in the queue. */
struct Queued {
    c10::intrusive_ptr<GradwireWork> work;
    Body body;
    at::ThreadLocalState state; /* of the thread that made the call */
};

/* Runs it and ends its work: a queued_call; `context` is a Queued, which is
 * freed. */
void run_queued(void *context, struct gw_comm *comm);

/* One message; the tensor may be a contiguous copy of the user's. */
struct Message {
    c10::intrusive_ptr<GradwireWork> work;
    at::Tensor tensor, target;
};

/* Ends its work: a mailbox_done; `context` is a Message, which is freed. */
void message_done(void *context, enum gw_err code, const char *text, int peer);

} // namespace gradwire

#endif
