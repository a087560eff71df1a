/* SPDX-License-Identifier: MIT
 *
 * The end of a controllers' log whose disk does not answer: several writes are
 * under way, and closing cancels them, in any order. libraft 0.15 crashes if it
 * is notified of them one by one; raft_log_io.c prevents that.
 */
#include "logs.h"

#include <cluster/raft/raft_log_parts.h>

#include <stdatomic.h>
#include <time.h>

Suite *suite_raft_log_cancelled(void);

enum { WRITES = 4 };

static const unsigned sequences[][WRITES] = {
    {0, 1, 2, 3}, {3, 2, 1, 0}, {1, 2, 3, 0}, {2, 0, 3, 1}};

static struct logs logs;
static const unsigned *order;
static atomic_bool stuck;
static atomic_uint writes;
static struct {
    struct raft_io_append *request;
    raft_io_append_cb done;
} in_flight[WRITES];

static int (*true_append)(struct raft_io *, struct raft_io_append *,
                          const struct raft_entry *, unsigned,
                          raft_io_append_cb);
static void (*true_close)(struct raft_io *, raft_io_close_cb);

static int append(struct raft_io *io, struct raft_io_append *request,
                  const struct raft_entry entries[], unsigned count,
                  raft_io_append_cb done)
{
    if (!atomic_load(&stuck))
        return true_append(io, request, entries, count, done);
    unsigned n = atomic_load(&writes);
    ck_assert_uint_lt(n, WRITES);
    in_flight[n].request = request;
    in_flight[n].done = done;
    atomic_store(&writes, n + 1);
    return 0;
}

static void cancel_and_close(struct raft_io *io, raft_io_close_cb closed)
{
    for (unsigned i = 0; i < WRITES; i++)
        in_flight[order[i]].done(in_flight[order[i]].request, RAFT_CANCELED);
    true_close(io, closed);
}

/* It has waited long enough. */
static void opened(struct gw__raft_log *log)
{
    true_append = log->back.append;
    true_close = log->back.close;
    log->back.append = append;
    log->back.close = cancel_and_close;
    log->checks = UINT32_MAX - 1;
}

START_TEST(writes_are_cancelled_in_any_order)
{
    const struct timespec a_little = {.tv_nsec = 1000000};
    order = sequences[_i];
    logs_begin(&logs, 1);
    logs.opened = opened;
    logs_open(&logs, 0);
    unsigned leader = logs_leader(&logs);
    logs_propose(&logs, leader, 1);
    logs_await(&logs, 0, 1);
    atomic_store(&stuck, true);
    for (unsigned i = 0; i < WRITES; i++) {
        logs_propose(&logs, leader, 2 + i);
        while (atomic_load(&writes) <= i)
            nanosleep(&a_little, NULL);
    }
    logs_close(&logs, 0);
    atomic_store(&stuck, false);
    logs.opened = NULL;
    logs_open(&logs, 0); /* the pending entries are not on disk */
    leader = logs_leader(&logs);
    logs_propose(&logs, leader, 2);
    logs_await(&logs, 0, 2);
    logs_check(&logs, 0);
    logs_end(&logs);
}
END_TEST

Suite *suite_raft_log_cancelled(void)
{
    Suite *suite = suite_create("raft_log_cancelled");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, writes_are_cancelled_in_any_order, 0,
                        sizeof sequences / sizeof *sequences);
    suite_add_tcase(suite, t);
    return suite;
}
