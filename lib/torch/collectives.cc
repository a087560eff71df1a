/* SPDX-License-Identifier: MIT
 *
 * The collectives of the process group that only move data: they move bytes.
 */
#include "process_group.h"

#include <ATen/ATen.h>
#include <cstring>

namespace gradwire {

c10::intrusive_ptr<Work>
GradwireGroup::broadcast(Tensors &tensors, const c10d::BroadcastOptions &o)
{
    only(tensors);
    auto root = static_cast<unsigned>(o.rootRank);
    bool is_root = getRank() == o.rootRank;
    return submit(OpType::BROADCAST, "gradwire:broadcast", tensors, {tensors},
                  [=, list = tensors](struct gw_comm *comm, Staging &staging) {
                      Packed buffer(staging, list, is_root);
                      enum gw_err code =
                          gw_broadcast(comm, GW_IN_PLACE, buffer.data(),
                                       buffer.bytes(), GW_U8, root);
                      if (!code && !is_root)
                          buffer.unpack();
                      return code;
                  });
}

c10::intrusive_ptr<Work>
GradwireGroup::allgather(std::vector<Tensors> &outputs, Tensors &inputs,
                         const c10d::AllgatherOptions &)
{
    auto input = only(inputs);
    TORCH_CHECK(outputs.size() == 1 &&
                    outputs[0].size() == static_cast<size_t>(getSize()),
                "gradwire: all-gather needs one output tensor per rank");
    auto list = outputs[0];
    check_alike(list, input);
    return submit(OpType::ALLGATHER, "gradwire:all_gather", inputs, outputs,
                  [=](struct gw_comm *comm, Staging &staging) {
                      return gather_all(comm, staging, input, list);
                  });
}

c10::intrusive_ptr<Work>
GradwireGroup::allgather_coalesced(std::vector<Tensors> &outputs,
                                   Tensors &inputs,
                                   const c10d::AllgatherOptions &)
{
    TORCH_CHECK(outputs.size() == static_cast<size_t>(getSize()),
                "gradwire: all-gather needs one list per rank");
    for (const auto &list : outputs) {
        TORCH_CHECK(list.size() == inputs.size(),
                    "gradwire: invalid output size");
        for (size_t i = 0; i < list.size(); i++)
            check_alike({list[i]}, inputs[i]);
    }
    return submit(
        OpType::ALLGATHER_COALESCED, "gradwire:all_gather", inputs, outputs,
        [inputs, outputs](struct gw_comm *comm, Staging &staging) {
            Packed in(staging, inputs, true);
            Tensors all;
            for (const auto &of_rank : outputs)
                all.insert(all.end(), of_rank.begin(), of_rank.end());
            Packed out(staging, all, false);
            enum gw_err code =
                gw_allgather(comm, in.data(), out.data(), in.bytes(), GW_U8);
            if (!code)
                out.unpack();
            return code;
        });
}

c10::intrusive_ptr<Work>
GradwireGroup::_allgather_base(at::Tensor &output, at::Tensor &input,
                               const c10d::AllgatherOptions &)
{
    check_tensor(input);
    check_tensor(output);
    TORCH_CHECK(output.numel() == input.numel() * getSize() &&
                    output.scalar_type() == input.scalar_type(),
                "gradwire: the output must have the size of all inputs");
    return submit(
        OpType::_ALLGATHER_BASE, "gradwire:_all_gather_base", {input},
        {{output}},
        [in = input, out = output](struct gw_comm *comm, Staging &staging) {
            return gather_all(comm, staging, in, {out});
        });
}

c10::intrusive_ptr<Work> GradwireGroup::allgather_into_tensor_coalesced(
    Tensors &outputs, Tensors &inputs, const c10d::AllgatherOptions &)
{
    TORCH_CHECK(outputs.size() == inputs.size(),
                "gradwire: as many outputs as inputs");
    for (size_t i = 0; i < inputs.size(); i++)
        TORCH_CHECK(outputs[i].nbytes() == inputs[i].nbytes() * getSize(),
                    "gradwire: an output must have the size of all inputs");
    return submit(
        OpType::_ALLGATHER_BASE, "gradwire:all_gather_into_tensor_coalesced",
        inputs, {outputs},
        [ins = inputs, outs = outputs](struct gw_comm *comm, Staging &staging) {
            enum gw_err code = GW_OK;
            for (size_t i = 0; i < ins.size() && !code; i++)
                code = gather_all(comm, staging, ins[i], {outs[i]});
            return code;
        });
}

c10::intrusive_ptr<Work> GradwireGroup::gather(std::vector<Tensors> &outputs,
                                               Tensors &inputs,
                                               const c10d::GatherOptions &o)
{
    auto input = only(inputs);
    auto root = static_cast<unsigned>(o.rootRank);
    bool is_root = getRank() == o.rootRank;
    Tensors list = check_lists(outputs, input, is_root);
    return submit(OpType::GATHER, "gradwire:gather", inputs, outputs,
                  [=](struct gw_comm *comm, Staging &staging) {
                      Packed in(staging, {input}, true);
                      Packed out(staging, list, false);
                      enum gw_err code = gw_gather(
                          comm, in.data(), is_root ? out.data() : nullptr,
                          in.bytes(), GW_U8, root);
                      if (!code && is_root)
                          out.unpack();
                      return code;
                  });
}

c10::intrusive_ptr<Work> GradwireGroup::scatter(Tensors &outputs,
                                                std::vector<Tensors> &inputs,
                                                const c10d::ScatterOptions &o)
{
    auto output = only(outputs);
    auto root = static_cast<unsigned>(o.rootRank);
    bool is_root = getRank() == o.rootRank;
    Tensors list = check_lists(inputs, output, is_root);
    return submit(OpType::SCATTER, "gradwire:scatter", list, {outputs},
                  [=](struct gw_comm *comm, Staging &staging) {
                      Packed in(staging, list, true);
                      Packed out(staging, {output}, false);
                      enum gw_err code =
                          gw_scatter(comm, is_root ? in.data() : nullptr,
                                     out.data(), out.bytes(), GW_U8, root);
                      if (!code)
                          out.unpack();
                      return code;
                  });
}

/* With the bytes for each rank and from each rank. */
static enum gw_err exchange(struct gw_comm *comm, Staging &staging,
                            const Tensors &inputs, const Tensors &outputs,
                            const std::vector<size_t> &sends,
                            const std::vector<size_t> &receives)
{
    Packed in(staging, inputs, true);
    Packed out(staging, outputs, false);
    enum gw_err code =
        gw_alltoallv(comm, in.data(), sends.data(), nullptr, out.data(),
                     receives.data(), nullptr, GW_U8);
    if (!code)
        out.unpack();
    return code;
}

c10::intrusive_ptr<Work> GradwireGroup::alltoall_base(
    at::Tensor &output, at::Tensor &input, std::vector<int64_t> &output_splits,
    std::vector<int64_t> &input_splits, const c10d::AllToAllOptions &)
{
    check_tensor(input);
    check_tensor(output);
    auto sends = split_bytes(input, input_splits);
    auto receives = split_bytes(output, output_splits);
    return submit(
        OpType::ALLTOALL_BASE, "gradwire:all_to_all", {input}, {{output}},
        [=, in = input, out = output](struct gw_comm *comm, Staging &staging) {
            return exchange(comm, staging, {in}, {out}, sends, receives);
        });
}

c10::intrusive_ptr<Work> GradwireGroup::alltoall(Tensors &outputs,
                                                 Tensors &inputs,
                                                 const c10d::AllToAllOptions &)
{
    auto size = static_cast<size_t>(getSize());
    TORCH_CHECK(inputs.size() == size && outputs.size() == size,
                "gradwire: all-to-all needs one tensor per rank");
    std::vector<size_t> sends, receives;
    for (size_t i = 0; i < size; i++) {
        check_tensor(inputs[i]);
        check_tensor(outputs[i]);
        sends.push_back(bytes_of(inputs[i]));
        receives.push_back(bytes_of(outputs[i]));
    }
    return submit(OpType::ALLTOALL, "gradwire:all_to_all", inputs, {outputs},
                  [=, ins = inputs, outs = outputs](struct gw_comm *comm,
                                                    Staging &staging) {
                      return exchange(comm, staging, ins, outs, sends,
                                      receives);
                  });
}

c10::intrusive_ptr<Work> GradwireGroup::barrier(const c10d::BarrierOptions &)
{
    return submit(
        OpType::BARRIER, "gradwire:barrier", {}, {},
        [](struct gw_comm *comm, Staging &) { return gw_barrier(comm); });
}

Tensors GradwireGroup::check_lists(const std::vector<Tensors> &lists,
                                   const at::Tensor &model, bool is_root) const
{
    if (!is_root) {
        TORCH_CHECK(lists.empty(),
                    "gradwire: only the root has a list of tensors");
        return {};
    }
    TORCH_CHECK(lists.size() == 1 &&
                    lists[0].size() == static_cast<size_t>(getSize()),
                "gradwire: one list with one tensor per rank");
    check_alike(lists[0], model);
    return lists[0];
}

std::vector<size_t>
GradwireGroup::split_bytes(const at::Tensor &tensor,
                           const std::vector<int64_t> &splits) const
{
    int64_t rows = tensor.dim() ? tensor.size(0) : 0;
    std::vector<size_t> bytes;
    if (splits.empty()) {
        TORCH_CHECK(rows % getSize() == 0,
                    "Tensor's dim 0 does not divide equally across group "
                    "size");
        bytes.assign(static_cast<size_t>(getSize()),
                     bytes_of(tensor) / static_cast<size_t>(getSize()));
        return bytes;
    }
    int64_t sum = 0;
    for (int64_t count : splits) {
        sum += count;
        bytes.push_back(rows ? bytes_of(tensor) / static_cast<size_t>(rows) *
                                   static_cast<size_t>(count)
                             : 0);
    }
    TORCH_CHECK(splits.size() == static_cast<size_t>(getSize()),
                "Number of tensor splits not equal to group size");
    TORCH_CHECK(sum == rows, "Split sizes doesn't match total dim 0 size");
    return bytes;
}

/* Large blocks go straight to their tensors, by one broadcast per rank: a
 * buffer for all of them would be new memory in each call. Between hosts the
 * all-gather is faster, because it uses all links at once. */
static bool wants_broadcasts(const struct gw_comm *comm,
                             const at::Tensor &input, const Tensors &list)
{
    constexpr size_t LARGE_BYTES = 2 << 20;
    return list.size() > 1 && bytes_of(input) >= LARGE_BYTES &&
           std::strcmp(gw_comm_wire(comm), "shm") == 0;
}

static enum gw_err gather_by_broadcasts(struct gw_comm *comm, Staging &staging,
                                        const at::Tensor &input,
                                        const Tensors &list)
{
    enum gw_err code = GW_OK;
    list[gw_comm_rank(comm)].copy_(input);
    for (unsigned r = 0; r < list.size() && !code; r++) {
        bool is_own = r == gw_comm_rank(comm);
        Packed block(staging, {list[r]}, is_own);
        code = gw_broadcast(comm, GW_IN_PLACE, block.data(), block.bytes(),
                            GW_U8, r);
        if (!code && !is_own)
            block.unpack();
    }
    return code;
}

enum gw_err GradwireGroup::gather_all(struct gw_comm *comm, Staging &staging,
                                      const at::Tensor &input,
                                      const Tensors &list)
{
    if (wants_broadcasts(comm, input, list))
        return gather_by_broadcasts(comm, staging, input, list);
    Packed in(staging, {input}, true);
    Packed out(staging, list, false);
    enum gw_err code =
        gw_allgather(comm, in.data(), out.data(), in.bytes(), GW_U8);
    if (!code)
        out.unpack();
    return code;
}

} // namespace gradwire
