/* SPDX-License-Identifier: MIT
 *
 * The process group itself and its messages.
 */
#include "process_group.h"

#include "shared_memory.h"

#include <pybind11/chrono.h>
#include <torch/extension.h>

namespace gradwire {

GradwireGroup::GradwireGroup(const Place &place)
    : Generation(place.rank, place.size), place_(place), lanes_(Lanes::make())
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
    GradwireGroup::setSequenceNumberForGroup();
}

static void check_open(const void *queue)
{
    TORCH_CHECK(queue, "gradwire: the process group is closed, because the "
                       "program ends");
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
        getRank(), OpType::SEND, "gradwire:send", ++messages_,
        c10::optional<Tensors>(tensors), std::vector<Tensors>());
    work->lanes_ = lanes_;
    work->message_limit_ = place_.timeout;
    auto message = std::make_unique<Message>();
    message->work = work;
    message->tensor = tensor.contiguous();
    check_peer(peer);
    check_open(lanes_->messages);
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

uint64_t GradwireGroup::bytes_sent()
{
    auto bytes = std::make_shared<uint64_t>(0);
    Body read = [=](struct gw_comm *comm, Staging &) {
        for (unsigned peer = 0; peer < gw_comm_size(comm); peer++) {
            struct gw_counters counters;
            gw_comm_counters(comm, peer, &counters);
            *bytes += counters.bytes_sent;
        }
        return GW_OK;
    };
    auto work = c10::make_intrusive<GradwireWork>(
        getRank(), OpType::UNKNOWN, "gradwire:bytes_sent", 0, c10::nullopt,
        std::vector<Tensors>());
    enqueue(work, read);
    work->wait(kNoTimeout);
    return *bytes;
}

c10::intrusive_ptr<Work> GradwireGroup::submit(OpType type, const char *title,
                                               const Tensors &inputs,
                                               std::vector<Tensors> outputs,
                                               Body body)
{
    auto work = c10::make_intrusive<GradwireWork>(
        getRank(), type, title, ++calls_, c10::optional<Tensors>(inputs),
        std::move(outputs));
    sequence_++;
    enqueue(work, std::move(body));
    return work;
}

void GradwireGroup::enqueue(const c10::intrusive_ptr<GradwireWork> &work,
                            Body body)
{
    work->lanes_ = lanes_;
    check_open(lanes_->calls);
    auto queued = std::unique_ptr<Queued>(new Queued{
        work, std::move(body), lanes_.get(), at::ThreadLocalState(), nullptr});
    const struct queued_call call = {run_queued, report_queued, queued.get()};
    if (call_queue_submit(lanes_->calls, &call))
        throw std::bad_alloc();
    queued.release();
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
    check_open(lanes_->messages);
    auto work = c10::make_intrusive<GradwireWork>(
        getRank(), type, title, ++messages_, c10::optional<Tensors>(tensors),
        std::vector<Tensors>{tensors});
    work->lanes_ = lanes_;
    work->message_limit_ = place_.timeout;
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

static uint64_t bytes_sent(const c10::intrusive_ptr<Generation> &group)
{
    auto *own = dynamic_cast<GradwireGroup *>(group.get());
    TORCH_CHECK(own, "gradwire: the group has another backend: ",
                group->getBackendName());
    return own->bytes_sent();
}

static c10::intrusive_ptr<Generation>
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
    module.def("bytes_sent", &gradwire::bytes_sent,
               py::call_guard<py::gil_scoped_release>(), py::arg("group"));
    module.def("share_memory", &gradwire::share_memory, py::arg("on"));
    module.def("close_all", &gradwire::close_all_lanes);
}
