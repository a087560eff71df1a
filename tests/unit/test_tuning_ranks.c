/* SPDX-License-Identifier: MIT
 *
 * Rules of the calibration file between ranks: all ranks use those of rank 0,
 * whatever their own files contain, and data of other processes is checked.
 */
#include "coll/cost/tuning_table.h"

#include <gradwire/gradwire.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_tuning_ranks(void);

/* Values of other processes are checked before they are used as indices. */
START_TEST(received_entries_are_checked)
{
    struct gw__tuning_table received = {.count = UINT64_MAX}, applied;
    size_t algos;
    (void)gw_algo_list(&algos);
    for (unsigned i = 0; i < GW__TUNING_TABLE_MAX; i++)
        received.list[i] = (struct gw__tuning_entry){0, UINT64_MAX, algos + i};
    received.list[5].algo = 0;
    gw__tuning_table_adopt(&applied, &received);
    ck_assert_uint_eq(applied.count, 1);
    ck_assert_uint_eq(applied.list[0].algo, 0);
}
END_TEST

START_TEST(a_communicator_takes_as_many_as_it_can)
{
    json_t *file =
        json_pack("{s:{s:{s:[]}}}", "tuning_rules", "tcp", "allreduce");
    json_t *entries = json_object_get(
        json_object_get(json_object_get(file, "tuning_rules"), "tcp"),
        "allreduce");
    struct gw__tuning_table table;
    for (int i = 0; i < 2 * GW__TUNING_TABLE_MAX; i++)
        json_array_append_new(entries, json_pack("{s:i,s:i,s:i,s:s}", "ranks",
                                                 4, "from_bytes", i, "to_bytes",
                                                 i, "algo", "ring"));
    gw__tuning_table_of(file, "tcp", 4, &table);
    ck_assert_uint_eq(table.count, GW__TUNING_TABLE_MAX);
    gw__tuning_table_of(file, "tcp", 2, &table);
    ck_assert_uint_eq(table.count, 0);
    json_decref(file);
}
END_TEST

enum { RANKS = 4, COUNT = 256 };

/* Messages that this rank sent during an all-reduce, or -1. */
static int messages_of_call(const char *rendezvous, unsigned rank)
{
    struct gw_comm_config config = {
        .wire = "ipc", .rank = rank, .size = RANKS, .rendezvous = rendezvous};
    struct gw_comm *comm;
    struct gw_error why = {0};
    float in[COUNT] = {1}, out[COUNT];
    uint64_t sent = 0;
    if (gw_comm_create(&config, &comm, &why)) {
        fprintf(stderr, "%s\n", why.text);
        return -1;
    }
    enum gw_err err = gw_allreduce(comm, in, out, COUNT, GW_F32, GW_SUM);
    if (err)
        fprintf(stderr, "%s\n", gw_comm_error(comm)->text);
    for (unsigned peer = 0; peer < RANKS; peer++) {
        struct gw_counters counters;
        gw_comm_counters(comm, peer, &counters);
        sent += counters.messages_sent;
    }
    if (!err)
        err = gw_barrier(comm); /* all have connected before one leaves */
    gw_comm_destroy(&comm);
    return err || out[0] < RANKS || out[0] > RANKS ? -1 : (int)sent;
}

/* In a process of its own: a file with one rule for 4 ranks, and a call. */
static int run_rank(const char *rendezvous, unsigned rank, const char *algo)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/gw-test-winners-%d.json", (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    fprintf(file,
            "{\"tuning_rules\":{\"ipc\":{\"allreduce\":[{\"ranks\":4,"
            "\"from_bytes\":0,\"to_bytes\":4096,\"algo\":\"%s\"}]}}}",
            algo);
    fclose(file);
    setenv("GRADWIRE_CALIBRATION", path, 1);
    int sent = messages_of_call(rendezvous, rank);
    unlink(path);
    return sent;
}

/* Rank 0's file chooses `first`, those of the others `others`. Each rank must
 * send as many messages as `first` does. */
static void run_with_files(const char *first, const char *others, int messages)
{
    char rendezvous[64];
    pid_t ranks[RANKS];
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-winners-%d-%s",
             (int)getpid(), first);
    for (unsigned r = 0; r < RANKS; r++) {
        ranks[r] = fork();
        ck_assert_int_ge(ranks[r], 0);
        if (ranks[r] == 0)
            _exit(run_rank(rendezvous, r, r == 0 ? first : others) != messages);
    }
    for (unsigned r = 0; r < RANKS; r++) {
        int status;
        ck_assert_int_eq(waitpid(ranks[r], &status, 0), ranks[r]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                      "rank %u of %s among %s", r, first, others);
    }
}

START_TEST(all_go_by_the_file_of_rank_0)
{
    run_with_files("ring", "recursive_doubling", 2 * (RANKS - 1));
    run_with_files("recursive_doubling", "ring", 2);
    run_with_files("one_shot", "no_such", RANKS - 1);
}
END_TEST

Suite *suite_tuning_ranks(void)
{
    Suite *suite = suite_create("tuning_ranks");
    TCase *ranks = tcase_create("tuning_table_ranks");
    tcase_add_test(ranks, received_entries_are_checked);
    tcase_add_test(ranks, a_communicator_takes_as_many_as_it_can);
    tcase_add_test(ranks, all_go_by_the_file_of_rank_0);
    suite_add_tcase(suite, ranks);
    return suite;
}
