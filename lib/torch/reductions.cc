/* SPDX-License-Identifier: MIT
 *
 * The collectives of the process group that reduce.
 */
#include "process_group.h"

#include <ATen/ATen.h>

namespace gradwire {

c10::intrusive_ptr<Work>
GradwireGroup::allreduce(Tensors &tensors, const c10d::AllreduceOptions &o)
{
    TORCH_CHECK(tensors.size() == 1, "gradwire: one tensor per rank, not ",
                tensors.size());
    if (tensors[0].is_sparse())
        return allreduce_sparse(tensors, o.reduceOp);
    return allreduce_all(OpType::ALLREDUCE, "gradwire:all_reduce", tensors,
                         o.reduceOp);
}

c10::intrusive_ptr<Work>
GradwireGroup::allreduce_coalesced(Tensors &tensors,
                                   const c10d::AllreduceCoalescedOptions &o)
{
    TORCH_CHECK(!tensors.empty(), "gradwire: no tensors");
    for (const auto &t : tensors)
        TORCH_CHECK(t.scalar_type() == tensors[0].scalar_type(),
                    "gradwire: tensors must all have the same type");
    return allreduce_all(OpType::ALLREDUCE_COALESCED, "gradwire:all_reduce",
                         tensors, o.reduceOp);
}

c10::intrusive_ptr<Work> GradwireGroup::reduce(Tensors &tensors,
                                               const c10d::ReduceOptions &o)
{
    auto tensor = only(tensors);
    auto root = static_cast<unsigned>(o.rootRank);
    bool is_root = getRank() == o.rootRank;
    check_redop(o.reduceOp, tensor);
    if (o.reduceOp == ReduceOp::BXOR)
        return submit(OpType::REDUCE, "gradwire:reduce", tensors, {tensors},
                      [=](struct gw_comm *comm, Staging &staging) {
                          return reduce_xor(comm, staging, tensor, is_root);
                      });
    auto elements = elements_of({tensor});
    auto redop = redop_of(o.reduceOp, tensor);
    return submit(OpType::REDUCE, "gradwire:reduce", tensors, {tensors},
                  [=](struct gw_comm *comm, Staging &staging) {
                      Packed buffer(staging, {tensor}, true);
                      enum gw_err code =
                          gw_reduce(comm, is_root ? GW_IN_PLACE : buffer.data(),
                                    is_root ? buffer.data() : nullptr,
                                    elements.count, elements.type, redop, root);
                      if (!code && is_root)
                          buffer.unpack();
                      return code;
                  });
}

c10::intrusive_ptr<Work>
GradwireGroup::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                              const c10d::ReduceScatterOptions &o)
{
    auto output = only(outputs);
    Tensors list = check_lists(inputs, output, true);
    return scatter_reduced(OpType::REDUCE_SCATTER, "gradwire:reduce_scatter",
                           list, output, o.reduceOp);
}

c10::intrusive_ptr<Work>
GradwireGroup::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                    const c10d::ReduceScatterOptions &o)
{
    check_tensor(input);
    check_tensor(output);
    TORCH_CHECK(input.numel() == output.numel() * getSize() &&
                    output.scalar_type() == input.scalar_type(),
                "gradwire: the input must have the size of all outputs");
    return scatter_reduced(OpType::_REDUCE_SCATTER_BASE,
                           "gradwire:_reduce_scatter_base", {input}, output,
                           o.reduceOp);
}

enum gw_err GradwireGroup::reduce_xor(struct gw_comm *comm, Staging &staging,
                                      const at::Tensor &tensor, bool store)
{
    Tensors list;
    for (unsigned i = 0; i < gw_comm_size(comm); i++)
        list.push_back(at::empty_like(tensor));
    enum gw_err code = gather_all(comm, staging, tensor, list);
    if (code || !store)
        return code;
    for (size_t i = 1; i < list.size(); i++)
        list[0].bitwise_xor_(list[i]);
    tensor.copy_(list[0]);
    return GW_OK;
}

enum gw_err GradwireGroup::scatter_blocks(struct gw_comm *comm,
                                          Staging &staging, const Tensors &list,
                                          const at::Tensor &output, ReduceOp op)
{
    auto elements = elements_of({output});
    Packed in(staging, list, true);
    Packed out(staging, {output}, false);
    enum gw_err code =
        gw_reduce_scatter(comm, in.data(), out.data(), elements.count,
                          elements.type, redop_of(op, output));
    if (!code)
        out.unpack();
    return code;
}

c10::intrusive_ptr<Work>
GradwireGroup::scatter_reduced(OpType type, const char *title,
                               const Tensors &list, const at::Tensor &output,
                               ReduceOp op)
{
    elements_of({output});
    redop_of(op, output);
    return submit(type, title, list, {{output}},
                  [=](struct gw_comm *comm, Staging &staging) {
                      return scatter_blocks(comm, staging, list, output, op);
                  });
}

c10::intrusive_ptr<Work> GradwireGroup::reduce_scatter_tensor_coalesced(
    Tensors &outputs, Tensors &inputs, const c10d::ReduceScatterOptions &o)
{
    TORCH_CHECK(outputs.size() == inputs.size(),
                "gradwire: as many outputs as inputs");
    for (const auto &t : outputs)
        redop_of(o.reduceOp, t);
    return submit(OpType::_REDUCE_SCATTER_BASE,
                  "gradwire:reduce_scatter_tensor_coalesced", inputs, {outputs},
                  [=, ins = inputs, outs = outputs,
                   op = o.reduceOp](struct gw_comm *comm, Staging &staging) {
                      enum gw_err code = GW_OK;
                      for (size_t i = 0; i < ins.size() && !code; i++)
                          code = scatter_blocks(comm, staging, {ins[i]},
                                                outs[i], op);
                      return code;
                  });
}

c10::intrusive_ptr<Work> GradwireGroup::allreduce_all(OpType type,
                                                      const char *title,
                                                      const Tensors &tensors,
                                                      ReduceOp op)
{
    for (const auto &t : tensors)
        check_tensor(t);
    check_redop(op, tensors[0]);
    if (op == ReduceOp::BXOR)
        return submit(type, title, tensors, {tensors},
                      [list = tensors](struct gw_comm *comm, Staging &staging) {
                          enum gw_err code = GW_OK;
                          for (size_t i = 0; i < list.size() && !code; i++)
                              code = reduce_xor(comm, staging, list[i], true);
                          return code;
                      });
    auto elements = elements_of(tensors);
    auto redop = redop_of(op, tensors[0]);
    return submit(type, title, tensors, {tensors},
                  [=, list = tensors](struct gw_comm *comm, Staging &staging) {
                      Packed buffer(staging, list, true);
                      enum gw_err code =
                          gw_allreduce(comm, GW_IN_PLACE, buffer.data(),
                                       elements.count, elements.type, redop);
                      if (!code)
                          buffer.unpack();
                      return code;
                  });
}

/* Indices and values of all ranks, padded to the longest, then added. */
static enum gw_err add_sparse(struct gw_comm *comm, const at::Tensor &tensor)
{
    auto own = tensor.coalesce();
    auto ranks = static_cast<int64_t>(gw_comm_size(comm));
    int64_t count = own._nnz(), most = count;
    enum gw_err code =
        gw_allreduce(comm, GW_IN_PLACE, &most, 1, GW_I64, GW_MAX);
    if (code)
        return code;
    std::vector<int64_t> counts(static_cast<size_t>(ranks));
    code = gw_allgather(comm, &count, counts.data(), 1, GW_I64);
    if (code)
        return code;
    auto indices = at::zeros({own.sparse_dim(), most}, at::kLong);
    auto shape = own._values().sizes().vec();
    shape[0] = most;
    auto values = at::zeros(shape, own._values().options());
    indices.narrow(1, 0, count).copy_(own._indices());
    values.narrow(0, 0, count).copy_(own._values());
    auto all_indices = at::empty({ranks, own.sparse_dim(), most}, at::kLong);
    shape.insert(shape.begin(), ranks);
    auto all_values = at::empty(shape, values.options());
    code = gw_allgather(comm, indices.data_ptr(), all_indices.data_ptr(),
                        bytes_of(indices), GW_U8);
    if (!code)
        code = gw_allgather(comm, values.data_ptr(), all_values.data_ptr(),
                            bytes_of(values), GW_U8);
    if (code)
        return code;
    Tensors index_list, value_list;
    for (int64_t r = 0; r < ranks; r++) {
        int64_t n = counts[static_cast<size_t>(r)];
        index_list.push_back(all_indices[r].narrow(1, 0, n));
        value_list.push_back(all_values[r].narrow(0, 0, n));
    }
    auto sum = at::_sparse_coo_tensor_unsafe(at::cat(index_list, 1),
                                             at::cat(value_list, 0),
                                             own.sizes(), own.options())
                   .coalesce();
    tensor.copy_(sum);
    return GW_OK;
}

c10::intrusive_ptr<c10d::Work> GradwireGroup::allreduce_sparse(Tensors &tensors,
                                                               ReduceOp op)
{
    TORCH_CHECK(op == ReduceOp::SUM,
                "gradwire: sparse tensors can only be summed");
    auto tensor = tensors[0];
    return submit(OpType::ALLREDUCE, "gradwire:sparse_all_reduce", tensors,
                  {tensors}, [=](struct gw_comm *comm, Staging &) {
                      return add_sparse(comm, tensor);
                  });
}

} // namespace gradwire
