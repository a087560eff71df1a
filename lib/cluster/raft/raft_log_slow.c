/* SPDX-License-Identifier: MIT
 *
 * Handles a disk that does not finish a write. The controller reports it, once
 * until the disk answers.
 *
 * A leader transfers the leadership to a follower that has had the same entries
 * on disk for a while. libraft 0.15 commits only entries that the leader itself
 * has stored, even if all followers have them, and continues to lead. Without
 * the transfer the whole cluster would wait for that disk. If the controllers
 * share a slow disk, none is far ahead of the others, and the leadership stays.
 *
 * For a follower no time passes: it could not even record that it is a
 * candidate.
 */
#include "raft_log_parts.h"

#include "base/notice.h"

enum { SLOW_MS = 1000 };
#define SLOW_NS (SLOW_MS * UINT64_C(1000000))

static void handed_over(struct raft_transfer *request)
{
    struct gw__raft_log *log = request->data;
    log->handing_over = false;
}

/* Transfers to the follower that libraft prefers. libraft gives up after the
 * time of an election; then the transfer is tried again. */
static void hand_over(struct gw__raft_log *log, uint64_t now_ns)
{
    if (log->handing_over || log->config.count == 1 ||
        raft_state(&log->raft) != RAFT_LEADER ||
        log->writing->overtaken_ns == 0 ||
        now_ns - log->writing->overtaken_ns < SLOW_NS)
        return;
    log->handover.data = log;
    log->handing_over =
        raft_transfer(&log->raft, &log->handover, 0, handed_over) == 0;
}

static void notice_slow_disk(struct gw__raft_log *log, uint64_t now_ns)
{
    if (log->slow_since_ns == 0 && log->writing) {
        log->slow_since_ns = log->writing->since_ns;
        gw__notice("controller %u: its disk has not finished a write for "
                   "%d ms: %s",
                   log->config.index, SLOW_MS, log->path);
    } else if (log->slow_since_ns && !log->writing) {
        gw__notice("controller %u: its disk has finished its writes, %.1f s "
                   "after the first began",
                   log->config.index,
                   (double)(now_ns - log->slow_since_ns) / 1e9);
        log->slow_since_ns = 0;
    }
}

bool gw__raft_slow_turn(struct gw__raft_log *log)
{
    uint64_t now_ns = gw_now_ns();
    bool slow = log->writing && now_ns - log->writing->since_ns > SLOW_NS;
    if (slow || !log->writing)
        notice_slow_disk(log, now_ns);
    if (slow)
        hand_over(log, now_ns);
    return slow;
}

void gw__raft_slow_record(struct gw__raft_log *log,
                          const struct raft_message *message)
{
    const struct raft_append_entries_result *stored =
        &message->append_entries_result;
    if (message->type != RAFT_IO_APPEND_ENTRIES_RESULT || stored->rejected ||
        stored->term != log->raft.current_term)
        return;
    for (struct gw__raft_append *a = log->writing;
         a && a->first + a->count - 1 <= stored->last_log_index; a = a->next)
        if (a->overtaken_ns == 0)
            a->overtaken_ns = gw_now_ns();
}
