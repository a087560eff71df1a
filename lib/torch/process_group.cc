/* SPDX-License-Identifier: MIT
 *
 * The process group itself, its messages, and its monitored barrier.
 */
#include "process_group.h"

#include <pybind11/chrono.h>
#include <sstream>
#include <torch/extension.h>

namespace gradwire {

GradwireGroup::GradwireGroup(const Place &place)
    : ProcessGroup(place.rank, place.size), place_(place),
      lanes_(std::make_shared<Lanes>())
{
    struct gw_error why = {};
    bool one_host = share_host(place);
    struct gw_comm *calls = connect(place, "calls", one_host, place.timeout);
    check(call_queue_open(calls, &lanes_->calls, &why), why);
    if (place.size > 1) {
        struct gw_comm *messages =
            connect(place, "messages", one_host, milliseconds::max());
        check(mailbox_open(messages, &lanes_->messages, &why), why);
    }
    setSequenceNumberForGroup();
}

const std::string GradwireGroup::getBackendName() const
{
    return "gradwire";
}

c10::intrusive_ptr<Work> GradwireGroup::send(Tensors &tensors, int peer,
                                             int tag)
{
    auto tensor = only(tensors);
    auto work = c10::make_intrusive<GradwireWork>(
        getRank(), OpType::SEND, "gradwire:send",
        c10::optional<Tensors>(tensors), std::vector<Tensors>());
    auto message = std::make_unique<Message>();
    message->work = work;
    message->tensor = tensor.contiguous();
    check_peer(peer);
    const at::Tensor &bytes = message->tensor;
    post(mailbox_send(lanes_->messages, bytes.data_ptr(), bytes_of(bytes),
                      static_cast<unsigned>(peer), tag, message_done,
                      message.get()),
         message);
    return work;
}

c10::intrusive_ptr<Work> GradwireGroup::recv(Tensors &tensors, int peer,
                                             int tag)
{
    check_peer(peer);
    return receive(OpType::RECV, "gradwire:recv", tensors, peer, tag);
}

c10::intrusive_ptr<Work> GradwireGroup::recvAnysource(Tensors &tensors, int tag)
{
    return receive(OpType::RECVANYSOURCE, "gradwire:recvAnySource", tensors,
                   MAILBOX_ANY_SOURCE, tag);
}

void GradwireGroup::setSequenceNumberForGroup()
{
    if (getRank() == 0) {
        struct gw_rng rng;
        gw_rng_seed(&rng, gw_now_ns());
        sequence_ = gw_rng_below(&rng, 1U << 30);
        place_.store->set("gradwire/sequence",
                          as_bytes(std::to_string(sequence_.load())));
    } else {
        sequence_ =
            std::stoull(as_text(place_.store->get("gradwire/sequence")));
    }
}

uint64_t GradwireGroup::getSequenceNumberForGroup()
{
    return sequence_;
}

c10::intrusive_ptr<Work> GradwireGroup::submit(OpType type, const char *title,
                                               const Tensors &inputs,
                                               std::vector<Tensors> outputs,
                                               Body body)
{
    auto work = c10::make_intrusive<GradwireWork>(
        getRank(), type, title, c10::optional<Tensors>(inputs),
        std::move(outputs));
    work->lanes_ = lanes_;
    auto queued = std::unique_ptr<Queued>(
        new Queued{work, std::move(body), at::ThreadLocalState()});
    sequence_++;
    if (call_queue_submit(lanes_->calls, run_queued, queued.get()))
        throw std::bad_alloc();
    queued.release();
    return work;
}

void GradwireGroup::post(enum gw_err code, std::unique_ptr<Message> &message)
{
    if (code)
        throw std::bad_alloc();
    message.release();
}

void GradwireGroup::check_peer(int peer) const
{
    TORCH_CHECK(peer >= 0 && peer < getSize() && peer != getRank(),
                "gradwire: rank ", getRank(),
                " cannot exchange messages with rank ", peer, " of ",
                getSize());
}

c10::intrusive_ptr<Work> GradwireGroup::receive(OpType type, const char *title,
                                                Tensors &tensors, int peer,
                                                int tag)
{
    auto tensor = only(tensors);
    TORCH_CHECK(getSize() > 1, "gradwire: a group of one rank has no peer");
    auto work = c10::make_intrusive<GradwireWork>(
        getRank(), type, title, c10::optional<Tensors>(tensors),
        std::vector<Tensors>{tensors});
    auto message = std::make_unique<Message>();
    message->work = work;
    message->tensor = tensor.contiguous();
    if (!message->tensor.is_same(tensor))
        message->target = tensor;
    const at::Tensor &bytes = message->tensor;
    post(mailbox_receive(lanes_->messages, bytes.data_ptr(), bytes_of(bytes),
                         peer, tag, message_done, message.get()),
         message);
    return work;
}

/* ---- the monitored barrier ---- */

/* Over the store, so that rank 0 can name the ranks that do not come. */
void GradwireGroup::monitoredBarrier(const c10d::BarrierOptions &o,
                                     bool all_ranks)
{
    using clock = std::chrono::steady_clock;
    auto limit = o.timeout == c10d::kUnsetTimeout ? place_.timeout : o.timeout;
    auto until = clock::now() + limit;
    std::string key = "gradwire/barrier/" + std::to_string(monitored_++) + "/";
    auto left = [&] {
        return std::max(
            milliseconds(1),
            std::chrono::duration_cast<milliseconds>(until - clock::now()));
    };
    if (getRank() != 0) {
        place_.store->set(key + std::to_string(getRank()), as_bytes("1"));
        try {
            place_.store->wait({key + "end"}, left());
        } catch (const std::exception &) {
            TORCH_CHECK(false, "[gradwire] Rank ", getRank(),
                        " timed out in monitoredBarrier after ", limit.count(),
                        " ms: rank 0 did not come. Rank ", getRank(),
                        " successfully reached monitoredBarrier, but received "
                        "errors while waiting for send/recv from rank 0. "
                        "Please check rank 0 logs for faulty rank.");
        }
        auto text = as_text(place_.store->get(key + "end"));
        TORCH_CHECK(text.empty(), "[gradwire] Rank ", getRank(),
                    " successfully reached monitoredBarrier, but received "
                    "errors while waiting for send/recv from rank 0. Please "
                    "check rank 0 logs for faulty rank. Rank 0: ",
                    text);
        return;
    }
    TORCH_CHECK(limit.count() > 0,
                "[gradwire] Rank 0 timed out in monitoredBarrier after ",
                limit.count(), " ms");
    std::vector<int> missing;
    for (int i = 1; i < getSize() && (missing.empty() || all_ranks); i++) {
        try {
            place_.store->wait({key + std::to_string(i)}, left());
        } catch (const std::exception &) {
            missing.push_back(i);
        }
    }
    std::ostringstream text;
    if (!missing.empty()) {
        text << (missing.size() > 1 || all_ranks ? "Ranks " : "Rank ");
        for (size_t i = 0; i < missing.size(); i++)
            text << (i ? ", " : "") << missing[i];
        text << " failed to pass monitoredBarrier in " << limit.count()
             << " ms";
    }
    place_.store->set(key + "end", as_bytes(text.str()));
    TORCH_CHECK(missing.empty(), "[gradwire] Rank 0: ", text.str());
}

static c10::intrusive_ptr<c10d::ProcessGroup>
create(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
       const std::chrono::duration<float> &timeout)
{
    return c10::make_intrusive<GradwireGroup>(Place{
        store, rank, size, std::chrono::duration_cast<milliseconds>(timeout)});
}

} // namespace gradwire

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module)
{
    module.def("create", &gradwire::create,
               py::call_guard<py::gil_scoped_release>(), py::arg("store"),
               py::arg("rank"), py::arg("size"), py::arg("timeout"));
}
