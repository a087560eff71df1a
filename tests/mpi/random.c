/* SPDX-License-Identifier: MIT
 *
 * Random calls that move data, each by MPI_ and by PMPI_ with the same
 * arguments: the buffers must be equal to the last byte, also in the gaps of
 * types. Each rank has types of its own, with one signature: pairs of integers
 * one after the other, with gaps, in the other order, or before the address. It
 * knows nothing of gradwire.
 *
 *     mpirun -n RANKS random CALLS SEED
 */
#include "mpi_test.h"

enum { PAIRS_MAX = 5, SLOT = 8, ROOM = 4 * SLOT * PAIRS_MAX * RANKS_MAX };
enum { TYPES = 6 };

/* A pair of integers. The first one is MPI_INT itself, two of which are one. */
static struct {
    MPI_Datatype mpi;
    int per_pair;
} types[TYPES];

static int in[ROOM], ours[ROOM], theirs[ROOM];

static void make_type(int i, MPI_Datatype type)
{
    MPI_Type_commit(&type);
    types[i].mpi = type;
    types[i].per_pair = 1;
}

static void make_types(void)
{
    MPI_Datatype type, resized;
    int swapped[] = {1, 0}, before[] = {-2, 1};
    types[0].mpi = MPI_INT;
    types[0].per_pair = 2;
    MPI_Type_contiguous(2, MPI_INT, &type);
    make_type(1, type);
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    make_type(2, type);
    MPI_Type_create_indexed_block(2, 1, swapped, MPI_INT, &type);
    make_type(3, type);
    MPI_Type_create_indexed_block(2, 1, before, MPI_INT, &type);
    make_type(4, type);
    MPI_Type_create_resized(type, 0, SLOT * sizeof(int), &resized);
    make_type(5, resized);
    MPI_Type_free(&type);
    types[4].mpi = resized; /* twice as probable */
}

static void free_types(void)
{
    const int own[] = {1, 2, 3, 5};
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&types[own[i]].mpi);
}

static unsigned state;

static int draw(int below)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 16) % (unsigned)below);
}

/* A buffer as seen from a position in its middle. */
static void *at(int *buffer)
{
    return buffer + ROOM / 2;
}

struct shape {
    MPI_Datatype type;
    int count; /* of this type, for the pairs of a block */
    int counts[RANKS_MAX], displs[RANKS_MAX];
};

/* A type of this rank. Blocks of `pairs` pairs in any order, with gaps. */
static struct shape draw_shape(const int pairs[], int block)
{
    struct shape s;
    int t = (draw(TYPES) + rank) % TYPES, end = 0, turn = draw(ranks);
    s.type = types[t].mpi;
    s.count = block * types[t].per_pair;
    int step = ranks % 3 ? 3 : 1;
    for (int i = 0; i < ranks; i++) {
        int r = (i * step + turn) % ranks;
        s.counts[r] = pairs[r] * types[t].per_pair;
        s.displs[r] = end;
        end += s.counts[r] + i % 2;
    }
    return s;
}

#define BOTH(call, ...)                                                        \
    do {                                                                       \
        void *out = at(ours);                                                  \
        MPI_##call(__VA_ARGS__);                                               \
        out = at(theirs);                                                      \
        PMPI_##call(__VA_ARGS__);                                              \
    } while (0)

static void call_regular(int kind, const struct shape *s, const struct shape *r,
                         int root, bool in_place)
{
    bool mine = in_place && rank == root;
    MPI_Comm comm = MPI_COMM_WORLD;
    switch (kind) {
    case 0:
        BOTH(Bcast, out, s->count, s->type, root, comm);
        break;
    case 1:
        BOTH(Gather, mine ? MPI_IN_PLACE : at(in), s->count, s->type, out,
             r->count, r->type, root, comm);
        break;
    case 2:
        BOTH(Scatter, at(in), s->count, s->type, mine ? MPI_IN_PLACE : out,
             r->count, r->type, root, comm);
        break;
    case 3:
        BOTH(Allgather, in_place ? MPI_IN_PLACE : at(in), s->count, s->type,
             out, r->count, r->type, comm);
        break;
    default:
        BOTH(Alltoall, in_place ? MPI_IN_PLACE : at(in), s->count, s->type, out,
             r->count, r->type, comm);
    }
}

static void call_irregular(int kind, const struct shape *s,
                           const struct shape *r, int root, bool in_place)
{
    bool mine = in_place && rank == root;
    MPI_Comm comm = MPI_COMM_WORLD;
    switch (kind) {
    case 5:
        BOTH(Gatherv, mine ? MPI_IN_PLACE : at(in), s->counts[rank], s->type,
             out, r->counts, r->displs, r->type, root, comm);
        break;
    case 6:
        BOTH(Scatterv, at(in), s->counts, s->displs, s->type,
             mine ? MPI_IN_PLACE : out, r->counts[rank], r->type, root, comm);
        break;
    default:
        BOTH(Allgatherv, in_place ? MPI_IN_PLACE : at(in), s->counts[rank],
             s->type, out, r->counts, r->displs, r->type, comm);
    }
}

/* Rank q receives the pairs that rank r sends to it: their number depends on
 * both. */
static void call_alltoallv(void)
{
    int sends[RANKS_MAX], receives[RANKS_MAX], base = draw(3);
    for (int r = 0; r < ranks; r++) {
        sends[r] = (base + rank + 2 * r) % PAIRS_MAX;
        receives[r] = (base + r + 2 * rank) % PAIRS_MAX;
    }
    struct shape s = draw_shape(sends, 0), r = draw_shape(receives, 0);
    BOTH(Alltoallv, at(in), s.counts, s.displs, s.type, out, r.counts, r.displs,
         r.type, MPI_COMM_WORLD);
}

static void test_call(int number)
{
    int kind = draw(9), root = draw(ranks), block = draw(PAIRS_MAX);
    int pairs[RANKS_MAX];
    bool in_place = draw(3) == 0;
    for (int r = 0; r < ranks; r++)
        pairs[r] = draw(PAIRS_MAX);
    for (int i = 0; i < ROOM; i++) {
        in[i] = 1000000 * rank + i;
        ours[i] = theirs[i] = -i - 1 - 1000000 * rank;
    }
    struct shape s = draw_shape(pairs, block), r = draw_shape(pairs, block);
    if (kind < 5)
        call_regular(kind, &s, &r, root, in_place);
    else if (kind < 8)
        call_irregular(kind, &s, &r, root, in_place);
    else
        call_alltoallv();
    if (memcmp(ours, theirs, sizeof ours) != 0)
        failed("call %d, kind %d, root %d, %sblock %d", number, kind, root,
               in_place ? "in place, " : "", block);
}

int main(int argc, char **argv)
{
    begin_test(&argc, &argv);
    make_types();
    state = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    for (int i = 0, calls = argc > 1 ? atoi(argv[1]) : 100; i < calls; i++)
        test_call(i);
    free_types();
    return end_test("random");
}
