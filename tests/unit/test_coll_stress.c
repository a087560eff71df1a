/* SPDX-License-Identifier: MIT
 *
 * Random calls over every wire, by threads and by processes, with fewer and
 * with more ranks than cores, each result checked. A few seconds; longer with
 * GRADWIRE_STRESS_SECONDS=60, which is the sum of all cases.
 */
#include "ranks.h"
#include "stress.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct stress_case {
    const char *name, *wire;
    bool no_windows, processes;
    unsigned ranks; /* 0: 2 to 6 */
};

static const struct stress_case cases[] = {
    {"stress windows", "shm", false, false, 0},
    {"stress shm", "shm", true, false, 0},
    {"stress ipc", "ipc", false, false, 0},
    {"stress tcp", "tcp", false, false, 0},
    {"stress windows of processes", "shm", false, true, 0},
    {"stress shm of processes", "shm", true, true, 0},
    {"stress a crowd", "shm", false, false, 12},
};
enum { CASES = sizeof cases / sizeof *cases };

static void run(struct gw_comm *comm, void *context)
{
    stress_run(comm, context);
}

static void run_processes(const struct gw_comm_config *common, unsigned ranks,
                          const struct stress *stress)
{
    char rendezvous[80];
    pid_t pids[16];
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-stress-%d-%llx",
             (int)getpid(), (unsigned long long)stress->seed);
    for (unsigned r = 0; r < ranks; r++) {
        pids[r] = fork();
        ck_assert_int_ge(pids[r], 0);
        if (pids[r] > 0)
            continue;
        struct gw_comm_config config = *common;
        struct gw_comm *comm;
        struct gw_error why;
        config.rank = r;
        config.size = ranks;
        config.rendezvous = rendezvous;
        if (gw_comm_create(&config, &comm, &why)) {
            fprintf(stderr, "%s\n", why.text);
            _exit(1);
        }
        stress_run(comm, stress);
        gw_comm_destroy(&comm);
        _exit(0);
    }
    for (unsigned r = 0; r < ranks; r++) {
        int status;
        ck_assert_int_eq(waitpid(pids[r], &status, 0), pids[r]);
        ck_assert_msg(status == 0, "rank %u ended with status %x, seed %llu", r,
                      (unsigned)status, (unsigned long long)stress->seed);
    }
}

/* A run is determined by its seed. */
static void run_case(const struct stress_case *c, struct stress *stress)
{
    static const size_t slices[] = {0, 256, 4096};
    struct gw_rng rng;
    gw_rng_seed(&rng, stress->seed);
    size_t slice_bytes = slices[gw_rng_below(&rng, 3)];
    unsigned ranks = 2 + (unsigned)gw_rng_below(&rng, 5);
    struct gw_comm_config config = {.wire = c->wire,
                                    .no_windows = c->no_windows,
                                    .slice_bytes = slice_bytes};
    stress->slice_bytes = slice_bytes ? slice_bytes : 131072;
    if (c->processes)
        run_processes(&config, c->ranks ? c->ranks : ranks, stress);
    else
        run_ranks(&config, c->ranks ? c->ranks : ranks, run, stress);
}

START_TEST(random_calls_are_right)
{
    double seconds = stress_seconds(3) / CASES;
    unsigned runs = (unsigned)(seconds / 2) + 1;
    uint64_t seed = stress_seed();
    for (unsigned i = 0; i < runs; i++) {
        struct stress stress = {.seed = seed + i, .seconds = seconds / runs};
        run_case(&cases[_i], &stress);
    }
}
END_TEST

Suite *suite_coll_stress(void);

Suite *suite_coll_stress(void)
{
    Suite *suite = suite_create("coll stress");
    for (int i = 0; i < CASES; i++) {
        TCase *tcase = tcase_create(cases[i].name);
        tcase_set_timeout(tcase, 60 + 2 * stress_seconds(0));
        tcase_add_loop_test(tcase, random_calls_are_right, i, i + 1);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}
