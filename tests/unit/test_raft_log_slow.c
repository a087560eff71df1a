/* SPDX-License-Identifier: MIT
 *
 * The controllers' log on slow disks: a write of a follower ends after the
 * follower has lost or changed its leader. Writes of entries or of a snapshot
 * are delayed, the leader ends, and each write ends at the worst moment: when
 * the follower knows a candidate of a new term but no leader; when the next
 * leader is known; or after so long a silence that the follower would be a
 * candidate itself. In the first and the last case libraft 0.15 crashes;
 * raft_log_io.c prevents that.
 *
 * In the second case the old leader's entries must not be acknowledged: the new
 * leader would take that for an answer to its own message.
 */
#include "logs.h"

#include <cluster/raft/raft_log_parts.h>

#include <stdatomic.h>
#include <string.h>
#include <time.h>

Suite *suite_raft_log_slow(void);

enum moment { NO_LEADER, ANOTHER_LEADS, SILENCE, WHEN_QUICK };

enum { SILENT_MS = 2 * 2 * LOGS_ELECTION_MS }; /* twice the longest silence */

static struct logs logs;
static enum moment moment;

/* State of a disk. Non-atomic fields belong to the log's thread. */
static struct disk {
    atomic_bool slow;
    atomic_uint held, let_go, completed; /* writes; results in let_go() */
    atomic_uint candidates;              /* writes ended while not a follower */
    _Atomic raft_term held_term;         /* 0: no delayed write */
    bool letting_go;
} disks[LOGS];

static int (*quick_append)(struct raft_io *, struct raft_io_append *,
                           const struct raft_entry *, unsigned,
                           raft_io_append_cb);
static int (*quick_put)(struct raft_io *, unsigned,
                        struct raft_io_snapshot_put *,
                        const struct raft_snapshot *, raft_io_snapshot_put_cb);
static int (*true_send)(struct raft_io *, struct raft_io_send *,
                        const struct raft_message *, raft_io_send_cb);

/* ---- a delayed write, of entries or of a snapshot ---- */

struct held {
    struct gw__raft_log *log;
    struct disk *disk;
    raft_term term; /* the term at its start */
    uint64_t since_ms;
    int status;
    uv_check_t check;
    struct raft_io_append append, *outer_append;
    raft_io_append_cb appended;
    struct raft_io_snapshot_put put, *outer_put;
    raft_io_snapshot_put_cb have_put;
};

static void forget(uv_handle_t *check)
{
    raft_free(check->data);
}

static void let_go(struct held *held)
{
    if (raft_state(&held->log->raft) != RAFT_FOLLOWER)
        atomic_fetch_add(&held->disk->candidates, 1);
    held->disk->letting_go = true;
    if (held->outer_append)
        held->appended(held->outer_append, held->status);
    else
        held->have_put(held->outer_put, held->status);
    held->disk->letting_go = false;
    atomic_store(&held->disk->held_term, 0);
    atomic_fetch_add(&held->disk->let_go, 1);
}

/* Also true if the disk is not slow any more. */
static bool moment_is_here(const struct held *held)
{
    struct raft *raft = &held->log->raft;
    raft_id leader;
    const char *address;
    if (!atomic_load(&held->disk->slow))
        return true;
    if (moment == WHEN_QUICK)
        return false;
    if (moment == SILENCE)
        return raft_state(raft) == RAFT_CANDIDATE ||
               uv_now(&held->log->loop) >= held->since_ms + SILENT_MS;
    raft_leader(raft, &leader, &address);
    return raft->current_term > held->term &&
           raft_state(raft) == RAFT_FOLLOWER &&
           (leader == 0) == (moment == NO_LEADER);
}

static void check_moment(uv_check_t *handle)
{
    struct held *held = handle->data;
    if (!moment_is_here(held))
        return;
    uv_check_stop(handle);
    let_go(held);
    uv_close((uv_handle_t *)handle, forget);
}

static struct held *hold(struct raft_io *io)
{
    struct held *held = raft_calloc(1, sizeof *held);
    struct raft *raft = io->data;
    held->log = raft->data;
    held->disk = &disks[held->log->config.index];
    held->term = raft->current_term;
    held->append.data = held->put.data = held->check.data = held;
    return held;
}

static void written(struct held *held, int status)
{
    held->status = status;
    held->since_ms = uv_now(&held->log->loop);
    atomic_store(&held->disk->held_term, held->term);
    uv_check_init(&held->log->loop, &held->check);
    uv_check_start(&held->check, check_moment);
    atomic_fetch_add(&held->disk->held, 1);
}

static void appended(struct raft_io_append *request, int status)
{
    written(request->data, status);
}

static int slow_append(struct raft_io *io, struct raft_io_append *request,
                       const struct raft_entry entries[], unsigned count,
                       raft_io_append_cb done)
{
    struct held *held = hold(io);
    held->outer_append = request;
    held->appended = done;
    return quick_append(io, &held->append, entries, count, appended);
}

static void have_put(struct raft_io_snapshot_put *request, int status)
{
    written(request->data, status);
}

static int slow_put(struct raft_io *io, unsigned trailing,
                    struct raft_io_snapshot_put *request,
                    const struct raft_snapshot *snapshot,
                    raft_io_snapshot_put_cb done)
{
    struct held *held = hold(io);
    held->outer_put = request;
    held->have_put = done;
    return quick_put(io, trailing, &held->put, snapshot, have_put);
}

/* Delays messages of a new leader while the test needs a term without one. */
static bool too_early(const struct raft_message *message)
{
    struct disk *to = &disks[(message->server_id - 1) % LOGS];
    raft_term term = atomic_load(&to->held_term);
    return message->type == RAFT_IO_APPEND_ENTRIES && moment == NO_LEADER &&
           atomic_load(&to->slow) && term > 0 &&
           message->append_entries.term > term;
}

static int observed_send(struct raft_io *io, struct raft_io_send *request,
                         const struct raft_message *message,
                         raft_io_send_cb done)
{
    struct raft *raft = io->data;
    struct gw__raft_log *log = raft->data;
    struct disk *disk = &disks[log->config.index];
    if (message->type == RAFT_IO_APPEND_ENTRIES_RESULT && disk->letting_go &&
        atomic_load(&disk->slow))
        atomic_fetch_add(&disk->completed, 1);
    if (too_early(message))
        return RAFT_NOCONNECTION;
    return true_send(io, request, message, done);
}

static void opened(struct gw__raft_log *log)
{
    if (!quick_append) { /* all logs share them */
        quick_append = log->back.append;
        quick_put = log->back.snapshot_put;
        true_send = log->back.send;
    }
    log->back.append = slow_append;
    log->back.snapshot_put = slow_put;
    log->back.send = observed_send;
}

/* ---- the tests ---- */

static const struct timespec a_little = {.tv_nsec = 1000000};

static void await(atomic_uint *counter, unsigned least, const char *what)
{
    uint64_t until_ns = gw_now_ns() + 20000000000U;
    while (atomic_load(counter) < least) {
        ck_assert_msg(gw_now_ns() < until_ns, "%s: %u of %u", what,
                      atomic_load(counter), least);
        nanosleep(&a_little, NULL);
    }
}

static void begin(enum moment when)
{
    moment = when;
    logs_begin(&logs, 3);
    logs.opened = opened;
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
}

static void slow_down(unsigned i)
{
    atomic_store(&disks[i].held, 0);
    atomic_store(&disks[i].let_go, 0);
    atomic_store(&disks[i].completed, 0);
    atomic_store(&disks[i].candidates, 0);
    atomic_store(&disks[i].slow, true);
}

/* All disks are fast again. */
static void catch_up(uint64_t index)
{
    for (unsigned i = 0; i < 3; i++)
        atomic_store(&disks[i].slow, false);
    logs_propose(&logs, logs_leader(&logs), index);
    for (unsigned i = 0; i < 3; i++)
        if (logs.logs[i].log) {
            logs_await(&logs, i, index);
            logs_check(&logs, i);
        }
}

static void end(uint64_t index)
{
    catch_up(index);
    logs_end(&logs);
}

/* One of the two becomes a candidate and then the leader; the write of the
 * other ends. */
START_TEST(a_write_may_end_when_its_leader_is_no_more)
{
    begin((enum moment)_i);
    unsigned leader = logs_leader(&logs);
    unsigned a = (leader + 1) % 3, b = (leader + 2) % 3;
    uint64_t until_ns = gw_now_ns() + 20000000000U;
    logs_propose(&logs, leader, 1);
    for (unsigned i = 0; i < 3; i++)
        logs_await(&logs, i, 1);
    slow_down(a);
    slow_down(b);
    logs_propose(&logs, leader, 2);
    await(&disks[a].held, 1, "held");
    await(&disks[b].held, 1, "held");
    logs_close(&logs, leader);
    while (!atomic_load(&disks[a].let_go) && !atomic_load(&disks[b].let_go)) {
        ck_assert(gw_now_ns() < until_ns);
        nanosleep(&a_little, NULL);
    }
    ck_assert_uint_eq(atomic_load(&disks[a].completed), 0);
    ck_assert_uint_eq(atomic_load(&disks[b].completed), 0);
    end(3);
}
END_TEST

/* One of the logs misses 1700 entries, so it gets a snapshot. */
static unsigned fall_behind(unsigned *leader)
{
    unsigned late = (logs_leader(&logs) + 1) % 3;
    logs_close(&logs, late);
    *leader = logs_fill(&logs, 1700);
    slow_down(late);
    logs_open(&logs, late);
    await(&disks[late].held, 1, "held");
    return late;
}

/* The old leader comes back, so a leader is elected without the vote of the
 * late log. That leader sends a snapshot, too, which the late log has no time
 * for; but it must learn of the leader. */
START_TEST(a_snapshot_may_have_been_put_when_another_leads)
{
    begin(ANOTHER_LEADS);
    unsigned leader, late = fall_behind(&leader);
    logs_close(&logs, leader);
    logs_open(&logs, leader);
    await(&disks[late].let_go, 1, "let go");
    ck_assert_uint_eq(logs_sight(&logs, late)->snapshots, 1);
    ck_assert_uint_eq(atomic_load(&disks[late].completed), 1);
    end(1701);
}
END_TEST

/* libraft uses the snapshot before it is on disk, so the log could become
 * leader with it. */
START_TEST(who_puts_a_snapshot_is_no_candidate)
{
    begin(SILENCE);
    unsigned leader, late = fall_behind(&leader);
    for (unsigned i = 0; i < 3; i++)
        if (i != late)
            logs_close(&logs, i);
    await(&disks[late].let_go, 1, "let go");
    ck_assert_uint_eq(atomic_load(&disks[late].candidates), 0);
    ck_assert_uint_eq(logs_sight(&logs, late)->snapshots, 1);
    for (unsigned i = 0; i < 3; i++)
        if (i != late)
            logs_open(&logs, i);
    end(1701);
}
END_TEST

/* ---- a disk that does not answer ---- */

static atomic_uint notices, end_notices;

static void on_notice(void *context, const char *sentence)
{
    (void)context;
    if (strstr(sentence, "its disk has not finished a write for 1000 ms"))
        atomic_fetch_add(&notices, 1);
    if (strstr(sentence, "its disk has finished its writes"))
        atomic_fetch_add(&end_notices, 1);
}

static void begin_quick(void)
{
    gw_notice_to(on_notice, NULL);
    begin(WHEN_QUICK);
    logs_propose(&logs, logs_leader(&logs), 1);
    for (unsigned i = 0; i < 3; i++)
        logs_await(&logs, i, 1);
}

/* A log reports that its disk is fast again soon after its entries. */
static void end_quick(uint64_t index)
{
    catch_up(index);
    await(&end_notices, 1, "said");
    logs_end(&logs);
    ck_assert_uint_eq(atomic_load(&end_notices), 1);
}

/* Otherwise libraft would commit nothing, and no other log would lead. */
START_TEST(a_leader_whose_disk_hangs_leaves_the_lead)
{
    begin_quick();
    unsigned slow = logs_leader(&logs), next;
    slow_down(slow);
    logs_propose(&logs, slow, 2);
    uint64_t until_ns = gw_now_ns() + 20000000000U;
    while ((next = logs_leader(&logs)) == slow)
        ck_assert_msg(gw_now_ns() < until_ns, "it leads still");
    ck_assert_uint_eq(atomic_load(&notices), 1);
    ck_assert_uint_eq(atomic_load(&disks[slow].let_go), 0);
    logs_await(&logs, next, 2);
    logs_propose(&logs, next, 3);
    logs_await(&logs, (slow + 1) % 3, 3);
    logs_await(&logs, (slow + 2) % 3, 3);
    end_quick(4);
}
END_TEST

/* A slow follower delays no other log, and reports its disk. */
START_TEST(a_follower_whose_disk_hangs_delays_no_other)
{
    begin_quick();
    unsigned leader = logs_leader(&logs), slow = (leader + 1) % 3;
    slow_down(slow);
    for (uint64_t n = 2; n < 30; n++) {
        logs_propose(&logs, leader, n);
        logs_await(&logs, leader, n);
    }
    await(&notices, 1, "said");
    raft_term term = logs.logs[leader].log->raft.current_term;
    ck_assert_uint_eq(logs_leader(&logs), leader);
    ck_assert_uint_eq(logs.logs[leader].log->raft.current_term, term);
    end_quick(30);
}
END_TEST

Suite *suite_raft_log_slow(void)
{
    Suite *suite = suite_create("raft_log_slow");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_write_may_end_when_its_leader_is_no_more,
                        NO_LEADER, ANOTHER_LEADS + 1);
    tcase_add_test(t, a_snapshot_may_have_been_put_when_another_leads);
    tcase_add_test(t, who_puts_a_snapshot_is_no_candidate);
    tcase_add_test(t, a_leader_whose_disk_hangs_leaves_the_lead);
    tcase_add_test(t, a_follower_whose_disk_hangs_delays_no_other);
    suite_add_tcase(suite, t);
    return suite;
}
