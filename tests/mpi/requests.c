/* SPDX-License-Identifier: MIT
 *
 * Collectives in progress among other things: many at a time and completed in
 * any order, in one array with messages, started again and freed; and the other
 * collectives and communicators of MPI between them. It knows nothing of
 * gradwire.
 *
 *     mpirun -n RANKS requests
 */
#include "mpi_test.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* ---- many at a time ---- */

enum { KINDS = 6, CALLS = 48, ROOM = 4 * RANKS_MAX };

struct call {
    int in[ROOM], out[ROOM];
};

static void start(struct call *c, int number, MPI_Comm comm,
                  MPI_Request *request)
{
    int root = number % ranks;
    for (int i = 0; i < ROOM; i++) {
        c->in[i] = rank + number;
        c->out[i] = -1;
    }
    switch (number % KINDS) {
    case 0:
        MPI_Iallreduce(c->in, c->out, 4, MPI_INT, MPI_SUM, comm, request);
        break;
    case 1:
        MPI_Ibcast(c->in, 4, MPI_INT, root, comm, request);
        break;
    case 2:
        MPI_Iallgather(c->in, 2, MPI_INT, c->out, 2, MPI_INT, comm, request);
        break;
    case 3:
        MPI_Ialltoall(c->in, 1, MPI_INT, c->out, 1, MPI_INT, comm, request);
        break;
    case 4:
        MPI_Igather(c->in, 1, MPI_INT, c->out, 1, MPI_INT, root, comm, request);
        break;
    default:
        MPI_Iscan(c->in, c->out, 2, MPI_INT, MPI_MAX, comm, request);
    }
}

static bool is_right(const struct call *c, int number)
{
    int root = number % ranks;
    switch (number % KINDS) {
    case 0:
        return c->out[3] == ranks * (ranks - 1) / 2 + ranks * number;
    case 1:
        return c->in[3] == root + number;
    case 2:
        return c->out[2 * ranks - 1] == ranks - 1 + number;
    case 3:
        return c->out[ranks - 1] == ranks - 1 + number && c->out[0] == number;
    case 4:
        return rank != root || c->out[ranks - 1] == ranks - 1 + number;
    default:
        return c->out[1] == rank + number;
    }
}

static void test_order(MPI_Comm comm)
{
    static struct call calls[CALLS];
    MPI_Request requests[CALLS];
    for (int i = 0; i < CALLS; i++)
        start(&calls[i], i, comm, &requests[i]);
    for (int i = CALLS - 1; i >= 0; i -= 2) /* the last one first */
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = 0, done = 0; i < CALLS; i += 2, done = 0)
        while (!done)
            MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
    for (int i = 0; i < CALLS; i++)
        expect(is_right(&calls[i], i), "one of many calls");
}

/* ---- with messages ---- */

enum { MESSAGES = 8, ALL = CALLS + 2 * MESSAGES };

struct mixture {
    struct call calls[CALLS];
    int sent[MESSAGES], received[MESSAGES];
    MPI_Request requests[ALL];
};

static void start_mixture(struct mixture *m, MPI_Comm comm)
{
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, n = 0;
    for (int i = 0; i < CALLS; i++) {
        start(&m->calls[i], i, comm, &m->requests[n++]);
        if (i % (CALLS / MESSAGES))
            continue;
        int k = i / (CALLS / MESSAGES);
        m->sent[k] = 100 * rank + k;
        MPI_Irecv(&m->received[k], 1, MPI_INT, last, k, comm,
                  &m->requests[n++]);
        MPI_Isend(&m->sent[k], 1, MPI_INT, next, k, comm, &m->requests[n++]);
    }
}

static void check_mixture(const struct mixture *m, const char *what)
{
    int last = (rank + ranks - 1) % ranks;
    for (int i = 0; i < CALLS; i++)
        expect(is_right(&m->calls[i], i), what);
    for (int k = 0; k < MESSAGES; k++)
        expect(m->received[k] == 100 * last + k, what);
    for (int i = 0; i < ALL; i++)
        expect(m->requests[i] == MPI_REQUEST_NULL, what);
}

static void test_mixtures(MPI_Comm comm)
{
    static struct mixture m;
    MPI_Status statuses[ALL];
    int done = 0, index = 0, indices[ALL];
    start_mixture(&m, comm);
    MPI_Waitall(ALL, m.requests, MPI_STATUSES_IGNORE);
    check_mixture(&m, "Waitall");
    start_mixture(&m, comm);
    while (!done)
        MPI_Testall(ALL, m.requests, &done, statuses);
    check_mixture(&m, "Testall");
    start_mixture(&m, comm);
    for (int i = 0; i < ALL; i++) {
        MPI_Waitany(ALL, m.requests, &index, MPI_STATUS_IGNORE);
        expect(index != MPI_UNDEFINED, "an index of Waitany");
    }
    MPI_Waitany(ALL, m.requests, &index, MPI_STATUS_IGNORE);
    expect(index == MPI_UNDEFINED, "Waitany without a request");
    check_mixture(&m, "Waitany");
    start_mixture(&m, comm);
    for (int left = ALL; left > 0; left -= done)
        MPI_Waitsome(ALL, m.requests, &done, indices, statuses);
    check_mixture(&m, "Waitsome");
    start_mixture(&m, comm);
    for (int left = ALL; left > 0; left -= done)
        MPI_Testsome(ALL, m.requests, &done, indices, statuses);
    check_mixture(&m, "Testsome");
}

static void test_status(MPI_Comm comm)
{
    MPI_Request request, none = MPI_REQUEST_NULL;
    MPI_Status status;
    int done = 0;
    MPI_Ibarrier(comm, &request);
    while (!done)
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    expect(request != MPI_REQUEST_NULL, "a handle after get_status");
    MPI_Test(&request, &done, &status);
    expect(done && request == MPI_REQUEST_NULL, "a test after get_status");
    MPI_Wait(&none, &status);
    MPI_Test(&none, &done, &status);
    expect(done, "a test of no request");
}

/* ---- persistent ---- */

#if MPI_VERSION >= 4
#define PERSISTENT(name) MPI_##name
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define PERSISTENT(name) MPIX_##name
#endif

static void test_persistent(MPI_Comm world)
{
#ifdef PERSISTENT
    MPI_Comm comm;
    MPI_Request requests[3];
    int in = 0, sum = 0, most = 0, all[RANKS_MAX];
    MPI_Comm_dup(world, &comm);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(comm);
    PERSISTENT(Allreduce_init)
    (&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
    PERSISTENT(Allreduce_init)
    (&in, &most, 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &requests[1]);
    PERSISTENT(Allgather_init)
    (&in, 1, MPI_INT, all, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[2]);
    for (int i = 0; i < 20; i++) {
        in = rank + i;
        MPI_Startall(3, requests);
        if (i % 2)
            MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int k = 2; k >= 0; k--) /* inactive ones return at once */
            MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        expect(sum == ranks * (ranks - 1) / 2 + ranks * i, "a persistent sum");
        expect(most == ranks - 1 + i, "a persistent maximum");
        expect(all[ranks - 1] == ranks - 1 + i, "a persistent gather");
    }
    MPI_Request_free(&requests[1]);
    expect(requests[1] == MPI_REQUEST_NULL, "a freed handle");
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[2]);
    MPI_Comm_free(&comm);
#else
    (void)world;
#endif
}

/* ---- signatures ---- */

/* Four integers on one side, one element of four on the other. */
static void test_signatures(MPI_Comm comm)
{
    MPI_Datatype four;
    int in[4 * RANKS_MAX], out[4 * RANKS_MAX], root = ranks - 1;
    int counts[RANKS_MAX], displs[RANKS_MAX];
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_commit(&four);
    for (int i = 0; i < 4 * ranks; i++)
        in[i] = 1000 * rank + i;
    MPI_Allgather(in, 4, MPI_INT, out, 1, four, comm);
    expect(out[4 * root + 3] == 1000 * root + 3, "an allgather of two types");
    MPI_Gather(in, 1, four, out, 4, MPI_INT, root, comm);
    expect(rank != root || out[5] == 1001, "a gather of two types");
    MPI_Scatter(in, 4, MPI_INT, out, 1, four, root, comm);
    expect(out[0] == 1000 * root + 4 * rank, "a scatter of two types");
    MPI_Alltoall(in, 1, four, out, 4, MPI_INT, comm);
    expect(out[4 * root] == 1000 * root + 4 * rank, "an alltoall of two types");
    MPI_Bcast(in, rank == 0 ? 4 : 1, rank == 0 ? MPI_INT : four, 0, comm);
    expect(in[3] == 3, "a bcast of two types");
    for (int r = 0; r < ranks; r++) { /* only even ranks have something */
        counts[r] = r % 2 ? 0 : 1;
        displs[r] = r % 2 ? 12345 : ranks - 1 - r;
    }
    memset(out, -1, sizeof out);
    MPI_Allgatherv(in, rank % 2 ? 0 : 4, MPI_INT, out, counts, displs, four,
                   comm);
    expect(out[4 * (ranks - 1) + 3] == 3, "an allgatherv with holes");
    MPI_Type_free(&four);
}

/* Counts of type MPI_Count. */
static void test_large_counts(MPI_Comm comm)
{
#if MPI_VERSION >= 4
    MPI_Request request;
    MPI_Count one = 1, two = 2;
    int in[2] = {rank, 1}, out[2 * RANKS_MAX] = {0};
    MPI_Allreduce_c(in, out, two, MPI_INT, MPI_SUM, comm);
    expect(out[0] == ranks * (ranks - 1) / 2 && out[1] == ranks, "Allreduce_c");
    MPI_Iallgather_c(in, one, MPI_INT, out, one, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(out[ranks - 1] == ranks - 1, "Iallgather_c");
    MPI_Bcast_init_c(in, two, MPI_INT, ranks - 1, comm, MPI_INFO_NULL,
                     &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    expect(in[0] == ranks - 1, "Bcast_init_c");
#else
    (void)comm;
#endif
}

/* ---- communicators ---- */

static int copies, deletes;

static int on_copy(MPI_Comm comm, int key, void *extra, void *in, void *out,
                   int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static void use(MPI_Comm comm, int size, const char *what)
{
    int one = 1, sum = 0;
    for (int i = 0; i < 6; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        expect(sum == size, what);
    }
}

static void test_attributes(MPI_Comm world)
{
    MPI_Comm first, second, third;
    MPI_Request request;
    int key, *value, found, seven = 7;
    MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL);
    MPI_Comm_dup(world, &first);
    use(first, ranks, "a duplicate");
    MPI_Comm_set_attr(first, key, &seven);
    MPI_Comm_dup(first, &second);
    use(second, ranks, "a duplicate of a duplicate");
    MPI_Comm_idup(second, &third, &request);
    use(second, ranks, "a communicator that is duplicated");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(third, ranks, "an idup");
    MPI_Comm_get_attr(third, key, &value, &found);
    expect(found && *value == 7 && copies == 2, "a copied attribute");
    MPI_Comm_free(&third);
    MPI_Comm_free(&first);
    use(second, ranks, "a duplicate that survives");
    MPI_Comm_free(&second);
    expect(deletes == 3, "deleted attributes");
    MPI_Comm_free_keyval(&key);
}

static void test_groups(MPI_Comm world)
{
    MPI_Comm comm;
    MPI_Group all, some;
    int even[RANKS_MAX], count = (ranks + 1) / 2;
    MPI_Comm_split(world, rank % 2 ? MPI_UNDEFINED : 3, -rank, &comm);
    expect((comm == MPI_COMM_NULL) == rank % 2, "a split without this rank");
    if (comm != MPI_COMM_NULL) {
        use(comm, count, "a split");
        MPI_Comm_free(&comm);
    }
    for (int r = 0; r < count; r++)
        even[r] = 2 * r;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, count, even, &some);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(world, some, 4, &comm);
        use(comm, count, "create_group");
        MPI_Comm_free(&comm);
    }
    MPI_Comm_create(world, some, &comm);
    if (comm != MPI_COMM_NULL) {
        use(comm, count, "create");
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &count); /* the ranks of this host */
    use(comm, count, "split_type");
    MPI_Comm_free(&comm);
    use(MPI_COMM_SELF, 1, "MPI_COMM_SELF");
}

/* A ring as a Cartesian grid, and the same as a graph. */
static void test_topologies(MPI_Comm world)
{
    MPI_Comm grid, graph;
    int size = ranks, wraps = 1, next = (rank + 1) % ranks;
    int last = (rank + ranks - 1) % ranks, got[2] = {-1, -1};
    MPI_Request request;
    MPI_Cart_create(world, 1, &size, &wraps, 0, &grid);
    use(grid, ranks, "a grid");
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, grid);
    expect(got[0] == last && got[1] == next, "neighbours of a grid");
    MPI_Dist_graph_create_adjacent(world, 1, &last, MPI_UNWEIGHTED, 1, &next,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    use(graph, ranks, "a graph");
    got[0] = -1;
    MPI_Ineighbor_alltoall(&rank, 1, MPI_INT, got, 1, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(got[0] == last, "a neighbour of a graph");
    MPI_Comm_free(&graph);
    MPI_Comm_free(&grid);
}

int main(int argc, char **argv)
{
    begin_test(&argc, &argv);
    test_order(MPI_COMM_WORLD);
    test_mixtures(MPI_COMM_WORLD);
    test_status(MPI_COMM_WORLD);
    test_persistent(MPI_COMM_WORLD);
    test_signatures(MPI_COMM_WORLD);
    test_large_counts(MPI_COMM_WORLD);
    test_attributes(MPI_COMM_WORLD);
    test_groups(MPI_COMM_WORLD);
    test_topologies(MPI_COMM_WORLD);
    return end_test("requests");
}
