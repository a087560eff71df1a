/* SPDX-License-Identifier: MIT
 *
 * The rules of MPI that programs rely on and that differ from gradwire's own:
 * empty buffers, types with gaps on one side only, operations of the user,
 * messages that travel during a collective, calls that repeat, error codes. It
 * knows nothing of gradwire, but Open MPI 4.1 alone fails if a communicator is
 * freed while a call is pending.
 *
 *     mpirun -n RANKS semantics
 */
#include "mpi_test.h"

/* ---- buffers ---- */

static void test_empty(void)
{
    int zeros[RANKS_MAX] = {0};
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(NULL, NULL, 0, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(NULL, 0, MPI_INT, NULL, zeros, zeros, MPI_INT,
                   MPI_COMM_WORLD);
    MPI_Gatherv(NULL, 0, MPI_INT, NULL, zeros, zeros, MPI_INT, 0,
                MPI_COMM_WORLD);
    MPI_Scatterv(NULL, zeros, zeros, MPI_INT, NULL, 0, MPI_INT, 0,
                 MPI_COMM_WORLD);
    MPI_Alltoallv(zeros, zeros, zeros, MPI_INT, NULL, zeros, zeros, MPI_INT,
                  MPI_COMM_WORLD);
    MPI_Reduce_scatter(NULL, NULL, zeros, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Only the root has counts, types and buffers of a gather. */
static void test_unused_arguments(void)
{
    int mine = rank + 1, all[RANKS_MAX];
    int root = ranks - 1;
    bool is_root = rank == root;
    MPI_Gather(&mine, 1, MPI_INT, is_root ? all : NULL, is_root ? 1 : -7,
               is_root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    for (int r = 0; is_root && r < ranks; r++)
        expect(all[r] == r + 1, "a gather with unused arguments");
    mine = 0;
    MPI_Scatter(is_root ? all : NULL, is_root ? 1 : -7,
                is_root ? MPI_INT : MPI_DATATYPE_NULL, &mine, 1, MPI_INT, root,
                MPI_COMM_WORLD);
    expect(mine == rank + 1, "a scatter with unused arguments");
}

/* ---- types ---- */

/* The root scatters the columns of a matrix, the others receive rows. */
static void test_columns(void)
{
    enum { ROWS = 5 };
    double matrix[ROWS * RANKS_MAX], column[ROWS];
    MPI_Datatype one, columns;
    for (int i = 0; i < ROWS * ranks; i++)
        matrix[i] = i;
    MPI_Type_vector(ROWS, 1, ranks, MPI_DOUBLE, &one);
    MPI_Type_create_resized(one, 0, sizeof(double), &columns);
    MPI_Type_commit(&columns);
    MPI_Scatter(rank == 0 ? matrix : NULL, 1, columns, column, ROWS, MPI_DOUBLE,
                0, MPI_COMM_WORLD);
    for (int i = 0; i < ROWS; i++)
        expect(column[i] == i * ranks + rank, "a column of a scatter");
    memset(matrix, 0, sizeof matrix);
    MPI_Request request;
    MPI_Iallgather(column, ROWS, MPI_DOUBLE, matrix, 1, columns, MPI_COMM_WORLD,
                   &request);
    MPI_Type_free(&one);
    MPI_Type_free(&columns); /* while it is in use */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROWS * ranks; i++)
        expect(matrix[i] == i, "a matrix of gathered columns");
}

/* The gaps of a result stay as they are, and displacements may be negative and
 * in any order. */
static void test_gaps(void)
{
    int buffer[4 * RANKS_MAX], counts[RANKS_MAX], displs[RANKS_MAX];
    int mine[2] = {rank, -rank};
    MPI_Datatype two, pair;
    for (int i = 0; i < 4 * ranks; i++)
        buffer[i] = 1000 + i;
    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 4 * sizeof(int), &pair);
    MPI_Type_commit(&pair);
    for (int r = 0; r < ranks; r++) {
        counts[r] = 1;
        displs[r] = -r;
    }
    MPI_Allgatherv(mine, 2, MPI_INT, buffer + 4 * (ranks - 1), counts, displs,
                   pair, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        const int *at = buffer + 4 * (ranks - 1 - r);
        expect(at[0] == r && at[2] == -r, "values between gaps");
        expect(at[1] >= 1000 && at[3] >= 1000, "gaps that stay");
    }
    MPI_Type_free(&two);
    MPI_Type_free(&pair);
}

/* Without gaps, but not in the order of the memory. */
static void test_permuted(void)
{
    int pair[2] = {0, 0}, displs[2] = {1, 0};
    MPI_Datatype swapped;
    MPI_Type_create_indexed_block(2, 1, displs, MPI_INT, &swapped);
    MPI_Type_commit(&swapped);
    if (rank == 0)
        pair[0] = 1, pair[1] = 2;
    MPI_Bcast(pair, rank == 0 ? 2 : 1, rank == 0 ? MPI_INT : swapped, 0,
              MPI_COMM_WORLD);
    expect(pair[rank == 0 ? 0 : 1] == 1 && pair[rank == 0 ? 1 : 0] == 2,
           "a type in another order");
    MPI_Type_free(&swapped);
}

/* ---- operations ---- */

/* 2 by 2 matrices: not commutative. */
static void multiply(void *in, void *sum, int *count, MPI_Datatype *type)
{
    const long *a = in;
    long *b = sum;
    (void)type;
    for (int i = 0; i < *count; i++, a += 4, b += 4) {
        long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                     a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

static void product_until(int end, long product[4])
{
    int one = 1;
    long own[4] = {1, end - 1, 1, 1};
    if (end == 1) {
        memcpy(product, own, sizeof own);
        return;
    }
    product_until(end - 1, product);
    multiply(product, own, &one, NULL);
    memcpy(product, own, sizeof own);
}

static void test_user_operation(void)
{
    MPI_Datatype matrix;
    MPI_Op op;
    long mine[4] = {1, rank, 1, 1}, got[4], want[4];
    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    MPI_Allreduce(mine, got, 1, matrix, op, MPI_COMM_WORLD);
    product_until(ranks, want);
    expect(!memcmp(got, want, sizeof got), "an operation of the user");
    MPI_Scan(mine, got, 1, matrix, op, MPI_COMM_WORLD);
    product_until(rank + 1, want);
    expect(!memcmp(got, want, sizeof got), "a scan by the user's operation");
    memset(got, 0, sizeof got);
    MPI_Reduce(mine, got, 1, matrix, op, ranks - 1, MPI_COMM_WORLD);
    product_until(ranks, want);
    if (rank == ranks - 1)
        expect(!memcmp(got, want, sizeof got), "a reduce likewise");
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
}

static void test_locations(void)
{
    struct {
        double value;
        int at;
    } mine = {(rank * 7) % 5, rank}, got;
    struct {
        short value;
        int at;
    } small = {(short)(3 - rank % 3), rank}, least;
    MPI_Allreduce(&mine, &got, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    expect((got.at * 7) % 5 == got.value, "maxloc");
    for (int r = 0; r < ranks; r++)
        expect((r * 7) % 5 < got.value ||
                   (r >= got.at && (r * 7) % 5 <= got.value),
               "the first of the largest");
    MPI_Allreduce(&small, &least, 1, MPI_SHORT_INT, MPI_MINLOC, MPI_COMM_WORLD);
    expect(least.at == (ranks > 2 ? 2 : ranks - 1), "minloc");
}

/* ---- progress ---- */

/* A large message whose receiver has not entered the barrier. */
static void test_message_in_barrier(void)
{
    enum { LARGE = 1 << 20 };
    int peer = rank ^ 1;
    char *memory = malloc(LARGE);
    MPI_Request request = MPI_REQUEST_NULL;
    memset(memory, rank, LARGE);
    if (rank % 2 == 0 && peer < ranks)
        MPI_Isend(memory, LARGE, MPI_CHAR, peer, 5, MPI_COMM_WORLD, &request);
    else if (rank % 2)
        MPI_Recv(memory, LARGE, MPI_CHAR, peer, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank % 2)
        expect(memory[LARGE - 1] == peer, "a message during a barrier");
    free(memory);
}

/* The root of a broadcast frees the communicator, while a large message of its
 * own has not been received. */
static void test_message_in_free(void)
{
    enum { LARGE = 1 << 20 };
    MPI_Comm comm;
    char *memory = malloc(LARGE);
    int value = 0, peer = rank ^ 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(comm);
    memset(memory, rank, LARGE);
    if (rank % 2 == 0 && peer < ranks)
        MPI_Isend(memory, LARGE, MPI_CHAR, peer, 5, MPI_COMM_WORLD, &request);
    else if (rank % 2)
        MPI_Recv(memory, LARGE, MPI_CHAR, peer, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(memory);
}

/* A non-blocking barrier that others wait for while this rank receives. */
static void test_collective_in_receive(void)
{
    MPI_Request request;
    int token = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (rank == 0)
        for (int r = 1; r < ranks; r++)
            MPI_Recv(&token, 1, MPI_INT, r, 6, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank > 0)
        MPI_Send(&rank, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
}

static void test_completion(void)
{
    enum { CALLS = 6 };
    MPI_Request requests[CALLS + 1];
    MPI_Status statuses[CALLS + 1];
    int in[CALLS], out[CALLS], done = 0, left = CALLS, indices[CALLS + 1];
    requests[CALLS] = MPI_REQUEST_NULL;
    for (int i = 0; i < CALLS; i++) {
        in[i] = rank + i;
        MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                       &requests[i]);
    }
    while (!done)
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    MPI_Waitany(CALLS, requests, &indices[0], MPI_STATUS_IGNORE);
    for (left -= 2; left > 2; left -= done)
        MPI_Waitsome(CALLS + 1, requests, &done, indices, statuses);
    MPI_Waitall(CALLS + 1, requests, statuses);
    for (int i = 0; i < CALLS; i++) {
        expect(requests[i] == MPI_REQUEST_NULL, "a completed handle");
        expect(out[i] == ranks * (ranks - 1) / 2 + ranks * i,
               "calls in progress together");
    }
}

/* ---- errors ---- */

static void test_errors(void)
{
    int value = 0, code, class;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    code = MPI_Bcast(&value, 1, MPI_INT, ranks, comm);
    MPI_Error_class(code, &class);
    expect(class == MPI_ERR_ROOT, "a root out of range");
    MPI_Comm_free(&comm);
}

/* ---- calls that repeat ---- */

/* A freed type or communicator may have the handle of the next one. */
static void repeat_with_type(int pass, MPI_Comm comm, int elems)
{
    int values[4] = {0}, root = pass % ranks;
    MPI_Datatype type;
    MPI_Type_contiguous(elems, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 4 && rank == root; i++)
        values[i] = pass + i;
    MPI_Bcast(values, 1, type, root, comm);
    for (int i = 0; i < 4; i++)
        expect(values[i] == (rank == root || i < elems ? pass + i : 0),
               "a broadcast of a new type");
    MPI_Type_free(&type);
}

static void repeat_in_buffers(int pass, MPI_Comm comm)
{
    int rows[3][4], count = 1 + pass / 5 % 4, *in = rows[pass % 3];
    int *out = rows[(pass + 1) % 3], sum = ranks * (ranks - 1) / 2;
    for (int i = 0; i < 4; i++)
        out[i] = in[i] = pass + i + rank;
    MPI_Allreduce(pass / 3 % 2 ? MPI_IN_PLACE : in, out, count, MPI_INT,
                  MPI_SUM, comm);
    for (int i = 0; i < 4; i++)
        expect(out[i] ==
                   (i < count ? ranks * (pass + i) + sum : pass + i + rank),
               "a repeated all-reduce");
    MPI_Reduce(in, out, count, MPI_INT, pass % 4 ? MPI_MAX : MPI_MIN, 0, comm);
    for (int i = 0; i < count && rank == 0; i++)
        expect(out[i] == pass + i + (pass % 4 ? ranks - 1 : 0),
               "a repeated reduce");
}

static void test_repeated(void)
{
    enum { PASSES = 60, CALLS = 5 }; /* the first calls fall through */
    for (int pass = 0; pass < PASSES; pass++) {
        MPI_Comm comm = MPI_COMM_WORLD;
        if (pass % 20 == 19)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int call = 0; call < CALLS; call++)
            repeat_in_buffers(pass + call / 2, comm);
        repeat_with_type(pass / 4, comm, 1 + pass % 4);
        if (comm != MPI_COMM_WORLD)
            MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    begin_test(&argc, &argv);
    test_empty();
    test_unused_arguments();
    test_columns();
    test_gaps();
    test_permuted();
    test_user_operation();
    test_locations();
    test_message_in_barrier();
    test_message_in_free();
    test_collective_in_receive();
    test_completion();
    test_repeated();
    test_errors();
    return end_test("semantics");
}
