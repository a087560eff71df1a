/* SPDX-License-Identifier: MIT
 *
 * Logs on loopback; see logs.h.
 */
#include "logs.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const struct timespec moment = {.tv_nsec = 1000000};
static const uint64_t patience_ns = 10000000000U;

void logs_free_address(char address[32])
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof in;
    const int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes),
                     0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &bytes), 0);
    /* The socket stays open, so that no other process gets the port during the
     * test. */
    snprintf(address, 32, "127.0.0.1:%u", ntohs(in.sin_port));
}

void logs_begin(struct logs *logs, unsigned count)
{
    memset(logs, 0, sizeof *logs);
    log_folder_make(logs->directory);
    logs->count = count;
    for (unsigned i = 0; i < count; i++) {
        logs_free_address(logs->addresses[i]);
        pthread_mutex_init(&logs->logs[i].lock, NULL);
    }
}

void logs_secure(struct logs *logs)
{
    logs->key = key_file_make(0600);
    logs->secured = true;
}

void logs_open_profiles(struct logs *logs)
{
    for (unsigned i = 0; i < logs->count; i++)
        ck_assert_int_eq(gw__link_profiles_new(i + 1, &logs->profiles[i], NULL),
                         GW_OK);
}

void logs_set_links(struct logs *logs, struct gw_link_profile profile)
{
    for (unsigned to = 0; to < logs->count; to++)
        for (unsigned from = 0; from < logs->count; from++)
            gw__link_profiles_set(logs->profiles[to], from, &profile);
}

void logs_end(struct logs *logs)
{
    for (unsigned i = 0; i < logs->count; i++)
        logs_close(logs, i);
    for (unsigned i = 0; i < logs->count; i++)
        gw__link_profiles_destroy(&logs->profiles[i]);
    log_folder_remove(logs->directory);
}

void logs_path(const struct logs *logs, unsigned i, char path[128])
{
    snprintf(path, 128, "%s/%u", logs->directory, i);
}

/* ---- callbacks of a log ---- */

static void on_entry(void *context, uint64_t index, const void *command,
                     size_t bytes)
{
    struct one_log *one = context;
    pthread_mutex_lock(&one->lock);
    one->sight.gaps += one->sight.index && index != one->sight.index + 1;
    one->sight.index = index;
    if (bytes == sizeof *one->sight.numbers && one->sight.count < LOG_ENTRIES)
        memcpy(&one->sight.numbers[one->sight.count++], command, bytes);
    pthread_mutex_unlock(&one->lock);
}

static void on_snapshot(void *context, const void *data, size_t bytes)
{
    struct one_log *one = context;
    pthread_mutex_lock(&one->lock);
    one->sight.snapshots++;
    one->sight.index = one->sight.count = 0;
    pthread_mutex_unlock(&one->lock);
    (void)data, (void)bytes;
}

static void on_leader(void *context, unsigned leader)
{
    struct one_log *one = context;
    pthread_mutex_lock(&one->lock);
    one->sight.leader = leader;
    pthread_mutex_unlock(&one->lock);
}

/* ---- opening and closing ---- */

void logs_open(struct logs *logs, unsigned i)
{
    struct one_log *one = &logs->logs[i];
    const char *addresses[LOGS];
    static const unsigned nodes[LOGS] = {0, 1, 2};
    const char *key = logs->secured ? logs->key.path : NULL;
    char path[128];
    struct gw_error why = {0};
    for (unsigned j = 0; j < logs->count; j++)
        addresses[j] = logs->addresses[j];
    logs_path(logs, i, path);
    const struct gw__raft_log_config config = {
        .index = i,
        .count = logs->count,
        .addresses = addresses,
        .directory = path,
        .security = {LOGS_TOKEN, key, false},
        .profiles = logs->profiles[i],
        .nodes = nodes,
        .election_ms = LOGS_ELECTION_MS,
        .heartbeat_ms = 30,
        .context = one,
        .on_entry = on_entry,
        .on_snapshot = on_snapshot,
        .on_leader = on_leader};
    memset(&one->sight, 0, sizeof one->sight);
    one->sight.leader = logs->count;
    enum gw_err err = gw__raft_log_open(&config, &one->log, &why);
    if (!err && logs->opened)
        logs->opened(one->log);
    if (!err)
        err = gw__raft_log_run(one->log, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
}

void logs_close(struct logs *logs, unsigned i)
{
    gw__raft_log_close(&logs->logs[i].log);
}

/* The leader if all open logs agree on it and it is open; else count. */
static unsigned common_leader(struct logs *logs)
{
    unsigned leader = logs->count;
    bool first = true;
    for (unsigned i = 0; i < logs->count; i++) {
        if (!logs->logs[i].log)
            continue;
        unsigned seen = logs_sight(logs, i)->leader;
        if (!first && seen != leader)
            return logs->count;
        leader = seen;
        first = false;
    }
    bool open = leader < logs->count && logs->logs[leader].log;
    return open ? leader : logs->count;
}

unsigned logs_leader(struct logs *logs)
{
    uint64_t until_ns = gw_now_ns() + patience_ns;
    unsigned leader;
    while ((leader = common_leader(logs)) == logs->count) {
        ck_assert_msg(gw_now_ns() < until_ns, "there is no leader");
        nanosleep(&moment, NULL);
    }
    return leader;
}

void logs_propose(struct logs *logs, unsigned i, uint64_t number)
{
    ck_assert_int_eq(
        gw__raft_log_propose(logs->logs[i].log, &number, sizeof number), GW_OK);
}

const struct log_sight *logs_sight(struct logs *logs, unsigned i)
{
    static struct log_sight sight;
    pthread_mutex_lock(&logs->logs[i].lock);
    sight = logs->logs[i].sight;
    pthread_mutex_unlock(&logs->logs[i].lock);
    return &sight;
}

void logs_check(struct logs *logs, unsigned i)
{
    struct gw_error why = {0};
    ck_assert_msg(gw__raft_log_error(logs->logs[i].log, &why) == GW_OK, "%s",
                  why.text);
    ck_assert_uint_eq(logs_sight(logs, i)->gaps, 0);
}

void logs_await(struct logs *logs, unsigned i, uint64_t index)
{
    uint64_t until_ns = gw_now_ns() + patience_ns, at;
    while ((at = logs_sight(logs, i)->index) < index) {
        logs_check(logs, i);
        ck_assert_msg(gw_now_ns() < until_ns, "log %u stands at %llu", i,
                      (unsigned long long)at);
        nanosleep(&moment, NULL);
    }
}

unsigned logs_fill(struct logs *logs, uint64_t index)
{
    enum { TOGETHER = 100 };
    uint64_t until_ns = gw_now_ns() + patience_ns, at;
    for (;;) {
        unsigned leader = logs_leader(logs);
        if ((at = logs_sight(logs, leader)->index) >= index)
            return leader;
        uint64_t target = at + TOGETHER < index ? at + TOGETHER : index;
        for (uint64_t n = at; n < target; n++)
            logs_propose(logs, leader, n + 1);
        uint64_t again_ns = gw_now_ns() + 1000000000;
        while (logs_sight(logs, leader)->index < target &&
               gw_now_ns() < again_ns)
            nanosleep(&moment, NULL);
        ck_assert_msg(gw_now_ns() < until_ns, "log %u stands at %llu", leader,
                      (unsigned long long)at);
    }
}
