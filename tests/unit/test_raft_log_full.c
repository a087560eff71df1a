/* SPDX-License-Identifier: MIT
 *
 * Controllers' logs on real small disks, a tmpfs each, one of which becomes
 * full during a write. Its controller ends with an error, and the others
 * continue with all acknowledged entries. A start on a full disk fails with an
 * error; and when there is room again the log catches up. Needs root for the
 * mounts.
 */
#include "leaks.h"
#include "logs.h"
#include "skip.h"

#include <cluster/raft/raft_dir.h>
#include <cluster/raft/raft_log_parts.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *suite_raft_log_full(void);

static struct logs logs;

static void path_in(unsigned i, const char *name, char out[160])
{
    char path[128];
    logs_path(&logs, i, path);
    snprintf(out, 160, "%s/%s", path, name);
}

/* False: no permission. Uses a mount namespace of this test's process. */
static bool mount_disks(void)
{
    char path[128];
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        logs_path(&logs, i, path);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        ck_assert_int_eq(mount("none", path, "tmpfs", 0, "size=8m"), 0);
    }
    return true;
}

static void unmount_disks(void)
{
    char path[128];
    for (unsigned i = 0; i < 3; i++) {
        logs_close(&logs, i);
        logs_path(&logs, i, path);
        ck_assert_int_eq(umount(path), 0);
    }
}

static void fill(unsigned i)
{
    static const char bytes[1 << 12] = {1};
    char path[160];
    path_in(i, "filler", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}

static void make_room(unsigned i)
{
    char path[160];
    path_in(i, "filler", path);
    ck_assert_int_eq(unlink(path), 0);
}

static void await_error(unsigned i, const char *sentence)
{
    struct gw_error why = {0};
    uint64_t until_ns = gw_now_ns() + 20000000000U;
    while (gw__raft_log_error(logs.logs[i].log, &why) == GW_OK)
        ck_assert_msg(gw_now_ns() < until_ns, "it goes on");
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
}

/* Proposes entries up to `index`, under any leader, until log `i` has them or
 * has failed. */
static void give(unsigned i, uint64_t index)
{
    struct gw_error why;
    struct gw__raft_log *log = logs.logs[i].log;
    uint64_t again_ns = 0, until_ns = gw_now_ns() + 20000000000U;
    while (!gw__raft_log_error(log, &why) &&
           logs_sight(&logs, i)->index < index) {
        unsigned leader = logs_sight(&logs, i)->leader;
        ck_assert_msg(gw_now_ns() < until_ns, "no controller accepts it");
        if (leader < 3 && logs.logs[leader].log && gw_now_ns() > again_ns) {
            for (uint64_t n = logs_sight(&logs, i)->index; n < index; n++)
                logs_propose(&logs, leader, n);
            again_ns = gw_now_ns() + 500000000;
        }
        sched_yield();
    }
}

static void check_directory(unsigned i)
{
    char path[128];
    struct gw_error why = {0};
    struct gw__raft_ack *ack;
    logs_close(&logs, i);
    logs_path(&logs, i, path);
    ck_assert_msg(gw__raft_dir_check(path, false, &ack, &why) == GW_OK, "%s",
                  why.text);
    gw__raft_ack_close(&ack);
}

/* 0: the leader's; 1: a follower's. */
START_TEST(a_disk_is_full_in_the_midst_of_writing)
{
    logs_begin(&logs, 3);
    if (!mount_disks()) {
        logs_end(&logs);
        SKIP("raft_log_full", "no permission for mounts");
    }
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
    unsigned leader = logs_leader(&logs), full = (leader + (unsigned)_i) % 3;
    give(full, 100);
    for (unsigned i = 0; i < 3; i++)
        logs_await(&logs, i, 100);
    uint64_t n = 100;
    struct gw_error why;
    while (n < 7000 && !gw__raft_log_error(logs.logs[full].log, &why)) {
        fill(full); /* libraft makes room when it closes a segment */
        give(full, n += 20);
    }
    await_error(full, "no space left on the disk");
    /* libraft does not free the snapshot and the entries that it could not
     * write. */
    leaks_are_allowed();
    uint64_t acknowledged = logs_sight(&logs, full)->index;
    ck_assert_uint_ge(acknowledged, 500);
    check_directory(full);
    unsigned other = (full + 1) % 3;
    for (uint64_t more = 50; more <= 600; more += 50)
        give(other, acknowledged + more);
    make_room(full);
    logs_open(&logs, full);
    logs_await(&logs, full, acknowledged + 600);
    for (unsigned i = 0; i < 3; i++)
        logs_check(&logs, i);
    unmount_disks();
    logs_end(&logs);
}
END_TEST

Suite *suite_raft_log_full(void)
{
    Suite *suite = suite_create("raft_log_full");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_disk_is_full_in_the_midst_of_writing, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
