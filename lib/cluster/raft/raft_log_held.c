/* SPDX-License-Identifier: MIT
 *
 * Link profiles on the controllers' log (wire/emulation/link_profiles.h):
 * messages of other controllers wait here until they are due. All of them pass
 * gw__raft_io_receive, with or without a key, so one place is enough.
 *
 * libraft's streams have no send times, so delays count from the arrival. Both
 * kinds of connection are streams, so a lost message is late instead of
 * missing. A cut affects the sender (raft_log_io.c): it drops later messages,
 * not those that wait here.
 *
 * Messages of one controller keep their order. After a change of the profiles
 * the waiting messages are scheduled again, within 20 ms. Messages beyond the
 * limit are dropped: Raft repeats them.
 */
#include "raft_log_parts.h"

#include "raft_message.h"

enum {
    HELD_MESSAGES = 4096,
    HELD_BYTES = 16 << 20,
    HEAD_BYTES = 64, /* of any message, approximately */
    RECHECK_MS = 20,
    NS_OF_MS = 1000000
};

struct gw__raft_held {
    uint64_t come_ns, due_ns;
    size_t bytes;
    struct raft_message message;
    struct gw__raft_held *next;
};

static size_t encoded_bytes(const struct raft_message *message)
{
    size_t bytes = HEAD_BYTES;
    if (message->type == RAFT_IO_APPEND_ENTRIES)
        for (unsigned i = 0; i < message->append_entries.n_entries; i++)
            bytes += message->append_entries.entries[i].buf.len;
    if (message->type == RAFT_IO_INSTALL_SNAPSHOT)
        bytes += message->install_snapshot.data.len;
    return bytes;
}

static uint64_t hold_by_profile(struct gw__raft_log *log, unsigned from,
                                uint64_t come_ns, size_t bytes)
{
    return gw__link_profiles_due(log->config.profiles, log->config.nodes[from],
                                 &log->held.links[from], come_ns, bytes, false,
                                 false);
}

static unsigned from_of(const struct raft_message *message)
{
    return (unsigned)message->server_id - 1;
}

/* Otherwise messages of a slow link would stay after its profile is reset. */
static void heed_changes(struct gw__raft_log *log)
{
    uint64_t changes = gw__link_profiles_changes(log->config.profiles);
    if (changes == log->held.changes)
        return;
    log->held.changes = changes;
    for (unsigned i = 0; i < log->config.count; i++)
        log->held.links[i] = (struct gw__due){0};
    for (struct gw__raft_held *one = log->held.first; one; one = one->next)
        one->due_ns = hold_by_profile(log, from_of(&one->message), one->come_ns,
                                      one->bytes);
}

/* Passes due messages to libraft. */
static void let_go(struct gw__raft_log *log, uint64_t now_ns)
{
    struct gw__raft_held **at = &log->held.first, *one;
    while ((one = *at)) {
        if (one->due_ns > now_ns) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        if (!one->next)
            log->held.end = at;
        log->held.count--;
        log->held.bytes -= one->bytes;
        gw__raft_io_hand_over(log, &one->message);
        raft_free(one);
    }
}

static void wake(uv_timer_t *alarm);

static void set_alarm(struct gw__raft_log *log, uint64_t now_ns)
{
    uint64_t wait_ns = (uint64_t)RECHECK_MS * NS_OF_MS;
    for (struct gw__raft_held *one = log->held.first; one; one = one->next)
        if (one->due_ns < now_ns + wait_ns)
            wait_ns = one->due_ns - now_ns;
    if (log->held.first)
        uv_timer_start(&log->held.alarm, wake,
                       (wait_ns + NS_OF_MS - 1) / NS_OF_MS, 0);
}

static void wake(uv_timer_t *alarm)
{
    struct gw__raft_log *log = alarm->data;
    uint64_t now_ns = gw_now_ns();
    heed_changes(log);
    let_go(log, now_ns);
    set_alarm(log, now_ns);
}

static void hold_message(struct gw__raft_log *log,
                         const struct gw__raft_held *what)
{
    struct gw__raft_held *one = NULL;
    if (log->held.count < HELD_MESSAGES &&
        what->bytes <= HELD_BYTES - log->held.bytes)
        one = raft_malloc(sizeof *one);
    if (!one) {
        struct raft_message message = what->message;
        gw__raft_message_drop(&message);
        return;
    }
    *one = *what;
    one->message.server_address = log->addresses[from_of(&one->message)];
    *log->held.end = one;
    log->held.end = &one->next;
    log->held.count++;
    log->held.bytes += one->bytes;
}

bool gw__raft_held_add(struct gw__raft_log *log, struct raft_message *message)
{
    unsigned from = from_of(message);
    if (log->ending || !log->config.profiles || from >= log->config.count ||
        (gw__link_profiles_quiet(log->config.profiles) && !log->held.first))
        return false;
    uint64_t now_ns = gw_now_ns();
    heed_changes(log);
    let_go(log, now_ns);
    struct gw__due before = log->held.links[from];
    size_t bytes = encoded_bytes(message);
    struct gw__raft_held one = {.come_ns = now_ns,
                                .due_ns =
                                    hold_by_profile(log, from, now_ns, bytes),
                                .bytes = bytes,
                                .message = *message};
    if (one.due_ns <= now_ns)
        return false;
    unsigned count = log->held.count;
    hold_message(log, &one);
    if (log->held.count == count)
        log->held.links[from] = before; /* it used no time of the link */
    set_alarm(log, now_ns);
    return true;
}

int gw__raft_held_init(struct gw__raft_log *log)
{
    log->held.end = &log->held.first;
    log->held.alarm.data = log;
    return uv_timer_init(&log->loop, &log->held.alarm);
}

void gw__raft_held_fini(struct gw__raft_log *log)
{
    struct gw__raft_held *one;
    while ((one = log->held.first)) {
        log->held.first = one->next;
        gw__raft_message_drop(&one->message);
        raft_free(one);
    }
}
