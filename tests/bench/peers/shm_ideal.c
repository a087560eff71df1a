/* SPDX-License-Identifier: MIT
 *
 * The yardstick inside a host: the time of a collective that consists of loads,
 * stores and two barriers only. All inputs and outputs are in memory that every
 * rank maps. Each rank adds up its part of all inputs in one pass and stores it
 * into every output at once (or, if that is faster than sharing, does all of it
 * for itself). A library cannot be as fast: here there are no types, no errors,
 * and no memory of the user's own.
 *
 *     shm_ideal OP RANKS SECONDS BYTES...
 */
#include "peer.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined __AVX512F__ || defined __AVX__
#include <immintrin.h>
#endif

enum {
    RANKS_MAX = 64,
    SPINS = 2000,
    STREAM_BYTES = 1 << 17,     /* larger results bypass the caches */
    OWN_PASS_BYTES = 128 * 1024 /* of all inputs: not shared below this */
};

struct shared {
    _Alignas(64) _Atomic unsigned arrived;
    _Alignas(64) _Atomic unsigned generation;
    int value_of_0;
};

static struct shared *shared;
static float *ins[RANKS_MAX], *outs[RANKS_MAX];
static int spins;

static void *map_shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(70);
    }
    return memory;
}

/* ---- barrier ---- */

static void sleep_until_after(unsigned generation)
{
    while (atomic_load(&shared->generation) == generation)
        syscall(SYS_futex, &shared->generation, FUTEX_WAIT, generation, NULL,
                NULL, 0);
}

static void barrier(struct peer *p)
{
    unsigned generation = atomic_load(&shared->generation);
    if (atomic_fetch_add(&shared->arrived, 1) == (unsigned)p->ranks - 1) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->generation, 1);
        syscall(SYS_futex, &shared->generation, FUTEX_WAKE, RANKS_MAX, NULL,
                NULL, 0);
        return;
    }
    for (int i = 0; i < spins; i++) {
        if (atomic_load(&shared->generation) != generation)
            return;
#if defined __x86_64__
        __builtin_ia32_pause();
#endif
    }
    for (int i = 0; i < 20; i++) {
        if (atomic_load(&shared->generation) != generation)
            return;
        sched_yield();
    }
    sleep_until_after(generation);
}

static int from_rank_0(struct peer *p, int value)
{
    if (p->rank == 0)
        shared->value_of_0 = value;
    barrier(p);
    int result = shared->value_of_0;
    barrier(p);
    return result;
}

/* ---- the two inner loops ---- */

typedef float line __attribute__((vector_size(64), aligned(64)));
enum { LINE = sizeof(line) / sizeof(float) };

static void stream(float *to, line value)
{
#if defined __AVX512F__
    _mm512_stream_ps(to, (__m512)value);
#elif defined __AVX__
    __m256 halves[2];
    memcpy(halves, &value, sizeof halves);
    _mm256_stream_ps(to, halves[0]);
    _mm256_stream_ps(to + LINE / 2, halves[1]);
#else
    *(line *)(void *)to = value;
#endif
}

/* The sum of all inputs over [begin, end), whole lines, into each of `count`
 * outputs. */
static void reduce_into(int ranks, float *const *to, int count, size_t begin,
                        size_t end, bool past)
{
    for (size_t i = begin; i < end; i += LINE) {
        line sum = *(const line *)(const void *)(ins[0] + i);
        for (int r = 1; r < ranks; r++)
            sum += *(const line *)(const void *)(ins[r] + i);
        for (int k = 0; k < count; k++)
            if (past)
                stream(to[k] + i, sum);
            else
                *(line *)(void *)(to[k] + i) = sum;
    }
    atomic_thread_fence(memory_order_seq_cst);
}

static void copy(float *to, const float *from, size_t count)
{
    if (count * sizeof *to < STREAM_BYTES) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    for (size_t i = 0; i < count; i += LINE)
        stream(to + i, *(const line *)(const void *)(from + i));
    atomic_thread_fence(memory_order_seq_cst);
}

/* ---- the collectives ---- */

/* Whole lines per rank; the last rank has the rest. */
struct part {
    size_t begin, end, block;
};

static struct part part_of(const struct peer *p)
{
    size_t count = (p->bytes / sizeof(float) + LINE - 1) / LINE * LINE;
    size_t block = count / (size_t)p->ranks / LINE * LINE;
    size_t begin = block * (size_t)p->rank;
    bool last = p->rank == p->ranks - 1;
    return (struct part){begin, last ? count : begin + block, block};
}

static void all_reduce(struct peer *p)
{
    struct part part = part_of(p);
    size_t count = p->bytes / sizeof(float);
    bool past = p->bytes >= STREAM_BYTES;
    barrier(p);
    if (p->bytes * (size_t)p->ranks <= OWN_PASS_BYTES)
        reduce_into(p->ranks, &p->out, 1, 0, count, false);
    else
        reduce_into(p->ranks, outs, p->ranks, part.begin, part.end, past);
    barrier(p);
}

static void reduce(struct peer *p)
{
    struct part part = part_of(p);
    barrier(p);
    reduce_into(p->ranks, outs, 1, part.begin, part.end,
                p->bytes >= STREAM_BYTES);
    barrier(p);
}

static void reduce_scatter(struct peer *p)
{
    struct part part = part_of(p);
    barrier(p);
    reduce_into(p->ranks, &p->out, 1, part.begin, part.end,
                p->bytes >= STREAM_BYTES);
    barrier(p);
}

static void broadcast(struct peer *p)
{
    barrier(p);
    if (p->rank > 0)
        copy(p->out, ins[0], p->bytes / sizeof(float));
    barrier(p);
}

/* For those that only copy: blocks of less than a line are blocks, too. */
static struct part block_of(const struct peer *p)
{
    size_t block = p->bytes / sizeof(float) / (size_t)p->ranks;
    size_t begin = block * (size_t)p->rank;
    return block < LINE ? (struct part){begin, begin + block, block}
                        : part_of(p);
}

static void all_gather(struct peer *p)
{
    struct part part = block_of(p);
    barrier(p);
    for (int r = 0; r < p->ranks; r++)
        copy(outs[r] + part.begin, p->in, part.block);
    barrier(p);
}

static void all_to_all(struct peer *p)
{
    struct part part = block_of(p);
    barrier(p);
    for (int r = 0; r < p->ranks; r++)
        copy(outs[r] + part.begin, p->in + part.block * (size_t)r, part.block);
    barrier(p);
}

static void gather(struct peer *p)
{
    struct part part = block_of(p);
    barrier(p);
    copy(outs[0] + part.begin, p->in, part.block);
    barrier(p);
}

static void scatter(struct peer *p)
{
    struct part part = block_of(p);
    barrier(p);
    copy(p->out, ins[0] + part.begin, part.block);
    barrier(p);
}

static const struct {
    const char *op;
    void (*call)(struct peer *);
} ops[] = {
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

/* ---- the ranks ---- */

static void pin(int rank, long cores)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((int)(rank % cores), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static int fork_ranks(int ranks)
{
    for (int rank = 1; rank < ranks; rank++)
        if (fork() == 0)
            return rank;
    return 0;
}

static int run(struct peer *p)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t room = peer_largest(p) + 4096;
    spins = p->ranks <= cores ? SPINS : 0;
    shared = map_shared(sizeof *shared);
    for (int r = 0; r < p->ranks; r++) {
        ins[r] = map_shared(room);
        outs[r] = map_shared(room);
    }
    p->rank = fork_ranks(p->ranks);
    p->in = ins[p->rank];
    p->out = outs[p->rank];
    pin(p->rank, cores);
    return peer_run(p);
}

int main(int argc, char **argv)
{
    struct peer peer = {.barrier = barrier, .from_rank_0 = from_rank_0};
    if (argc < 5) {
        fprintf(stderr, "usage: shm_ideal OP RANKS SECONDS BYTES...\n");
        return 64;
    }
    peer.op = argv[1];
    peer.ranks = atoi(argv[2]);
    peer.seconds = strtod(argv[3], NULL);
    peer.sizes = argv + 4;
    peer.size_count = argc - 4;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].op, peer.op) == 0)
            peer.call = ops[i].call;
    if (!peer.call || peer.ranks < 1 || peer.ranks > RANKS_MAX) {
        fprintf(stderr, "shm_ideal: there is no %s of %d\n", peer.op,
                peer.ranks);
        return 64;
    }
    int status = run(&peer), ended;
    while (peer.rank == 0 && wait(&ended) > 0)
        status |= ended != 0;
    return status;
}
