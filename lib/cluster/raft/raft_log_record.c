/* SPDX-License-Identifier: MIT
 *
 * Records acknowledgements of the log (raft_ack.h): entries and snapshots when
 * they are on disk, before libraft gets the result; terms and votes when they
 * are written. Entries that libraft truncates, because a follower's new leader
 * does not have them, are first cleared there. If a write of such entries ends
 * later, it is not recorded.
 */
#include "raft_log_parts.h"

#include "raft_segment.h"

#include <errno.h>
#include <string.h>

static bool check_recorded(struct gw__raft_log *log, bool good)
{
    if (!good)
        gw__raft_io_break(log, "the acknowledgement cannot be written",
                          strerror(errno));
    return good;
}

bool gw__raft_record_entries(const struct gw__raft_append *written)
{
    struct gw__raft_log *log = written->log;
    bool good = true;
    for (unsigned i = 0; i < written->count && good; i++) {
        const struct raft_entry *entry = &written->entries[i];
        if (written->first + i < written->truncated_from)
            good = gw__raft_ack_record(
                log->ack, GW__ACK_ENTRY, entry->term, written->first + i,
                gw__raft_crc(0, entry->buf.base, entry->buf.len));
    }
    return check_recorded(log, good);
}

uint32_t gw__raft_buffers_crc(const struct raft_buffer buffers[],
                              unsigned count)
{
    uint32_t crc = 0;
    for (unsigned i = 0; i < count; i++)
        crc = gw__raft_crc(crc, buffers[i].base, buffers[i].len);
    return crc;
}

bool gw__raft_record_snapshot(struct gw__raft_log *log,
                              const struct gw__raft_ack_slot *snapshot)
{
    return check_recorded(
        log, gw__raft_ack_record(log->ack, GW__ACK_SNAPSHOT, snapshot->term,
                                 snapshot->index, snapshot->crc));
}

/* ---- truncation ---- */

static bool clear_records(struct gw__raft_log *log, raft_index index)
{
    for (struct gw__raft_append *a = log->writing; a; a = a->next)
        if (index < a->truncated_from)
            a->truncated_from = index;
    return check_recorded(log, gw__raft_ack_forget(log->ack, index));
}

bool gw__raft_record_replaced(struct gw__raft_log *log)
{
    return clear_records(log, 1);
}

static int truncate_from(struct raft_io *io, raft_index index)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    return clear_records(log, index) ? log->back.truncate(io, index)
                                     : RAFT_IOERR;
}

/* ---- terms and votes ---- */

static int record_vote(struct gw__raft_log *log, raft_id candidate)
{
    bool good =
        gw__raft_ack_record(log->ack, GW__ACK_VOTE, log->in_term, candidate, 0);
    return check_recorded(log, good) ? 0 : RAFT_IOERR;
}

static int set_term(struct raft_io *io, raft_term term)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    int failed = log->back.set_term(io, term);
    if (failed)
        return failed;
    log->in_term = term;
    return record_vote(log, 0);
}

/* A candidate sets its term first, and afterwards knows that it voted for
 * itself. */
static int set_vote(struct raft_io *io, raft_id candidate)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    int failed = log->back.set_vote(io, candidate);
    if (failed)
        return failed;
    if (log->in_term < log->raft.current_term)
        log->in_term = log->raft.current_term;
    if (candidate && log->config.on_vote)
        log->config.on_vote(log->config.context, (unsigned)candidate - 1,
                            log->in_term);
    return record_vote(log, candidate);
}

void gw__raft_record_init(struct gw__raft_log *log)
{
    log->io.truncate = truncate_from;
    log->io.set_term = set_term;
    log->io.set_vote = set_vote;
}
