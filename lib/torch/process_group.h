/* SPDX-License-Identifier: MIT
 *
 * The backend "gradwire" of torch.distributed, on two communicators.
 * Collectives run in the order of submission on the first one (call_queue.h);
 * messages with tags travel on the second one (mailbox.h).
 *
 * Tensors that are small or not contiguous are copied before and after a call
 * (staging.h); all others are used in place.
 */
#ifndef TORCH_PROCESS_GROUP_H
#define TORCH_PROCESS_GROUP_H

#include "generation.h"
#include "rendezvous.h"
#include "work.h"

#include <atomic>

namespace gradwire {

using c10d::Work;

class GradwireGroup : public Generation {
  public:
    explicit GradwireGroup(const Place &place);

    const std::string getBackendName() const override;

    c10::intrusive_ptr<Work>
    broadcast(Tensors &tensors, const c10d::BroadcastOptions &o) override;

    c10::intrusive_ptr<Work>
    allreduce(Tensors &tensors, const c10d::AllreduceOptions &o) override;

    c10::intrusive_ptr<Work>
    allreduce_coalesced(Tensors &tensors,
                        const c10d::AllreduceCoalescedOptions &o) override;

    c10::intrusive_ptr<Work> reduce(Tensors &tensors,
                                    const c10d::ReduceOptions &o) override;

    c10::intrusive_ptr<Work> allgather(std::vector<Tensors> &outputs,
                                       Tensors &inputs,
                                       const c10d::AllgatherOptions &) override;

    c10::intrusive_ptr<Work>
    allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
                        const c10d::AllgatherOptions &) override;

    c10::intrusive_ptr<Work>
    _allgather_base(at::Tensor &output, at::Tensor &input,
                    const c10d::AllgatherOptions &) override;

    /* Of 2.0. */
    c10::intrusive_ptr<Work>
    allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                    const c10d::AllgatherOptions &o);

    c10::intrusive_ptr<Work> gather(std::vector<Tensors> &outputs,
                                    Tensors &inputs,
                                    const c10d::GatherOptions &o) override;

    c10::intrusive_ptr<Work> scatter(Tensors &outputs,
                                     std::vector<Tensors> &inputs,
                                     const c10d::ScatterOptions &o) override;

    c10::intrusive_ptr<Work>
    reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                   const c10d::ReduceScatterOptions &o) override;

    c10::intrusive_ptr<Work>
    _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                         const c10d::ReduceScatterOptions &o) override;

    /* Of 2.0. */
    c10::intrusive_ptr<Work>
    reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                    const c10d::ReduceScatterOptions &o);

    c10::intrusive_ptr<Work>
    alltoall_base(at::Tensor &output, at::Tensor &input,
                  std::vector<int64_t> &output_splits,
                  std::vector<int64_t> &input_splits,
                  const c10d::AllToAllOptions &) override;

    c10::intrusive_ptr<Work> alltoall(Tensors &outputs, Tensors &inputs,
                                      const c10d::AllToAllOptions &) override;

    c10::intrusive_ptr<Work> barrier(const c10d::BarrierOptions &) override;

    c10::intrusive_ptr<Work> send(Tensors &tensors, int peer, int tag) override;

    c10::intrusive_ptr<Work> recv(Tensors &tensors, int peer, int tag) override;

    c10::intrusive_ptr<Work> recvAnysource(Tensors &tensors, int tag) override;

    void setSequenceNumberForGroup() override;

    uint64_t getSequenceNumberForGroup() override;

    /* The bytes of this rank's collectives, after those in the queue. It is not
     * a collective call. */
    uint64_t bytes_sent();

    void monitoredBarrier(const c10d::BarrierOptions &o,
                          bool all_ranks) override;

  private:
    c10::intrusive_ptr<Work> submit(OpType type, const char *title,
                                    const Tensors &inputs,
                                    std::vector<Tensors> outputs, Body body);

    void enqueue(const c10::intrusive_ptr<GradwireWork> &work, Body body);

    void post(enum gw_err code, std::unique_ptr<Message> &message);

    void check_peer(int peer) const;

    c10::intrusive_ptr<Work> receive(OpType type, const char *title,
                                     Tensors &tensors, int peer, int tag);

    /* The one list of a root's tensors; of others none. */
    Tensors check_lists(const std::vector<Tensors> &lists,
                        const at::Tensor &model, bool is_root) const;

    std::vector<size_t> split_bytes(const at::Tensor &tensor,
                                    const std::vector<int64_t> &splits) const;

    static enum gw_err gather_all(struct gw_comm *comm, Staging &staging,
                                  const at::Tensor &input, const Tensors &list);

    /* The library has no exclusive or: all values come here, and are combined
     * in the order of ranks. */
    static enum gw_err reduce_xor(struct gw_comm *comm, Staging &staging,
                                  const at::Tensor &tensor, bool store);

    static enum gw_err scatter_blocks(struct gw_comm *comm, Staging &staging,
                                      const Tensors &list,
                                      const at::Tensor &output, ReduceOp op);

    /* The blocks of all ranks are in `list`, one after another. */
    c10::intrusive_ptr<Work> scatter_reduced(OpType type, const char *title,
                                             const Tensors &list,
                                             const at::Tensor &output,
                                             ReduceOp op);

    /* One call for all tensors, as one vector. */
    c10::intrusive_ptr<Work> allreduce_all(OpType type, const char *title,
                                           const Tensors &tensors, ReduceOp op);

    c10::intrusive_ptr<Work> allreduce_sparse(Tensors &tensors, ReduceOp op);

    const Place place_;
    std::shared_ptr<Lanes> lanes_;
    std::atomic<uint64_t> sequence_{0};
    /* For error messages: all ranks make the same calls. */
    std::atomic<uint64_t> calls_{0}, messages_{0};
    uint64_t monitored_ = 0;
};

} // namespace gradwire

#endif
