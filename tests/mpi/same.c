/* SPDX-License-Identifier: MIT
 *
 * Each collective and PMPI_'s one with the same arguments: the results have the
 * same bits, and wrong arguments the same class of error. All operations with
 * all predefined types, of C and of Fortran; then a table of wrong arguments.
 * It knows nothing of gradwire, and without the library it compares the MPI with
 * itself.
 *
 *     mpirun -n RANKS same [STEP]
 *
 * STEP: only every STEPth combination of a type and an operation.
 */
#include "mpi_test.h"

#include <stddef.h>

enum { COUNT = 7, ELEMENT = 64, ROOM = COUNT * ELEMENT * RANKS_MAX };

#ifdef OPEN_MPI
enum { REPORTS_UNDEFINED = 1 };
#else /* MPICH ends the program for some of them */
enum { REPORTS_UNDEFINED = 0 };
#endif

static MPI_Comm comm; /* returns errors */
static unsigned char in[ROOM], ours[ROOM], theirs[ROOM];

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    return class;
}

/* ---- all operations with all types ---- */

/* An element has lanes of numbers: integers, or floats of 4, 8 or 16 bytes. A
 * pair's second lane is an int, or as its first. */
enum form { NUMBER_INTEGER, NUMBER_FLOAT };

/* The groups of MPI's standard; FORTRAN and the types of several languages. */
enum group { NONE, INTEGER, FORTRAN, FLOATING, LOGICAL, COMPLEX, BYTES, PAIR };

struct type {
    MPI_Datatype mpi;
    const char *name;
    enum group group;
    enum form form;
    size_t bytes, second; /* of the first lane; where the second begins, or 0 */
    bool indexed;         /* the second lane is an int */
};

struct pair_float {
    float value;
    int at;
};
struct pair_double {
    double value;
    int at;
};
struct pair_long {
    long value;
    int at;
};
struct pair_short {
    short value;
    int at;
};
struct pair_long_double {
    long double value;
    int at;
};

#define ONE(type, group, form, bytes)                                          \
    {                                                                          \
        type, #type, group, form, bytes, 0, false                              \
    }
#define TWO(type, group, form, bytes)                                          \
    {                                                                          \
        type, #type, group, form, bytes, bytes, false                          \
    }
#define PAIR(type, group, form, bytes, c)                                      \
    {                                                                          \
        type, #type, group, form, bytes, offsetof(c, at), true                 \
    }

/* Not all MPIs have all Fortran types; these are null then. */
static const struct type *types(size_t *count)
{
    static struct type all[80];
    const struct type list[] = {
        ONE(MPI_CHAR, NONE, NUMBER_INTEGER, 1),
        ONE(MPI_WCHAR, NONE, NUMBER_INTEGER, 4),
        ONE(MPI_SIGNED_CHAR, INTEGER, NUMBER_INTEGER, 1),
        ONE(MPI_UNSIGNED_CHAR, INTEGER, NUMBER_INTEGER, 1),
        ONE(MPI_SHORT, INTEGER, NUMBER_INTEGER, 2),
        ONE(MPI_UNSIGNED_SHORT, INTEGER, NUMBER_INTEGER, 2),
        ONE(MPI_INT, INTEGER, NUMBER_INTEGER, 4),
        ONE(MPI_UNSIGNED, INTEGER, NUMBER_INTEGER, 4),
        ONE(MPI_LONG, INTEGER, NUMBER_INTEGER, 8),
        ONE(MPI_UNSIGNED_LONG, INTEGER, NUMBER_INTEGER, 8),
        ONE(MPI_LONG_LONG_INT, INTEGER, NUMBER_INTEGER, 8),
        ONE(MPI_UNSIGNED_LONG_LONG, INTEGER, NUMBER_INTEGER, 8),
        ONE(MPI_INT8_T, INTEGER, NUMBER_INTEGER, 1),
        ONE(MPI_INT16_T, INTEGER, NUMBER_INTEGER, 2),
        ONE(MPI_INT32_T, INTEGER, NUMBER_INTEGER, 4),
        ONE(MPI_INT64_T, INTEGER, NUMBER_INTEGER, 8),
        ONE(MPI_UINT8_T, INTEGER, NUMBER_INTEGER, 1),
        ONE(MPI_UINT16_T, INTEGER, NUMBER_INTEGER, 2),
        ONE(MPI_UINT32_T, INTEGER, NUMBER_INTEGER, 4),
        ONE(MPI_UINT64_T, INTEGER, NUMBER_INTEGER, 8),
        ONE(MPI_AINT, FORTRAN, NUMBER_INTEGER, 8),
        ONE(MPI_OFFSET, FORTRAN, NUMBER_INTEGER, 8),
        ONE(MPI_COUNT, FORTRAN, NUMBER_INTEGER, 8),
        ONE(MPI_BYTE, BYTES, NUMBER_INTEGER, 1),
        ONE(MPI_PACKED, NONE, NUMBER_INTEGER, 1),
        ONE(MPI_C_BOOL, LOGICAL, NUMBER_INTEGER, 1),
        ONE(MPI_FLOAT, FLOATING, NUMBER_FLOAT, 4),
        ONE(MPI_DOUBLE, FLOATING, NUMBER_FLOAT, 8),
        ONE(MPI_LONG_DOUBLE, FLOATING, NUMBER_FLOAT, 16),
        TWO(MPI_C_FLOAT_COMPLEX, COMPLEX, NUMBER_FLOAT, 4),
        TWO(MPI_C_DOUBLE_COMPLEX, COMPLEX, NUMBER_FLOAT, 8),
        TWO(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, NUMBER_FLOAT, 16),
        PAIR(MPI_FLOAT_INT, PAIR, NUMBER_FLOAT, 4, struct pair_float),
        PAIR(MPI_DOUBLE_INT, PAIR, NUMBER_FLOAT, 8, struct pair_double),
        PAIR(MPI_LONG_DOUBLE_INT, PAIR, NUMBER_FLOAT, 16,
             struct pair_long_double),
        PAIR(MPI_LONG_INT, PAIR, NUMBER_INTEGER, 8, struct pair_long),
        PAIR(MPI_SHORT_INT, PAIR, NUMBER_INTEGER, 2, struct pair_short),
        TWO(MPI_2INT, PAIR, NUMBER_INTEGER, 4),
        ONE(MPI_INTEGER, FORTRAN, NUMBER_INTEGER, 4),
        ONE(MPI_LOGICAL, LOGICAL, NUMBER_INTEGER, 4),
        ONE(MPI_CHARACTER, NONE, NUMBER_INTEGER, 1),
        ONE(MPI_REAL, FLOATING, NUMBER_FLOAT, 4),
        ONE(MPI_DOUBLE_PRECISION, FLOATING, NUMBER_FLOAT, 8),
        TWO(MPI_COMPLEX, COMPLEX, NUMBER_FLOAT, 4),
        TWO(MPI_DOUBLE_COMPLEX, COMPLEX, NUMBER_FLOAT, 8),
        TWO(MPI_2INTEGER, PAIR, NUMBER_INTEGER, 4),
        TWO(MPI_2REAL, PAIR, NUMBER_FLOAT, 4),
        TWO(MPI_2DOUBLE_PRECISION, PAIR, NUMBER_FLOAT, 8),
        ONE(MPI_INTEGER1, FORTRAN, NUMBER_INTEGER, 1),
        ONE(MPI_INTEGER2, FORTRAN, NUMBER_INTEGER, 2),
        ONE(MPI_INTEGER4, FORTRAN, NUMBER_INTEGER, 4),
        ONE(MPI_INTEGER8, FORTRAN, NUMBER_INTEGER, 8),
        ONE(MPI_REAL4, FLOATING, NUMBER_FLOAT, 4),
        ONE(MPI_REAL8, FLOATING, NUMBER_FLOAT, 8),
        TWO(MPI_COMPLEX8, COMPLEX, NUMBER_FLOAT, 4),
        TWO(MPI_COMPLEX16, COMPLEX, NUMBER_FLOAT, 8),
    };
    *count = 0;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].mpi != MPI_DATATYPE_NULL)
            all[(*count)++] = list[i];
    return all;
}

static void set_number(unsigned char *at, enum form form, size_t bytes,
                       int value)
{
    float f = (float)value;
    double d = value;
    long double l = value;
    int64_t i = value;
    if (form == NUMBER_INTEGER)
        memcpy(at, &i, bytes);
    else if (bytes == 16)
        memcpy(at, &l, 10); /* the rest is padding */
    else
        memcpy(at, bytes == 4 ? (void *)&f : (void *)&d, bytes);
}

/* 0 or 1 for logical types; small numbers otherwise. */
static int value_at(const struct type *t, int r, int i)
{
    bool logical = t->mpi == MPI_C_BOOL || t->mpi == MPI_LOGICAL;
    return (r * 3 + i) % (logical ? 2 : 4);
}

static void fill(const struct type *t, unsigned char *at, int n)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(t->mpi, &lower, &extent);
    memset(at, 0, (size_t)n * (size_t)extent);
    for (int i = 0; i < n; i++, at += extent) {
        set_number(at, t->form, t->bytes, value_at(t, rank, i));
        if (t->indexed)
            set_number(at + t->second, NUMBER_INTEGER, sizeof(int), rank);
        else if (t->second)
            set_number(at + t->second, t->form, t->bytes, rank % 2);
    }
}

struct op {
    MPI_Op mpi;
    const char *name;
};

#define OP(name)                                                               \
    {                                                                          \
        name, #name                                                            \
    }

static const struct op *ops(size_t *count)
{
    static struct op all[16];
    const struct op list[] = {OP(MPI_SUM),     OP(MPI_PROD),   OP(MPI_MAX),
                              OP(MPI_MIN),     OP(MPI_LAND),   OP(MPI_LOR),
                              OP(MPI_LXOR),    OP(MPI_BAND),   OP(MPI_BOR),
                              OP(MPI_BXOR),    OP(MPI_MINLOC), OP(MPI_MAXLOC),
                              OP(MPI_REPLACE), OP(MPI_NO_OP)};
    memcpy(all, list, sizeof list);
    *count = sizeof list / sizeof *list;
    return all;
}

/* The padding of a long double is undefined, and so is the sign of a zero, which
 * depends on the order of products. */
static void normalize(const struct type *t, unsigned char *at)
{
    static const unsigned char zero[16];
    size_t sign = t->bytes == 16 ? 9 : t->bytes - 1;
    if (t->form != NUMBER_FLOAT)
        return;
    for (size_t i = 0; i + t->bytes <= COUNT * ELEMENT; i += t->bytes) {
        if (t->bytes == 16)
            memset(at + i + 10, 0, 6);
        if (at[i + sign] == 0x80 && !memcmp(at + i, zero, sign))
            at[i + sign] = 0;
    }
}

static void compare(const struct type *t, const char *what, const char *op,
                    int code, int their_code)
{
    normalize(t, ours);
    normalize(t, theirs);
    if (class_of(code) != class_of(their_code))
        failed("%s of %s, %s: error class %d instead of %d", what, t->name, op,
               class_of(code), class_of(their_code));
    else if (code == MPI_SUCCESS && memcmp(ours, theirs, ROOM) != 0)
        failed("%s of %s, %s: another result", what, t->name, op);
}

#define COMPARE(call, ...)                                                     \
    do {                                                                       \
        memset(ours, 0, ROOM);                                                 \
        memset(theirs, 0, ROOM);                                               \
        unsigned char *out = ours;                                             \
        int code = MPI_##call(__VA_ARGS__);                                    \
        out = theirs;                                                          \
        int their_code = PMPI_##call(__VA_ARGS__);                             \
        compare(t, #call, op->name, code, their_code);                         \
    } while (0)

static int finish(int code, MPI_Request *request)
{
    return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

/* Whether MPI defines the operation for the type. */
static bool is_defined(const struct type *t, MPI_Op op)
{
    enum group g = t->group;
    bool order = g == INTEGER || g == FORTRAN || g == FLOATING;
    if (op == MPI_MAX || op == MPI_MIN)
        return order;
    if (op == MPI_SUM || op == MPI_PROD)
        return order || g == COMPLEX;
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR)
        return g == INTEGER || g == LOGICAL;
    if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR)
        return g == INTEGER || g == FORTRAN || g == BYTES;
    return (op == MPI_MINLOC || op == MPI_MAXLOC) && g == PAIR;
}

static void test_operation(const struct type *t, const struct op *op)
{
    fill(t, in, COUNT * ranks);
    COMPARE(Allreduce, in, out, COUNT, t->mpi, op->mpi, comm);
    COMPARE(Reduce, in, rank == 0 ? out : NULL, COUNT, t->mpi, op->mpi, 0,
            comm);
    COMPARE(Scan, in, out, COUNT, t->mpi, op->mpi, comm);
    if (rank > 0) /* the result of rank 0 is undefined */
        COMPARE(Exscan, in, out, COUNT, t->mpi, op->mpi, comm);
    else {
        (void)MPI_Exscan(in, ours, COUNT, t->mpi, op->mpi, comm);
        (void)PMPI_Exscan(in, ours, COUNT, t->mpi, op->mpi, comm);
    }
    COMPARE(Reduce_scatter_block, in, out, COUNT, t->mpi, op->mpi, comm);
    MPI_Request request;
    memset(ours, 0, ROOM);
    memset(theirs, 0, ROOM);
    int code = MPI_Iallreduce(in, ours, COUNT, t->mpi, op->mpi, comm, &request);
    code = finish(code, &request);
    int their_code = PMPI_Allreduce(in, theirs, COUNT, t->mpi, op->mpi, comm);
    compare(t, "Iallreduce", op->name, code, their_code);
}

/* Every `step`th of them. */
static void test_operations(size_t step)
{
    size_t type_count, op_count;
    const struct type *t = types(&type_count);
    const struct op *op = ops(&op_count);
    for (size_t i = 0; i < type_count; i++)
        for (size_t k = 0; k < op_count; k++)
            if ((i * op_count + k) % step == 0 &&
                (is_defined(&t[i], op[k].mpi) || REPORTS_UNDEFINED))
                test_operation(&t[i], &op[k]);
}

/* ---- wrong arguments ---- */

#define SAME(name, ...)                                                        \
    do {                                                                       \
        int code = class_of(MPI_##name(__VA_ARGS__));                          \
        int wanted = class_of(PMPI_##name(__VA_ARGS__));                       \
        if (code != wanted)                                                    \
            failed("%s: error class %d instead of %d",                         \
                   #name "(" #__VA_ARGS__ ")", code, wanted);                  \
    } while (0)

static MPI_Request request;
static int counts[RANKS_MAX], displs[RANKS_MAX], negative[RANKS_MAX];

static void test_wrong_counts(void)
{
    SAME(Bcast, in, -1, MPI_INT, 0, comm);
    SAME(Gather, in, -1, MPI_INT, ours, -1, MPI_INT, 0, comm);
    SAME(Scatter, in, -1, MPI_INT, ours, -1, MPI_INT, 0, comm);
    SAME(Allgather, in, -1, MPI_INT, ours, -1, MPI_INT, comm);
    SAME(Alltoall, in, -1, MPI_INT, ours, -1, MPI_INT, comm);
    SAME(Ibcast, in, -1, MPI_INT, 0, comm, &request);
#ifdef OPEN_MPI /* MPICH does not look at the counts of reductions */
    SAME(Reduce, in, ours, -1, MPI_INT, MPI_SUM, 0, comm);
    SAME(Allreduce, in, ours, -1, MPI_INT, MPI_SUM, comm);
    SAME(Scan, in, ours, -1, MPI_INT, MPI_SUM, comm);
    SAME(Exscan, in, ours, -1, MPI_INT, MPI_SUM, comm);
    SAME(Reduce_scatter_block, in, ours, -1, MPI_INT, MPI_SUM, comm);
    SAME(Reduce_scatter, in, ours, negative, MPI_INT, MPI_SUM, comm);
    SAME(Iallreduce, in, ours, -1, MPI_INT, MPI_SUM, comm, &request);
#endif
}

static void test_wrong_types(void)
{
    MPI_Datatype none = MPI_DATATYPE_NULL, fresh;
    MPI_Type_contiguous(2, MPI_INT, &fresh); /* not committed */
    SAME(Bcast, in, 1, none, 0, comm);
    SAME(Allreduce, in, ours, 1, none, MPI_SUM, comm);
    SAME(Reduce, in, ours, 1, none, MPI_SUM, 0, comm);
    SAME(Scan, in, ours, 1, none, MPI_SUM, comm);
    SAME(Gather, in, 1, none, ours, 1, none, 0, comm);
    SAME(Scatter, in, 1, none, ours, 1, none, 0, comm);
    SAME(Allgather, in, 1, none, ours, 1, MPI_INT, comm);
    SAME(Allgather, in, 1, MPI_INT, ours, 1, none, comm);
    SAME(Alltoall, in, 1, none, ours, 1, MPI_INT, comm);
    SAME(Alltoallv, in, counts, displs, none, ours, counts, displs, none, comm);
    SAME(Ialltoall, in, 1, none, ours, 1, none, comm, &request);
    SAME(Bcast, in, 1, fresh, 0, comm);
    SAME(Allgather, in, 1, fresh, ours, 1, fresh, comm);
    SAME(Alltoall, in, 1, fresh, ours, 1, fresh, comm);
    SAME(Ibcast, in, 1, fresh, 0, comm, &request);
    SAME(Allreduce, in, ours, 1, fresh, MPI_SUM, comm);
    MPI_Type_free(&fresh);
}

static void test_wrong_roots_and_operations(void)
{
    SAME(Bcast, in, 1, MPI_INT, -3, comm);
    SAME(Bcast, in, 1, MPI_INT, ranks, comm);
    SAME(Reduce, in, ours, 1, MPI_INT, MPI_SUM, ranks, comm);
    SAME(Reduce, in, ours, 1, MPI_INT, MPI_SUM, MPI_ROOT, comm);
    SAME(Gather, in, 1, MPI_INT, ours, 1, MPI_INT, ranks, comm);
    SAME(Scatter, in, 1, MPI_INT, ours, 1, MPI_INT, -1000, comm);
    SAME(Gatherv, in, 1, MPI_INT, ours, counts, displs, MPI_INT, ranks, comm);
    SAME(Scatterv, in, counts, displs, MPI_INT, ours, 1, MPI_INT, -9, comm);
    SAME(Ireduce, in, ours, 1, MPI_INT, MPI_SUM, -2000, comm, &request);
    SAME(Allreduce, in, ours, 1, MPI_INT, MPI_OP_NULL, comm);
    SAME(Reduce, in, ours, 1, MPI_INT, MPI_OP_NULL, 0, comm);
    SAME(Exscan, in, ours, 1, MPI_INT, MPI_OP_NULL, comm);
    SAME(Reduce_scatter, in, ours, counts, MPI_INT, MPI_OP_NULL, comm);
    SAME(Iscan, in, ours, 1, MPI_INT, MPI_OP_NULL, comm, &request);
}

/* Open MPI does not look at the addresses. */
static void test_wrong_buffers(void)
{
    SAME(Allreduce, in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm);
    SAME(Scan, in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm);
    SAME(Allgather, in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm);
    SAME(Alltoall, in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm);
#ifndef OPEN_MPI
    SAME(Bcast, NULL, 1, MPI_INT, 0, comm);
    SAME(Allreduce, NULL, ours, 1, MPI_INT, MPI_SUM, comm);
    SAME(Allreduce, in, NULL, 1, MPI_INT, MPI_SUM, comm);
    SAME(Allreduce, ours, ours, 1, MPI_INT, MPI_SUM, comm);
    SAME(Reduce, ours, ours, 1, MPI_INT, MPI_SUM, 0, comm);
    SAME(Scan, ours, ours, 1, MPI_INT, MPI_SUM, comm);
    SAME(Allgather, NULL, 1, MPI_INT, ours, 1, MPI_INT, comm);
    SAME(Alltoall, in, 1, MPI_INT, NULL, 1, MPI_INT, comm);
    SAME(Alltoall, ours, 1, MPI_INT, ours, 1, MPI_INT, comm);
    SAME(Ibcast, NULL, 1, MPI_INT, 0, comm, &request);
    SAME(Iallreduce, ours, ours, 1, MPI_INT, MPI_SUM, comm, &request);
#endif
}

static void test_wrong_communicators(void)
{
    MPI_Comm none = MPI_COMM_NULL;
    SAME(Barrier, none);
    SAME(Bcast, in, 1, MPI_INT, 0, none);
    SAME(Allreduce, in, ours, 1, MPI_INT, MPI_SUM, none);
    SAME(Gather, in, 1, MPI_INT, ours, 1, MPI_INT, 0, none);
    SAME(Ibarrier, none, &request);
}

int main(int argc, char **argv)
{
    begin_test(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(comm);
    for (int r = 0; r < ranks; r++) {
        counts[r] = 1;
        displs[r] = r;
        negative[r] = -1;
    }
    test_operations(argc > 1 ? (size_t)atoi(argv[1]) : 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_wrong_counts();
    test_wrong_types();
    test_wrong_roots_and_operations();
    test_wrong_buffers();
    test_wrong_communicators();
    MPI_Comm_free(&comm);
    return end_test("same");
}
