/* SPDX-License-Identifier: MIT
 *
 * Every collective of MPI, blocking, non-blocking and persistent, in place and
 * not, for the types and operations of a table, against values that each rank
 * computes alone. It knows nothing of gradwire: it must pass with and without
 * the library.
 *
 *     mpirun -n RANKS collectives [COUNT...]
 *
 * Rank r contributes (r + i) % 5 + 1 at position i. These are small integers,
 * so that every type holds them and their sums exactly.
 */
#include "mpi_test.h"

#include <complex.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

static enum form form;
static int starts = 2; /* of a persistent call */
static const char *const forms[] = {"", "I", "persistent "};

/* Completes what CALL has started. */
static void complete(MPI_Request *request)
{
    if (form == PERSISTENT)
        for (int i = 0; i < starts; i++) {
            MPI_Start(request);
            MPI_Wait(request, MPI_STATUS_IGNORE);
        }
    if (form == PERSISTENT)
        MPI_Request_free(request);
    else
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

#if MPI_VERSION >= 4
#define START_PERSISTENT(name, ...)                                            \
    MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
enum { HAS_PERSISTENT = 1 };
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define START_PERSISTENT(name, ...)                                            \
    MPIX_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
enum { HAS_PERSISTENT = 1 };
#else
#define START_PERSISTENT(name, ...) (void)0
enum { HAS_PERSISTENT = 0 };
#endif

#define CALL(name, lower, ...)                                                 \
    do {                                                                       \
        MPI_Request request = MPI_REQUEST_NULL;                                \
        if (form == BLOCKING)                                                  \
            MPI_##name(__VA_ARGS__);                                           \
        else if (form == NONBLOCKING)                                          \
            MPI_I##lower(__VA_ARGS__, &request);                               \
        else                                                                   \
            START_PERSISTENT(name, __VA_ARGS__);                               \
        if (form != BLOCKING)                                                  \
            complete(&request);                                                \
    } while (0)

/* A call whose result is its input. */
#define CALL_ONCE(name, lower, ...)                                            \
    do {                                                                       \
        starts = 1;                                                            \
        CALL(name, lower, __VA_ARGS__);                                        \
        starts = 2;                                                            \
    } while (0)

/* ---- types ---- */

#define NUMBERS(X)                                                             \
    X(MPI_CHAR, char, 0)                                                       \
    X(MPI_SIGNED_CHAR, signed char, 1)                                         \
    X(MPI_UNSIGNED_CHAR, unsigned char, 1)                                     \
    X(MPI_BYTE, unsigned char, 0)                                              \
    X(MPI_SHORT, short, 1)                                                     \
    X(MPI_UNSIGNED_SHORT, unsigned short, 1)                                   \
    X(MPI_INT, int, 1)                                                         \
    X(MPI_UNSIGNED, unsigned, 1)                                               \
    X(MPI_LONG, long, 1)                                                       \
    X(MPI_UNSIGNED_LONG, unsigned long, 1)                                     \
    X(MPI_LONG_LONG, long long, 1)                                             \
    X(MPI_INT8_T, int8_t, 1)                                                   \
    X(MPI_INT16_T, int16_t, 1)                                                 \
    X(MPI_INT32_T, int32_t, 1)                                                 \
    X(MPI_INT64_T, int64_t, 1)                                                 \
    X(MPI_UINT8_T, uint8_t, 1)                                                 \
    X(MPI_UINT16_T, uint16_t, 1)                                               \
    X(MPI_UINT32_T, uint32_t, 1)                                               \
    X(MPI_UINT64_T, uint64_t, 1)                                               \
    X(MPI_AINT, MPI_Aint, 4)                                                   \
    X(MPI_OFFSET, MPI_Offset, 4)                                               \
    X(MPI_COUNT, MPI_Count, 4)                                                 \
    X(MPI_FLOAT, float, 2)                                                     \
    X(MPI_DOUBLE, double, 2)                                                   \
    X(MPI_LONG_DOUBLE, long double, 2)                                         \
    X(MPI_C_FLOAT_COMPLEX, float complex, 3)                                   \
    X(MPI_C_DOUBLE_COMPLEX, double complex, 3)

/* ADDRESS: an integer without logical operations. */
enum class { NO_REDUCTION, INTEGER, FLOATING, COMPLEX, ADDRESS };

struct type {
    MPI_Datatype mpi;
    const char *name;
    size_t bytes;
    enum class class;
    void (*set)(void *at, long value);
};

#define X(mpi, c, class)                                                       \
    static void set_##mpi(void *at, long value)                                \
    {                                                                          \
        c x = (c)value;                                                        \
        memcpy(at, &x, sizeof x);                                              \
    }
NUMBERS(X)
#undef X

static const struct type *types(size_t *count)
{
    static struct type all[32];
    *count = 0;
#define X(mpi, c, class)                                                       \
    all[(*count)++] = (struct type){mpi, #mpi, sizeof(c), class, set_##mpi};
    NUMBERS(X)
#undef X
    return all;
}

/* ---- operations ---- */

static long fold(MPI_Op op, long a, long b)
{
    if (op == MPI_SUM)
        return a + b;
    if (op == MPI_PROD)
        return a * b;
    if (op == MPI_MAX)
        return a > b ? a : b;
    if (op == MPI_MIN)
        return a < b ? a : b;
    if (op == MPI_LAND)
        return a && b;
    if (op == MPI_LOR)
        return a || b;
    if (op == MPI_LXOR)
        return !a != !b;
    if (op == MPI_BAND)
        return a & b;
    return op == MPI_BOR ? a | b : a ^ b;
}

static bool allows(const struct type *type, MPI_Op op)
{
    bool number = op == MPI_SUM || op == MPI_PROD;
    bool order = op == MPI_MAX || op == MPI_MIN;
    bool logical = op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR;
    return type->class == INTEGER || (type->class >= FLOATING && number) ||
           (type->class == FLOATING && order) ||
           (type->class == ADDRESS && !logical);
}

/* ---- values ---- */

static long value_of(int rank, int i)
{
    return (rank + i) % 5 + 1;
}

static long reduced(MPI_Op op, int from, int ranks, int i)
{
    long sum = value_of(from, i);
    for (int r = from + 1; r < ranks; r++)
        sum = fold(op, sum, value_of(r, i));
    return sum;
}

struct test {
    const struct type *type;
    int count;
    unsigned char *in, *out, *want;
};

static void fill(const struct test *t, unsigned char *at, int n, int rank,
                 int first)
{
    for (int i = 0; i < n; i++)
        t->type->set(at + (size_t)i * t->type->bytes,
                     value_of(rank, first + i));
}

static void check(const struct test *t, const char *name, int n)
{
    size_t bytes = (size_t)n * t->type->bytes;
    if (t->type->mpi == MPI_LONG_DOUBLE) /* its padding is undefined */
        for (int i = 0; i < n; i++)
            memset(t->out + (size_t)i * 16 + 10, 0, 6),
                memset(t->want + (size_t)i * 16 + 10, 0, 6);
    if (memcmp(t->out, t->want, bytes) != 0)
        failed("%s%s, %d of %s", forms[form], name, n, t->type->name);
}

/* ---- data movement ---- */

static void test_rooted(const struct test *t, int root)
{
    MPI_Datatype type = t->type->mpi;
    int n = t->count;
    size_t block = (size_t)n * t->type->bytes;
    fill(t, t->out, n, rank, 0);
    fill(t, t->want, n, root, 0);
    CALL(Bcast, bcast, t->out, n, type, root, MPI_COMM_WORLD);
    check(t, "bcast", n);

    fill(t, t->in, n, rank, 0);
    for (int r = 0; r < ranks; r++)
        fill(t, t->want + (size_t)r * block, n, r, 0);
    memset(t->out, 0, (size_t)ranks * block);
    CALL(Gather, gather, t->in, n, type, t->out, rank == root ? n : -1,
         rank == root ? type : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    if (rank == root)
        check(t, "gather", ranks * n);
    memcpy(t->out + (size_t)rank * block, t->in, block);
    CALL(Gather, gather, rank == root ? MPI_IN_PLACE : t->in, n, type, t->out,
         n, type, root, MPI_COMM_WORLD);
    if (rank == root)
        check(t, "gather in place", ranks * n);

    for (int r = 0; r < ranks; r++)
        fill(t, t->in + (size_t)r * block, n, r, 0);
    fill(t, t->want, n, rank, 0);
    memset(t->out, 0, block);
    CALL(Scatter, scatter, rank == root ? t->in : NULL, n, type, t->out, n,
         type, root, MPI_COMM_WORLD);
    check(t, "scatter", n);
}

static void test_symmetric(const struct test *t)
{
    MPI_Datatype type = t->type->mpi;
    int n = t->count;
    size_t block = (size_t)n * t->type->bytes;
    fill(t, t->in, n, rank, 0);
    for (int r = 0; r < ranks; r++)
        fill(t, t->want + (size_t)r * block, n, r, 0);
    memset(t->out, 0, (size_t)ranks * block);
    CALL(Allgather, allgather, t->in, n, type, t->out, n, type, MPI_COMM_WORLD);
    check(t, "allgather", ranks * n);
    memset(t->out, 0, (size_t)ranks * block);
    memcpy(t->out + (size_t)rank * block, t->in, block);
    CALL_ONCE(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t->out,
              n, type, MPI_COMM_WORLD);
    check(t, "allgather in place", ranks * n);

    for (int r = 0; r < ranks; r++) {
        fill(t, t->in + (size_t)r * block, n, rank, 3 * r);
        fill(t, t->want + (size_t)r * block, n, r, 3 * rank);
    }
    CALL(Alltoall, alltoall, t->in, n, type, t->out, n, type, MPI_COMM_WORLD);
    check(t, "alltoall", ranks * n);
    memcpy(t->out, t->in, (size_t)ranks * block);
    CALL_ONCE(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t->out, n,
              type, MPI_COMM_WORLD);
    check(t, "alltoall in place", ranks * n);
}

/* Blocks of count + r elements, with a gap of 2 after each. */
static void test_lengths(const struct test *t, int root)
{
    MPI_Datatype type = t->type->mpi;
    int counts[RANKS_MAX], displs[RANKS_MAX], end = 0;
    size_t bytes = t->type->bytes;
    for (int r = 0; r < ranks; r++) {
        counts[r] = t->count + r;
        displs[r] = end;
        end += counts[r] + 2;
    }
    memset(t->want, 0, (size_t)end * bytes);
    for (int r = 0; r < ranks; r++)
        fill(t, t->want + (size_t)displs[r] * bytes, counts[r], r, 0);
    fill(t, t->in, counts[rank], rank, 0);
    memset(t->out, 0, (size_t)end * bytes);
    CALL(Allgatherv, allgatherv, t->in, counts[rank], type, t->out, counts,
         displs, type, MPI_COMM_WORLD);
    check(t, "allgatherv", end);
    memset(t->out, 0, (size_t)end * bytes);
    CALL(Gatherv, gatherv, t->in, counts[rank], type, t->out,
         rank == root ? counts : NULL, rank == root ? displs : NULL, type, root,
         MPI_COMM_WORLD);
    if (rank == root)
        check(t, "gatherv", end);
    memcpy(t->in, t->want, (size_t)end * bytes);
    fill(t, t->want, counts[rank], rank, 0);
    memset(t->out, 0, (size_t)end * bytes);
    CALL(Scatterv, scatterv, t->in, counts, displs, type, t->out, counts[rank],
         type, root, MPI_COMM_WORLD);
    check(t, "scatterv", counts[rank]);
}

/* Rank r sends count + (r + q) % 3 elements to rank q. */
static void test_alltoallv(const struct test *t)
{
    MPI_Datatype type = t->type->mpi;
    int counts[RANKS_MAX], displs[RANKS_MAX], end = 0;
    size_t bytes = t->type->bytes;
    for (int r = 0; r < ranks; r++) {
        counts[r] = t->count + (rank + r) % 3;
        displs[r] = end;
        fill(t, t->in + (size_t)end * bytes, counts[r], rank, 3 * r);
        fill(t, t->want + (size_t)end * bytes, counts[r], r, 3 * rank);
        end += counts[r];
    }
    CALL(Alltoallv, alltoallv, t->in, counts, displs, type, t->out, counts,
         displs, type, MPI_COMM_WORLD);
    check(t, "alltoallv", end);
    memcpy(t->out, t->in, (size_t)end * bytes);
    CALL_ONCE(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL,
              t->out, counts, displs, type, MPI_COMM_WORLD);
    check(t, "alltoallv in place", end);
}

/* ---- reductions ---- */

static void want_reduced(const struct test *t, MPI_Op op, int until, int first,
                         int n)
{
    for (int i = 0; i < n; i++)
        t->type->set(t->want + (size_t)i * t->type->bytes,
                     reduced(op, 0, until, first + i));
}

static void test_reduce(const struct test *t, MPI_Op op, int root)
{
    MPI_Datatype type = t->type->mpi;
    int n = t->count;
    size_t bytes = (size_t)n * t->type->bytes;
    fill(t, t->in, n, rank, 0);
    want_reduced(t, op, ranks, 0, n);
    memset(t->out, 0, bytes);
    CALL(Allreduce, allreduce, t->in, t->out, n, type, op, MPI_COMM_WORLD);
    check(t, "allreduce", n);
    memcpy(t->out, t->in, bytes);
    CALL_ONCE(Allreduce, allreduce, MPI_IN_PLACE, t->out, n, type, op,
              MPI_COMM_WORLD);
    check(t, "allreduce in place", n);
    memcpy(t->out, t->in, bytes);
    CALL_ONCE(Reduce, reduce, rank == root ? MPI_IN_PLACE : t->in,
              rank == root ? t->out : NULL, n, type, op, root, MPI_COMM_WORLD);
    if (rank == root)
        check(t, "reduce in place", n);
    memset(t->out, 0, bytes);
    CALL(Reduce, reduce, t->in, rank == root ? t->out : NULL, n, type, op, root,
         MPI_COMM_WORLD);
    if (rank == root)
        check(t, "reduce", n);
}

static void test_scan(const struct test *t, MPI_Op op)
{
    MPI_Datatype type = t->type->mpi;
    int n = t->count;
    size_t bytes = (size_t)n * t->type->bytes;
    fill(t, t->in, n, rank, 0);
    want_reduced(t, op, rank + 1, 0, n);
    CALL(Scan, scan, t->in, t->out, n, type, op, MPI_COMM_WORLD);
    check(t, "scan", n);
    memcpy(t->out, t->in, bytes);
    CALL_ONCE(Scan, scan, MPI_IN_PLACE, t->out, n, type, op, MPI_COMM_WORLD);
    check(t, "scan in place", n);
    if (rank > 0)
        want_reduced(t, op, rank, 0, n);
    else
        fill(t, t->want, n, 7, 0);
    fill(t, t->out, n, 7, 0); /* rank 0's stays */
    CALL(Exscan, exscan, t->in, t->out, n, type, op, MPI_COMM_WORLD);
    check(t, "exscan", n);
}

static void test_reduce_scatter(const struct test *t, MPI_Op op)
{
    MPI_Datatype type = t->type->mpi;
    int n = t->count, counts[RANKS_MAX], end = 0, own = 0;
    fill(t, t->in, ranks * n, rank, 0);
    want_reduced(t, op, ranks, rank * n, n);
    CALL(Reduce_scatter_block, reduce_scatter_block, t->in, t->out, n, type, op,
         MPI_COMM_WORLD);
    check(t, "reduce_scatter_block", n);
    for (int r = 0; r < ranks; r++) {
        counts[r] = n + r % 2;
        own = r == rank ? end : own;
        end += counts[r];
    }
    fill(t, t->in, end, rank, 0);
    want_reduced(t, op, ranks, own, counts[rank]);
    CALL(Reduce_scatter, reduce_scatter, t->in, t->out, counts, type, op,
         MPI_COMM_WORLD);
    check(t, "reduce_scatter", counts[rank]);
    memcpy(t->out, t->in, (size_t)end * t->type->bytes);
    CALL_ONCE(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, t->out, counts,
              type, op, MPI_COMM_WORLD);
    check(t, "reduce_scatter in place", counts[rank]);
}

static void test_type(const struct test *t)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                          MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    test_rooted(t, ranks - 1);
    test_symmetric(t);
    test_lengths(t, ranks / 2);
    test_alltoallv(t);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (allows(t->type, ops[i]) &&
            (ops[i] != MPI_PROD || t->type->bytes > 1 || ranks < 4)) {
            test_reduce(t, ops[i], ranks - 1);
            test_scan(t, ops[i]);
            test_reduce_scatter(t, ops[i]);
        }
}

int main(int argc, char **argv)
{
    begin_test(&argc, &argv);
    size_t type_count;
    const struct type *all = types(&type_count);
    for (int a = 1; a < argc; a++)
        for (form = BLOCKING; form < FORMS - !HAS_PERSISTENT; form++) {
            struct test t = {.count = atoi(argv[a])};
            size_t room = (size_t)ranks * ((size_t)t.count + 16) * 16;
            t.in = calloc(room, 1);
            t.out = calloc(room, 1);
            t.want = calloc(room, 1);
            for (size_t i = 0; i < type_count; i++) {
                t.type = &all[i];
                test_type(&t);
            }
            free(t.in);
            free(t.out);
            free(t.want);
        }
    return end_test("collectives");
}
