/* SPDX-License-Identifier: MIT
 *
 * The times of MPI's collectives, float32, out of place, for Open MPI and
 * MPICH.
 *
 *     mpirun -np RANKS mpi_coll OP SECONDS BYTES...
 */
#include "peer.h"

#include <mpi.h>

static void all_reduce(struct peer *p)
{
    MPI_Allreduce(p->in, p->out, (int)(p->bytes / sizeof(float)), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
}

static void reduce(struct peer *p)
{
    MPI_Reduce(p->in, p->out, (int)(p->bytes / sizeof(float)), MPI_FLOAT,
               MPI_SUM, 0, MPI_COMM_WORLD);
}

static void broadcast(struct peer *p)
{
    MPI_Bcast(p->in, (int)(p->bytes / sizeof(float)), MPI_FLOAT, 0,
              MPI_COMM_WORLD);
}

static int block(const struct peer *p)
{
    return (int)(p->bytes / sizeof(float)) / p->ranks;
}

static void all_gather(struct peer *p)
{
    MPI_Allgather(p->in, block(p), MPI_FLOAT, p->out, block(p), MPI_FLOAT,
                  MPI_COMM_WORLD);
}

static void reduce_scatter(struct peer *p)
{
    MPI_Reduce_scatter_block(p->in, p->out, block(p), MPI_FLOAT, MPI_SUM,
                             MPI_COMM_WORLD);
}

static void all_to_all(struct peer *p)
{
    MPI_Alltoall(p->in, block(p), MPI_FLOAT, p->out, block(p), MPI_FLOAT,
                 MPI_COMM_WORLD);
}

static void gather(struct peer *p)
{
    MPI_Gather(p->in, block(p), MPI_FLOAT, p->out, block(p), MPI_FLOAT, 0,
               MPI_COMM_WORLD);
}

static void scatter(struct peer *p)
{
    MPI_Scatter(p->in, block(p), MPI_FLOAT, p->out, block(p), MPI_FLOAT, 0,
                MPI_COMM_WORLD);
}

static void scan(struct peer *p)
{
    MPI_Scan(p->in, p->out, (int)(p->bytes / sizeof(float)), MPI_FLOAT, MPI_SUM,
             MPI_COMM_WORLD);
}

static void exclusive_scan(struct peer *p)
{
    MPI_Exscan(p->in, p->out, (int)(p->bytes / sizeof(float)), MPI_FLOAT,
               MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(struct peer *p)
{
    (void)p;
    MPI_Barrier(MPI_COMM_WORLD);
}

static int from_rank_0(struct peer *p, int value)
{
    (void)p;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

static const struct {
    const char *op;
    void (*call)(struct peer *);
} ops[] = {
    {"allreduce", all_reduce},
    {"reduce", reduce},
    {"broadcast", broadcast},
    {"allgather", all_gather},
    {"reduce_scatter", reduce_scatter},
    {"alltoall", all_to_all},
    {"gather", gather},
    {"scatter", scatter},
    {"scan", scan},
    {"exscan", exclusive_scan},
    {"barrier", barrier},
};

int main(int argc, char **argv)
{
    struct peer peer = {.barrier = barrier, .from_rank_0 = from_rank_0};
    if (argc < 4) {
        fprintf(stderr, "usage: mpi_coll OP SECONDS BYTES...\n");
        return 64;
    }
    peer.op = argv[1];
    peer.seconds = strtod(argv[2], NULL);
    peer.sizes = argv + 3;
    peer.size_count = argc - 3;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].op, peer.op) == 0)
            peer.call = ops[i].call;
    if (!peer.call) {
        fprintf(stderr, "mpi_coll: there is no %s\n", peer.op);
        return 64;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &peer.ranks);
    peer.in = malloc(peer_largest(&peer) + 64);
    peer.out = malloc(peer_largest(&peer) + 64);
    int status = peer.in && peer.out ? peer_run(&peer) : 70;
    MPI_Finalize();
    free(peer.in);
    free(peer.out);
    return status;
}
