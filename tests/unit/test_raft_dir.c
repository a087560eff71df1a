/* SPDX-License-Identifier: MIT
 *
 * The check of a controller's directory before the start. One damaged bit is
 * reported with its file and entry. A torn write that was never acknowledged is
 * cut off, with a notice; the same bytes are damage if they were acknowledged.
 * With the loss accepted, the entries before it remain. libraft writes the
 * segments.
 */
#include "logs.h"

#include <cluster/raft/raft_dir.h>
#include <cluster/raft/raft_log_parts.h>
#include <cluster/raft/raft_segment.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_raft_dir(void);

enum { ENTRIES = 20, SECTOR = 512 };

static struct logs logs;
static struct gw_error why;
static char path[128]; /* of the directory */
static char notices[4096];

static void on_notice(void *context, const char *sentence)
{
    (void)context;
    size_t used = strlen(notices);
    snprintf(notices + used, sizeof notices - used, "%s\n", sentence);
}

static void setup(void)
{
    logs_begin(&logs, 1);
    logs_path(&logs, 0, path);
    notices[0] = 0;
    gw_notice_to(on_notice, NULL);
}

static void teardown(void)
{
    gw_notice_to(NULL, NULL);
    logs_end(&logs);
}

/* A process that ends as if killed, after entries `first` to `last`. */
static void live_and_die(uint64_t first, uint64_t last)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        logs_open(&logs, 0);
        logs_leader(&logs);
        for (uint64_t n = first; n <= last; n++)
            logs_propose(&logs, 0, n);
        logs_await(&logs, 0, last);
        kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int open_file(const char *name)
{
    char file[256];
    snprintf(file, sizeof file, "%s/%s", path, name);
    int fd = open(file, O_RDWR);
    ck_assert_msg(fd >= 0, "%s", file);
    return fd;
}

static void write_at(const char *name, size_t at, const void *bytes,
                     size_t size)
{
    int fd = open_file(name);
    ck_assert_int_eq(pwrite(fd, bytes, size, (off_t)at), (ssize_t)size);
    close(fd);
}

static void flip(const char *name, size_t at)
{
    uint8_t byte;
    int fd = open_file(name);
    ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
    close(fd);
    byte ^= 1;
    write_at(name, at, &byte, 1);
}

static enum gw_err check(bool accept_loss)
{
    struct gw__raft_ack *ack;
    enum gw_err err = gw__raft_dir_check(path, accept_loss, &ack, &why);
    gw__raft_ack_close(&ack);
    return err;
}

static void check_refused(const char *sentence)
{
    ck_assert_int_eq(check(false), GW_EDATA);
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
    ck_assert_ptr_nonnull(strstr(why.text, path));
    ck_assert_str_eq(notices, "");
}

/* The batches of the open segment, and the beginning of the last one. */
static size_t read_open(const char *name, struct gw__raft_segment *s,
                        unsigned *batches)
{
    static uint8_t bytes[GW__RAFT_SEGMENT_BYTES];
    size_t last = 0;
    int fd = open_file(name);
    ck_assert_int_eq(read(fd, bytes, sizeof bytes), sizeof bytes);
    close(fd);
    *batches = 0;
    gw__raft_segment_begin(s, bytes, sizeof bytes, true);
    while (gw__raft_segment_next(s) == GW__BATCH_WHOLE) {
        last = s->at;
        ++*batches;
    }
    return last;
}

START_TEST(what_libraft_writes_is_read)
{
    struct gw__raft_segment s;
    unsigned batches, entries = 0;
    size_t data_at;
    uint64_t number;
    live_and_die(1, ENTRIES);
    read_open("open-1", &s, &batches);
    ck_assert_uint_gt(batches, 1);
    gw__raft_segment_begin(&s, s.bytes, s.size, true);
    while (gw__raft_segment_next(&s) == GW__BATCH_WHOLE)
        for (unsigned i = (unsigned)(data_at = 0); i < s.count; i++) {
            const uint8_t *data = s.data + data_at;
            struct gw__raft_segment_entry entry =
                gw__raft_segment_entry(&s, i, &data_at);
            ck_assert_uint_eq(entry.term, 1);
            if (entry.type != RAFT_COMMAND)
                continue;
            memcpy(&number, data + 8, sizeof number);
            ck_assert_uint_eq(number, ++entries);
        }
    ck_assert_uint_eq(entries, ENTRIES);
    ck_assert_int_eq(check(false), GW_OK);
    ck_assert_str_eq(notices, "");
}
END_TEST

/* At each used byte of the open segment. */
START_TEST(one_bit_is_named)
{
    struct gw__raft_segment s;
    unsigned batches;
    live_and_die(1, ENTRIES);
    read_open("open-1", &s, &batches);
    for (size_t at = 0; at < s.at; at += 3) {
        flip("open-1", at);
        check_refused("/open-1: byte ");
        ck_assert_ptr_nonnull(strstr(why.text, "entry "));
        ck_assert_ptr_nonnull(strstr(why.text, "the leading controller"));
        flip("open-1", at);
    }
    ck_assert_int_eq(check(false), GW_OK);
}
END_TEST

START_TEST(a_shorter_log_is_refused)
{
    struct gw__raft_segment s;
    unsigned batches;
    live_and_die(1, ENTRIES);
    size_t last = read_open("open-1", &s, &batches);
    int fd = open_file("open-1");
    const size_t sizes[] = {700, last, 8, 7, 0};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_int_eq(ftruncate(fd, (off_t)sizes[i]), 0);
        check_refused(path);
    }
    close(fd);
}
END_TEST

/* The whole file is exchanged for that of another log with as many entries. */
START_TEST(entries_of_another_log_are_refused)
{
    char saved[400], file[160];
    live_and_die(1, 9);
    live_and_die(10, 18);
    snprintf(file, sizeof file, "%s/open-1", path);
    snprintf(saved, sizeof saved, "%s/aside", path);
    ck_assert_int_eq(rename(file, saved), 0);
    check_refused("are missing at the end of the log");
    snprintf(file, sizeof file, "%s/open-7", path);
    ck_assert_int_eq(rename(saved, file), 0);
    ck_assert_int_eq(check(false), GW_OK);
    snprintf(saved, sizeof saved, "cp %s %s/open-9", file, path);
    ck_assert_int_eq(system(saved), 0);
    check_refused("/open-9: byte 0: entry ");
    ck_assert_ptr_nonnull(strstr(why.text, "the same entries as in open-7"));
}
END_TEST

/* ---- torn ---- */

/* Appends a batch of several sectors as libraft would, but writes only the
 * sectors from `from` to `to`. */
static void tear(size_t at, size_t from, size_t to)
{
    uint8_t batch[5 * SECTOR], torn[sizeof batch] = {0};
    const uint64_t count = 1, term = 1;
    const uint32_t length = sizeof batch - 32;
    memset(batch, 0x5a, sizeof batch);
    memcpy(batch + 8, &count, 8);
    memcpy(batch + 16, &term, 8);
    memset(batch + 24, 0, 4);
    batch[24] = RAFT_COMMAND;
    memcpy(batch + 28, &length, 4);
    uint32_t crcs[] = {gw__raft_crc(0, batch + 8, 24),
                       gw__raft_crc(0, batch + 32, length)};
    memcpy(batch, crcs, 8);
    for (size_t i = 0; i < sizeof batch; i++)
        if ((at + i) / SECTOR >= at / SECTOR + from &&
            (at + i) / SECTOR < at / SECTOR + to)
            torn[i] = batch[i];
    write_at("open-1", at, torn, sizeof torn);
}

static const struct {
    size_t from, to;
} tears[] = {{0, 1}, {0, 2}, {1, 2}, {2, 9}, {1, 9}};

START_TEST(a_torn_write_is_truncated_and_reported)
{
    struct gw__raft_segment s;
    unsigned batches, after;
    live_and_die(1, ENTRIES);
    read_open("open-1", &s, &batches);
    size_t end = s.at;
    tear(end, tears[_i].from, tears[_i].to);
    ck_assert_int_eq(check(false), GW_OK);
    ck_assert_msg(strstr(notices, "/open-1: byte ") &&
                      strstr(notices, "it was never acknowledged"),
                  "%s", notices);
    read_open("open-1", &s, &after);
    ck_assert_uint_eq(s.at, end);
    ck_assert_uint_eq(after, batches);
    notices[0] = 0;
    live_and_die(ENTRIES + 1, ENTRIES + 2);
    ck_assert_int_eq(check(false), GW_OK);
    ck_assert_str_eq(notices, "");
}
END_TEST

START_TEST(a_write_that_was_whole_once_is_not_torn)
{
    struct gw__raft_segment s;
    unsigned batches;
    live_and_die(1, ENTRIES);
    read_open("open-1", &s, &batches);
    tear(s.at, 0, 9);
    flip("open-1", s.at + 100);
    check_refused("its checksum is wrong");
    tear(s.at, 0, 9);
    ck_assert_int_eq(check(false), GW_OK);
    ck_assert_str_eq(notices, ""); /* acknowledged from here on: */
    tear(s.at, 0, 2);
    check_refused("its checksum is wrong");
}
END_TEST

/* ---- losses ---- */

START_TEST(a_loss_is_accepted_and_reported)
{
    struct gw__raft_segment s;
    unsigned batches;
    char lost[192];
    live_and_die(1, ENTRIES);
    size_t last = read_open("open-1", &s, &batches);
    flip("open-1", last + 10);
    check_refused("/open-1: byte ");
    ck_assert_int_eq(check(true), GW_OK);
    ck_assert_ptr_nonnull(strstr(notices, "this loss is accepted"));
    snprintf(lost, sizeof lost, "%s/lost/open-1", path);
    ck_assert_int_eq(access(lost, F_OK), 0);
    ck_assert_int_eq(check(false), GW_OK);
    logs_open(&logs, 0);
    unsigned leader = logs_leader(&logs);
    ck_assert_uint_eq(raft_last_index(&logs.logs[0].log->raft) > 1, true);
    logs_propose(&logs, leader, 77);
    while (logs_sight(&logs, 0)->count == 0 ||
           logs_sight(&logs, 0)->numbers[logs_sight(&logs, 0)->count - 1] != 77)
        logs_check(&logs, 0);
    const struct log_sight *sight = logs_sight(&logs, 0);
    for (unsigned i = 0; i + 1 < sight->count; i++)
        ck_assert_uint_eq(sight->numbers[i], i + 1);
}
END_TEST

/* A log without a beginning is empty. */
START_TEST(all_may_be_lost)
{
    live_and_die(1, 5);
    flip("0000000000000001-0000000000000001", 30);
    check_refused("/0000000000000001-0000000000000001: byte 8: entry 1: ");
    ck_assert_int_eq(check(true), GW_OK);
    live_and_die(1, 3);
    ck_assert_int_eq(check(false), GW_OK);
}
END_TEST

START_TEST(a_vote_is_not_taken_back)
{
    static const uint64_t older[] = {1, 99, 0, 0};
    live_and_die(1, 5);
    write_at("metadata1", 0, older, sizeof older);
    check_refused(
        "the newest vote has term 0 and is for controller 0, but this "
        "controller was in term 1");
    ck_assert_int_eq(check(true), GW_OK);
    live_and_die(6, 7);
    ck_assert_int_eq(check(false), GW_OK);
}
END_TEST

/* Waits until another entry is committed that log `i` has, too, under any
 * leader. */
static void agree(unsigned i)
{
    uint64_t until_ns = gw_now_ns() + 20000000000U, again_ns = 0;
    unsigned had = logs_sight(&logs, i)->count, leader;
    while ((leader = logs_sight(&logs, i)->leader) == logs.count ||
           !logs.logs[leader].log || logs_sight(&logs, i)->count <= had) {
        ck_assert_msg(gw_now_ns() < until_ns, "they do not agree");
        if (leader == logs.count || !logs.logs[leader].log ||
            gw_now_ns() < again_ns)
            continue;
        logs_propose(&logs, leader, 77);
        again_ns = gw_now_ns() + 500000000;
    }
}

/* A follower removes entries that its leader does not have, and writes
 * others in their place: that is not damage. All logs are killed at
 * arbitrary moments. */
START_TEST(what_a_leader_overrules_is_not_missed)
{
    logs_end(&logs);
    logs_begin(&logs, 3);
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
    for (uint64_t round = 0; round < 3; round++) {
        unsigned leader = logs_leader(&logs);
        for (unsigned i = 0; i < 3; i++)
            gw__raft_log_cut(logs.logs[leader].log, i, i != leader);
        uint64_t until_ns = gw_now_ns() + 10000000000U;
        raft_index last = raft_last_index(&logs.logs[leader].log->raft);
        for (unsigned n = 0; n < 5; n++)
            logs_propose(&logs, leader, 1000 + n);
        while (raft_last_index(&logs.logs[leader].log->raft) < last + 5 &&
               gw_now_ns() < until_ns)
            logs_check(&logs, leader);
        logs_close(&logs, leader);
        agree((leader + 1) % 3);
        logs_open(&logs, leader);
        agree(leader);
    }
    for (unsigned i = 0; i < 3; i++) {
        logs_close(&logs, i);
        logs_path(&logs, i, path);
        ck_assert_msg(check(false) == GW_OK, "%s", why.text);
    }
    ck_assert_str_eq(notices, "");
}
END_TEST

Suite *suite_raft_dir(void)
{
    Suite *suite = suite_create("raft_dir");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_libraft_writes_is_read);
    tcase_add_test(t, one_bit_is_named);
    tcase_add_test(t, a_shorter_log_is_refused);
    tcase_add_test(t, entries_of_another_log_are_refused);
    tcase_add_loop_test(t, a_torn_write_is_truncated_and_reported, 0,
                        sizeof tears / sizeof *tears);
    tcase_add_test(t, a_write_that_was_whole_once_is_not_torn);
    tcase_add_test(t, a_loss_is_accepted_and_reported);
    tcase_add_test(t, all_may_be_lost);
    tcase_add_test(t, a_vote_is_not_taken_back);
    tcase_add_test(t, what_a_leader_overrules_is_not_missed);
    suite_add_tcase(suite, t);
    return suite;
}
