/* SPDX-License-Identifier: MIT
 *
 * The part of an action for which tests/tools/entered.sh counts source files:
 * the coverage counters are cleared right before it and written right after it.
 *
 *     entered first        the first all-reduce of a communicator, 2 ranks, shm
 *     entered repeated     the same call again
 *     entered push         a push until it is acknowledged, 2 servers, 2
 *                          replicas
 *     entered death        a ring of 3: from the death of a member to the
 *                          result of the op that it left, at a survivor
 *
 * Built with --coverage. The other processes of an action end by SIGKILL, so
 * that only one process writes its counters.
 */
#include "ring_members.h"

#include <gradwire/gradwire.h>

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void __gcov_reset(void);
void __gcov_dump(void);

static void check(enum gw_err err, const struct gw_error *why)
{
    if (!err)
        return;
    fprintf(stderr, "entered: %s\n", why->text);
    kill(0, SIGKILL);
}

/* Writes the counters and ends all processes. */
_Noreturn static void done(void)
{
    __gcov_dump();
    kill(0, SIGKILL);
    _exit(1);
}

static void measure_allreduce(bool repeated)
{
    static float data[1024], sum[1024];
    char rendezvous[64];
    struct gw_error why = {0};
    struct gw_comm *comm;
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gw-entered-%ld",
             (long)getpid());
    unsigned rank = fork() == 0 ? 1 : 0;
    const struct gw_comm_config config = {
        .rank = rank, .size = 2, .rendezvous = rendezvous};
    check(gw_comm_create(&config, &comm, &why), &why);
    if (repeated)
        check(gw_allreduce(comm, data, sum, 1024, GW_F32, GW_SUM), &why);
    __gcov_reset();
    check(gw_allreduce(comm, data, sum, 1024, GW_F32, GW_SUM), &why);
    if (rank == 0)
        done();
    pause();
}

static void measure_push(void)
{
    static const uint64_t keys[] = {1, 2, 3};
    static const float values[] = {1, 2, 3};
    const struct gw_ps_cluster_config config = {.servers = 2, .replicas = 2};
    const struct gw_ps_table_config table_config = {.name = "t", .width = 1};
    struct gw_ps_cluster *cluster;
    struct gw_ps_config client = {0};
    struct gw_error why = {0};
    struct gw_ps *ps;
    unsigned table;
    check(gw_ps_cluster_start(&config, &cluster, &why), &why);
    gw_ps_cluster_client(cluster, &client);
    check(gw_ps_connect(&client, &ps, &why), &why);
    check(gw_ps_table(ps, &table_config, &table, &why), &why);
    check(gw_ps_push(ps, table, keys, 3, values, NULL, &why), &why);
    __gcov_reset();
    check(gw_ps_push(ps, table, keys, 3, values, NULL, &why), &why);
    done();
}

/* One turn of a member: node 2 counts from its op 20 on, in which node 0 dies.
 * It was started last, so it knows the pids of the others. */
static enum gw_err turn(struct ring_members *members, struct gw_ring *ring,
                        struct gw_error *why)
{
    static uint64_t epoch;
    struct member_process *process = member_process(members, members->number);
    struct gw_ring_status status;
    gw_ring_status(ring, &status);
    if (members->node == 2 && atomic_load(&process->ops) == 20) {
        epoch = status.epoch;
        __gcov_reset();
        kill(members->pids[0], SIGKILL);
    }
    enum gw_err err = members_run_op(members, ring, why);
    if (members->node == 2 && epoch && atomic_load(&process->epoch) > epoch) {
        __gcov_dump();
        _exit(0);
    }
    return err;
}

/* As a test, since the members' conditions are assertions. */
START_TEST(death)
{
    static struct ring_members members;
    const struct members_plan plan = {
        .members = 3, .processes = 3, .count = 1000, .turn = turn};
    ring_members_start(&members, &plan);
    waitpid(members.pids[2], NULL, 0);
    members.pids[2] = 0;
    members_stop(&members);
    kill(0, SIGKILL);
}
END_TEST

static void measure_death(void)
{
    Suite *suite = suite_create("death");
    TCase *tests = tcase_create("death");
    tcase_add_test(tests, death);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    srunner_free(runner);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    setpgid(0, 0);
    if (strcmp(what, "first") == 0 || strcmp(what, "repeated") == 0)
        measure_allreduce(*what == 'r');
    else if (strcmp(what, "push") == 0)
        measure_push();
    else if (strcmp(what, "death") == 0)
        measure_death();
    fprintf(stderr, "entered: first, repeated, push or death\n");
    return 64;
}
