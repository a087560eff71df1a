/* SPDX-License-Identifier: MIT
 *
 * Gloo's collectives over its TCP transport on loopback, float32, out of place.
 * Forks the ranks, which connect by way of FOLDER; it must be empty.
 *
 *     gloo_coll OP RANKS SECONDS FOLDER BYTES...
 */
#include "peer.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <map>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

enum { TAG_CALL = 1, TAG_BARRIER, TAG_FROM_RANK_0 };

std::shared_ptr<gloo::rendezvous::Context> context;

size_t elements(const peer *p)
{
    return p->bytes / sizeof(float);
}

void add(void *sum, const void *a, const void *b, size_t count)
{
    gloo::sum<float>(static_cast<float *>(sum), static_cast<const float *>(a),
                     static_cast<const float *>(b), count);
}

void all_reduce(peer *p)
{
    gloo::AllreduceOptions options(context);
    options.setInput(p->in, elements(p));
    options.setOutput(p->out, elements(p));
    options.setReduceFunction(add);
    options.setTag(TAG_CALL);
    gloo::allreduce(options);
}

void reduce(peer *p)
{
    gloo::ReduceOptions options(context);
    options.setInput(p->in, elements(p));
    options.setOutput(p->out, elements(p));
    options.setReduceFunction(add);
    options.setRoot(0);
    options.setTag(TAG_CALL);
    gloo::reduce(options);
}

void broadcast(peer *p)
{
    gloo::BroadcastOptions options(context);
    options.setOutput(p->in, elements(p));
    options.setRoot(0);
    options.setTag(TAG_CALL);
    gloo::broadcast(options);
}

void all_gather(peer *p)
{
    size_t block = elements(p) / p->ranks;
    gloo::AllgatherOptions options(context);
    options.setInput(p->in, block);
    options.setOutput(p->out, block * p->ranks);
    options.setTag(TAG_CALL);
    gloo::allgather(options);
}

void all_to_all(peer *p)
{
    size_t all = elements(p) / p->ranks * p->ranks;
    gloo::AlltoallOptions options(context);
    options.setInput(p->in, all);
    options.setOutput(p->out, all);
    options.setTag(TAG_CALL);
    gloo::alltoall(options);
}

void gather(peer *p)
{
    size_t block = elements(p) / p->ranks;
    gloo::GatherOptions options(context);
    options.setInput(p->in, block);
    if (p->rank == 0)
        options.setOutput(p->out, block * p->ranks);
    options.setRoot(0);
    options.setTag(TAG_CALL);
    gloo::gather(options);
}

void scatter(peer *p)
{
    size_t block = elements(p) / p->ranks;
    gloo::ScatterOptions options(context);
    std::vector<float *> blocks(p->rank == 0 ? p->ranks : 0);
    for (size_t i = 0; i < blocks.size(); i++)
        blocks[i] = p->in + i * block;
    if (p->rank == 0)
        options.setInputs(blocks, block);
    options.setOutput(p->out, block);
    options.setRoot(0);
    options.setTag(TAG_CALL);
    gloo::scatter(options);
}

/* Gloo supports it only in place, by an object made for one buffer. The buffer
 * is the output, which is all zeros, since sums of sums would overflow. */
void reduce_scatter(peer *p)
{
    using algorithm = gloo::ReduceScatterHalvingDoubling<float>;
    static std::unique_ptr<algorithm> made;
    static size_t made_for;
    if (!made || made_for != p->bytes) {
        int all = static_cast<int>(elements(p)), block = all / p->ranks;
        std::vector<int> blocks(p->ranks, block);
        blocks.back() += all - block * p->ranks;
        made = std::make_unique<algorithm>(
            context, std::vector<float *>{p->out}, all, blocks);
        made_for = p->bytes;
    }
    made->run();
}

void barrier(peer *)
{
    gloo::BarrierOptions options(context);
    options.setTag(TAG_BARRIER);
    gloo::barrier(options);
}

int from_rank_0(peer *, int value)
{
    gloo::BroadcastOptions options(context);
    options.setOutput(&value, 1);
    options.setRoot(0);
    options.setTag(TAG_FROM_RANK_0);
    gloo::broadcast(options);
    return value;
}

void (*find(const std::string &op))(peer *)
{
    static const std::map<std::string, void (*)(peer *)> ops = {
        {"allreduce", all_reduce},
        {"reduce", reduce},
        {"reduce_scatter", reduce_scatter},
        {"broadcast", broadcast},
        {"allgather", all_gather},
        {"alltoall", all_to_all},
        {"gather", gather},
        {"scatter", scatter},
        {"barrier", barrier},
    };
    auto found = ops.find(op);
    return found == ops.end() ? nullptr : found->second;
}

/* The ranks of this host are the parent, 0, and its children. */
int fork_ranks(int ranks)
{
    for (int rank = 1; rank < ranks; rank++)
        if (fork() == 0)
            return rank;
    return 0;
}

void meet(const peer *p, const std::string &folder)
{
    gloo::transport::tcp::attr address;
    address.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(address);
    gloo::rendezvous::FileStore store(folder);
    context = std::make_shared<gloo::rendezvous::Context>(p->rank, p->ranks);
    context->connectFullMesh(store, device);
}

int wait_for_ranks()
{
    int status = 0, ended;
    while (wait(&ended) > 0)
        status |= ended;
    return status != 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: gloo_coll OP RANKS SECONDS FOLDER BYTES...\n");
        return 64;
    }
    peer p = {};
    p.op = argv[1];
    p.ranks = atoi(argv[2]);
    p.seconds = strtod(argv[3], nullptr);
    p.sizes = argv + 5;
    p.size_count = argc - 5;
    p.call = find(p.op);
    p.barrier = barrier;
    p.from_rank_0 = from_rank_0;
    if (!p.call) {
        fprintf(stderr, "gloo_coll: there is no %s\n", p.op);
        return 64;
    }
    p.rank = fork_ranks(p.ranks);
    meet(&p, argv[4]);
    size_t room = peer_largest(&p) / sizeof(float) + 16;
    std::vector<float> in(room), out(room);
    p.in = in.data();
    p.out = out.data();
    int status = peer_run(&p);
    barrier(&p);
    return p.rank == 0 ? status | wait_for_ranks() : status;
}
