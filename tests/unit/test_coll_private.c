/* SPDX-License-Identifier: MIT
 *
 * Collectives over memory of malloc, which peers cannot map. They copy it
 * between the processes, or through staging buffers, where that is not allowed.
 * All collectives, 2 to 8 ranks, sizes around those of a piece, at any address,
 * in place and not, with a core per rank and without.
 *
 * Then a rank dies while another one copies its memory, or copies itself, and a
 * buffer that does not exist.
 */
#include "coll/comm.h"
#include "ranks.h"

#include <base/failpoint.h>

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOT = 1, COUNT_MOST = 40000 };

/* ---- every collective ---- */

struct way {
    bool copies; /* or staged */
    double cores;
};

struct sample {
    enum gw_collective collective;
    unsigned ranks;
    size_t count; /* elements of a block, or of the vector */
    bool in_place;
};

static uint8_t value(unsigned rank, size_t i)
{
    return (uint8_t)(rank * 31 + i * 7 + (i >> 8));
}

static bool is_vector(enum gw_collective c)
{
    return c == GW_BROADCAST || c == GW_REDUCE || c == GW_ALLREDUCE ||
           c == GW_SCAN || c == GW_EXSCAN;
}

/* The sum of the inputs of ranks 0 to `end` - 1. */
static uint8_t sum(unsigned end, size_t i)
{
    uint8_t all = 0;
    for (unsigned r = 0; r < end; r++)
        all = (uint8_t)(all + value(r, i));
    return all;
}

static bool has_result(const struct sample *s, unsigned rank)
{
    switch (s->collective) {
    case GW_REDUCE:
    case GW_GATHER:
        return rank == ROOT;
    case GW_EXSCAN:
        return rank > 0;
    default:
        return true;
    }
}

static size_t result_bytes(const struct sample *s)
{
    return s->collective == GW_GATHER || s->collective == GW_ALLGATHER ||
                   s->collective == GW_ALLTOALL
               ? s->ranks * s->count
               : s->count;
}

/* In place, a rank's own block stays where it is. */
static size_t result_at(const struct sample *s, unsigned rank)
{
    bool own_block = s->collective == GW_REDUCE_SCATTER ||
                     (s->collective == GW_SCATTER && rank == ROOT);
    return s->in_place && own_block ? rank * s->count : 0;
}

static uint8_t expected(const struct sample *s, unsigned rank, size_t i)
{
    size_t n = s->count;
    switch (s->collective) {
    case GW_BROADCAST:
        return value(ROOT, i);
    case GW_SCATTER:
        return value(ROOT, rank * n + i);
    case GW_GATHER:
    case GW_ALLGATHER:
        return value((unsigned)(i / n), i % n);
    case GW_ALLTOALL:
        return value((unsigned)(i / n), rank * n + i % n);
    case GW_REDUCE_SCATTER:
        return sum(s->ranks, rank * n + i);
    case GW_SCAN:
        return sum(rank + 1, i);
    case GW_EXSCAN:
        return sum(rank, i);
    default:
        return sum(s->ranks, i);
    }
}

static void fill(const struct sample *s, unsigned rank, uint8_t *in,
                 uint8_t *out)
{
    size_t all = is_vector(s->collective) ? s->count : s->ranks * s->count;
    bool own_block =
        s->collective == GW_GATHER || s->collective == GW_ALLGATHER;
    memset(out, 0xee, all);
    for (size_t i = 0; i < all; i++)
        in[i] = value(rank, i);
    if (s->in_place && own_block)
        memcpy(out + rank * s->count, in, s->count);
    else if (s->in_place)
        memcpy(out, in, all);
}

static void run_sample(struct gw_comm *comm, const struct sample *s,
                       uint8_t *in, uint8_t *out)
{
    unsigned rank = gw_comm_rank(comm);
    const struct gw_call call = {.collective = s->collective,
                                 .in = s->in_place ? GW_IN_PLACE : in,
                                 .out = out,
                                 .count = s->count,
                                 .type = GW_U8,
                                 .op = GW_SUM,
                                 .root = ROOT};
    fill(s, rank, in, out);
    enum gw_err err = gw_run(comm, &call);
    size_t bytes = has_result(s, rank) ? result_bytes(s) : 0, i = 0;
    const uint8_t *result = out + result_at(s, rank);
    while (!err && i < bytes && result[i] == expected(s, rank, i))
        i++;
    if (!err && i == bytes)
        return;
    fprintf(stderr, "%s of %zu%s, rank %u of %u, element %zu: %s\n",
            gw_collective_name(s->collective), s->count,
            s->in_place ? " in place" : "", rank, s->ranks, i,
            err ? gw_comm_error(comm)->text : "wrong");
    abort();
}

/* The result must not count on alignment, so the buffers begin anywhere. */
static void run_all(struct gw_comm *comm, void *context)
{
    static const size_t counts[] = {0, 1, 4097, COUNT_MOST};
    const struct way *way = context;
    unsigned ranks = gw_comm_size(comm);
    size_t room = (size_t)ranks * COUNT_MOST + 16;
    uint8_t *in = malloc(room), *out = malloc(room);
    if (!in || !out ||
        way->copies != comm->windows->can_copy(comm->wire, &comm->error))
        abort();
    comm->error.code = GW_OK;
    comm->costs.cores = way->cores;
    comm->copies_from = 0;
    for (unsigned c = 0; c < GW_COLLECTIVES; c++)
        for (unsigned k = 0; k < 2 * sizeof counts / sizeof *counts; k++) {
            struct sample s = {.collective = (enum gw_collective)c,
                               .ranks = ranks,
                               .count = counts[k / 2],
                               .in_place = k % 2 == 1};
            if (c != GW_BARRIER && c != GW_CUSTOM)
                run_sample(comm, &s, in + (k + 3 * c) % 16,
                           out + (5 * k + c) % 16);
        }
    free(in);
    free(out);
}

static void arm(const char *text)
{
    struct gw_error why = {0};
    ck_assert_msg(gw__failpoints_arm(text, &why) == GW_OK, "%s", why.text);
}

static void run_ways(bool copies)
{
    static const struct gw_comm_config config = {.wire = "shm"};
    for (unsigned ranks = 2; ranks <= 8; ranks++)
        for (unsigned shared = 0; shared < 2; shared++) {
            struct way way = {.copies = copies, .cores = shared ? 1 : 8};
            /* One refusal counts for all ranks. */
            arm(copies ? "" : "shm.probe=error@2");
            run_ranks(&config, ranks, run_all, &way);
        }
    arm("");
}

START_TEST(private_memory_is_copied)
{
    run_ways(true);
}
END_TEST

START_TEST(private_memory_is_staged_where_copies_are_refused)
{
    run_ways(false);
}
END_TEST

/* A transfer counts alike, however it is made: by the receiver, or a half by
 * each, where the root's buffer is in place. */
static void count_bytes(struct gw_comm *comm, void *context)
{
    enum { BYTES = 100000 };
    unsigned rank = gw_comm_rank(comm);
    uint8_t *memory = calloc(1, BYTES);
    struct gw_counters counted;
    (void)context;
    comm->copies_from = 0;
    if (!memory ||
        gw_broadcast(comm, rank == 0 ? memory : NULL, rank == 0 ? NULL : memory,
                     BYTES, GW_U8, 0) != GW_OK ||
        gw_broadcast(comm, rank == 0 ? GW_IN_PLACE : NULL, memory, BYTES, GW_U8,
                     0) != GW_OK)
        abort();
    gw_comm_counters(comm, 1 - rank, &counted);
    if (counted.bytes_sent != (rank == 0 ? 2 * BYTES : 0) ||
        counted.bytes_received != (rank == 0 ? 0 : 2 * BYTES))
        abort();
    free(memory);
}

START_TEST(copies_are_counted)
{
    static const struct gw_comm_config config = {.wire = "shm"};
    static _Atomic uint32_t reached[GW__FAILPOINTS];
    gw__failpoints_count(reached);
    run_ranks(&config, 2, count_bytes, NULL);
    ck_assert_uint_eq(atomic_load(&reached[GW__AT_SHM_LOAD]), 2);
    ck_assert_uint_eq(atomic_load(&reached[GW__AT_SHM_STORE]), 1);
    arm("shm.probe=error");
    run_ranks(&config, 2, count_bytes, NULL);
    ck_assert_uint_eq(atomic_load(&reached[GW__AT_SHM_LOAD]), 2);
    gw__failpoints_count(NULL);
    arm("");
}
END_TEST

/* ---- failures ---- */

/* A broadcast of 1 MiB from rank 0, whose peers copy its memory. */
struct death {
    const char *reader;                      /* failpoints of rank 1 */
    _Atomic uint32_t counts[GW__FAILPOINTS]; /* reached in rank 1 */
    struct {
        enum gw_err code;
        char text[sizeof(((struct gw_error *)0)->text)];
    } ends[2];
};

enum { BYTES = 1 << 20 };

static void rank_main(struct death *d, unsigned rank, const char *rendezvous)
{
    const struct gw_comm_config config = {
        .wire = "shm", .rank = rank, .size = 2, .rendezvous = rendezvous};
    struct gw_comm *comm;
    struct gw_error why = {0};
    uint8_t *memory = malloc(BYTES);
    if (!memory || gw_comm_create(&config, &comm, &why))
        _exit(3);
    memset(memory, (int)rank, BYTES);
    comm->copies_from = 0;
    if (rank == 1 && gw__failpoints_arm(d->reader, &why))
        _exit(3);
    if (rank == 1)
        gw__failpoints_count(d->counts);
    d->ends[rank].code =
        gw_broadcast(comm, rank == 0 ? memory : NULL, rank == 0 ? NULL : memory,
                     BYTES, GW_U8, 0);
    snprintf(d->ends[rank].text, sizeof d->ends[rank].text, "%s",
             gw_comm_error(comm)->text);
    gw_comm_destroy(&comm);
    _exit(0);
}

static pid_t start_rank(struct death *d, unsigned rank, const char *rendezvous)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        rank_main(d, rank, rendezvous);
    return pid;
}

static struct death *new_death(void)
{
    struct death *d = mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(d, MAP_FAILED);
    return d;
}

static void check_end(const struct death *d, unsigned rank, unsigned dead)
{
    char name[16];
    snprintf(name, sizeof name, "rank %u", dead);
    ck_assert_msg(d->ends[rank].code == GW_ELOST &&
                      strstr(d->ends[rank].text, name),
                  "rank %u: %s: %s", rank, gw_err_name(d->ends[rank].code),
                  d->ends[rank].text);
}

static void start_both(struct death *d, pid_t pids[2])
{
    char rendezvous[80];
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-private-%d-%p",
             (int)getpid(), (void *)d);
    for (unsigned r = 0; r < 2; r++)
        pids[r] = start_rank(d, r, rendezvous);
}

START_TEST(the_owner_dies_before_its_memory_is_copied)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    struct death *d = new_death();
    pid_t pids[2];
    int status;
    d->reader = "shm.load=pause:300";
    start_both(d, pids);
    while (atomic_load(&d->counts[GW__AT_SHM_LOAD]) == 0)
        nanosleep(&pause, NULL);
    kill(pids[0], SIGKILL);
    ck_assert_int_eq(waitpid(pids[0], &status, 0), pids[0]);
    ck_assert_int_eq(waitpid(pids[1], &status, 0), pids[1]);
    ck_assert_int_eq(status, 0);
    check_end(d, 1, 0);
    munmap(d, sizeof *d);
}
END_TEST

START_TEST(the_reader_dies_before_it_copies)
{
    struct death *d = new_death();
    pid_t pids[2];
    int status;
    d->reader = "shm.load=kill";
    start_both(d, pids);
    ck_assert_int_eq(waitpid(pids[1], &status, 0), pids[1]);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(waitpid(pids[0], &status, 0), pids[0]);
    ck_assert_int_eq(status, 0);
    check_end(d, 0, 1);
    munmap(d, sizeof *d);
}
END_TEST

static void read_missing(struct gw_comm *comm, void *context)
{
    unsigned rank = gw_comm_rank(comm);
    uint8_t *memory = malloc(BYTES);
    comm->copies_from = 0;
    enum gw_err err = gw_broadcast(comm, rank == 0 ? context : NULL,
                                   rank == 0 ? NULL : memory, BYTES, GW_U8, 0);
    if (err != GW_EINVAL ||
        !strstr(gw_comm_error(comm)->text, "must stay allocated")) {
        fprintf(stderr, "rank %u: %s: %s\n", rank, gw_err_name(err),
                gw_comm_error(comm)->text);
        abort();
    }
    free(memory);
}

START_TEST(a_buffer_that_is_not_allocated_is_reported)
{
    static const struct gw_comm_config config = {.wire = "shm"};
    uint8_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ck_assert_int_eq(mprotect(memory + BYTES / 2, BYTES / 2, PROT_NONE), 0);
    run_ranks(&config, 2, read_missing, memory);
    munmap(memory, BYTES);
}
END_TEST

Suite *suite_coll_private(void);

Suite *suite_coll_private(void)
{
    Suite *suite = suite_create("coll private");
    TCase *tcase = tcase_create("memory");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, private_memory_is_copied);
    tcase_add_test(tcase, private_memory_is_staged_where_copies_are_refused);
    tcase_add_test(tcase, copies_are_counted);
    tcase_add_test(tcase, the_owner_dies_before_its_memory_is_copied);
    tcase_add_test(tcase, the_reader_dies_before_it_copies);
    tcase_add_test(tcase, a_buffer_that_is_not_allocated_is_reported);
    suite_add_tcase(suite, tcase);
    return suite;
}
