/* SPDX-License-Identifier: MIT
 *
 * A layer between libraft and its back end, whose table of calls is copied and
 * partly replaced. With a key messages use another transport
 * (raft_log_channel.c). A message to a controller that is cut off fails a
 * little later, as without a connection. Writes are counted, so that closing
 * can wait for them. Late results are suppressed. After the end has begun,
 * nothing new begins: no message is received and no time passes.
 *
 * Late: when a follower's write ends, libraft 0.15 notifies the current leader,
 * not the one for which it wrote. On a slow disk there may be no leader, and
 * libraft crashes at a NULL address. Or this controller is a candidate, and
 * libraft reads its other data as a leader's (canonical/raft, issues 339 and
 * 350). Or it is a leader of a later term, which takes the result for one of
 * its own entries. So, as in libraft since, a result is only sent to a known
 * leader, and a result of entries only in the term in which their write began:
 * a new leader asks anyway. A snapshot is the same for all, and a leader that
 * was about to send one itself waits for that result.
 *
 * Cancelled: on a disk that does not answer, closing cancels the pending
 * writes, the oldest first or in any order. For each, a leader's log is
 * truncated where its entries begin, and libraft 0.15 reads beyond the log if
 * nothing is left there to truncate (canonical/raft, issue 338). So these
 * results are reported when all have arrived, the last one first.
 *
 * Time also stands still for a follower whose disk does not finish a write
 * (raft_log_slow.c), and for one that installs a leader's snapshot: otherwise
 * it would become a candidate that counts the snapshot already, and lead
 * without it.
 *
 * Delays and rates apply to the receiver (raft_log_held.c). Only the sending
 * side of a link is cut here. Otherwise a controller that has applied the cut
 * of its own link could never learn of its end.
 */
#include "raft_log_parts.h"

#include "base/failpoint.h"
#include "raft_message.h"
#include "raft_segment.h"

#include <stddef.h>
#include <sys/statvfs.h>

struct gw__raft_log *gw__raft_log_of(struct raft_io *io)
{
    return (struct gw__raft_log *)(void *)((char *)io -
                                           offsetof(struct gw__raft_log, io));
}

/* ---- sending ---- */

static bool is_late(const struct gw__raft_log *log,
                    const struct raft_message *message)
{
    if (!log->ends || message->type != RAFT_IO_APPEND_ENTRIES_RESULT)
        return false;
    return log->raft.state != RAFT_FOLLOWER ||
           log->raft.follower_state.current_leader.id == 0 ||
           (log->ended_term && log->ended_term != log->raft.current_term);
}

static int send_or_keep(struct raft_io *io, struct raft_io_send *request,
                        const struct raft_message *message,
                        raft_io_send_cb done)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    if (is_late(log, message))
        return RAFT_NOCONNECTION;
    uint64_t cut = atomic_load_explicit(&log->cut, memory_order_relaxed);
    if (!(cut >> (message->server_id - 1) % 64 & 1))
        return log->back.send(io, request, message, done);
    return gw__raft_io_report_later(log, request, done, RAFT_NOCONNECTION);
}

int gw__raft_io_report_later(struct gw__raft_log *log,
                             struct raft_io_send *request, raft_io_send_cb done,
                             int status)
{
    struct gw__raft_sent *sent = raft_malloc(sizeof *sent);
    if (!sent)
        return RAFT_NOMEM;
    *sent = (struct gw__raft_sent){
        .request = request, .done = done, .status = status};
    *log->sent_end = sent;
    log->sent_end = &sent->next;
    return 0;
}

void gw__raft_io_turn(struct gw__raft_log *log)
{
    while (log->sent) {
        struct gw__raft_sent *sent = log->sent;
        log->sent = sent->next;
        if (!log->sent)
            log->sent_end = &log->sent;
        sent->done(sent->request, sent->status);
        raft_free(sent);
    }
}

/* ---- writes ---- */

const char *gw__raft_log_text(int status)
{
    return status == RAFT_NOSPACE ? "no space left on the disk"
                                  : raft_strerror(status);
}

/* A write has failed: the disk is full or broken. libraft would continue as
 * after a lost message, and would crash as a leader. So it gets no more results
 * or messages, and the controller ends. */
void gw__raft_io_break(struct gw__raft_log *log, const char *what,
                       const char *text)
{
    if (!log->broken)
        gw__raft_log_fail(log, GW_ESYS, "%s: %s", what, text);
    log->broken = true;
}

/* libraft may report a segment without room as a disk error. */
static const char *text_of(const struct gw__raft_log *log, int status)
{
    struct statvfs disk;
    if (status == RAFT_IOERR && statvfs(log->path, &disk) == 0 &&
        (uint64_t)disk.f_bavail * disk.f_frsize < GW__RAFT_SEGMENT_BYTES)
        status = RAFT_NOSPACE;
    return gw__raft_log_text(status);
}

static bool is_broken(struct gw__raft_log *log, int status)
{
    if (status && status != RAFT_CANCELED)
        gw__raft_io_break(log, "it cannot be written", text_of(log, status));
    return log->broken;
}

static void begin_append(struct gw__raft_append *a)
{
    a->since_ns = gw_now_ns();
    *a->log->writing_end = a;
    a->log->writing_end = &a->next;
    a->log->pending_writes++;
}

static void end_append(struct gw__raft_append *a)
{
    struct gw__raft_append **at = &a->log->writing;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    if (!a->next)
        a->log->writing_end = at;
    a->next = NULL;
    a->log->pending_writes--;
}

static void report_append(struct gw__raft_append *a, int status)
{
    a->log->ends = true;
    a->log->ended_term = a->term;
    gw__failpoint(GW__AT_RAFT_APPENDED);
    a->done(a->outer, status);
    a->log->ends = false;
    a->log->ended_term = 0;
    raft_free(a);
}

/* Keeps the last one first. libraft does not need results of writes that are
 * cancelled after it has closed. */
static void keep_cancelled(struct gw__raft_append *a)
{
    struct gw__raft_append **at = &a->log->cancelled;
    while (*at && (*at)->number > a->number)
        at = &(*at)->next;
    a->next = *at;
    *at = a;
}

static void report_cancelled(struct gw__raft_log *log)
{
    while (log->cancelled) {
        struct gw__raft_append *a = log->cancelled;
        log->cancelled = a->next;
        report_append(a, RAFT_CANCELED);
    }
}

static void appended(struct raft_io_append *request, int status)
{
    struct gw__raft_append *a = request->data;
    struct gw__raft_log *log = a->log;
    end_append(a);
    bool cancelled = log->shutting_down && status == RAFT_CANCELED;
    if (is_broken(log, status) || (cancelled && !log->closed) ||
        (!status && !gw__raft_record_entries(a)))
        raft_free(a);
    else if (cancelled)
        keep_cancelled(a);
    else
        report_append(a, status);
}

static int append_entries(struct raft_io *io, struct raft_io_append *request,
                          const struct raft_entry entries[], unsigned count,
                          raft_io_append_cb done)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    gw__failpoint(GW__AT_RAFT_APPEND);
    if (log->broken)
        return RAFT_IOERR;
    struct gw__raft_append *a = raft_malloc(sizeof *a);
    if (!a)
        return RAFT_NOMEM;
    *a = (struct gw__raft_append){.log = log,
                                  .term = log->raft.current_term,
                                  .number = log->appends++,
                                  .entries = entries,
                                  .count = count,
                                  .first =
                                      raft_last_index(&log->raft) + 1 - count,
                                  .truncated_from = UINT64_MAX,
                                  .outer = request,
                                  .done = done};
    a->request.data = a;
    int failed = log->back.append(io, &a->request, entries, count, appended);
    if (failed)
        raft_free(a);
    else
        begin_append(a);
    return failed;
}

struct finish_snapshot_put {
    struct raft_io_snapshot_put request;
    struct gw__raft_log *log;
    struct gw__raft_ack_slot about;
    bool installs; /* replaces the whole log: no trailing entries */
    struct raft_io_snapshot_put *outer;
    raft_io_snapshot_put_cb done;
};

static void finish_snapshot_put(struct raft_io_snapshot_put *request,
                                int status)
{
    struct finish_snapshot_put *p = request->data;
    p->log->pending_writes--;
    p->log->installs -= p->installs;
    if (is_broken(p->log, status) ||
        (!status && !gw__raft_record_snapshot(p->log, &p->about))) {
        raft_free(p);
        return;
    }
    p->log->ends = true;
    p->done(p->outer, status);
    p->log->ends = false;
    raft_free(p);
}

static int snapshot_put(struct raft_io *io, unsigned trailing,
                        struct raft_io_snapshot_put *request,
                        const struct raft_snapshot *snapshot,
                        raft_io_snapshot_put_cb done)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    struct finish_snapshot_put *p = raft_malloc(sizeof *p);
    if (!p)
        return RAFT_NOMEM;
    *p = (struct finish_snapshot_put){
        .log = log, .installs = trailing == 0, .outer = request, .done = done};
    p->about = (struct gw__raft_ack_slot){
        .index = snapshot->index,
        .term = snapshot->term,
        .crc = gw__raft_buffers_crc(snapshot->bufs, snapshot->n_bufs)};
    p->request.data = p;
    int failed = RAFT_IOERR;
    if (!p->installs || gw__raft_record_replaced(log))
        failed = log->back.snapshot_put(io, trailing, &p->request, snapshot,
                                        finish_snapshot_put);
    if (failed)
        raft_free(p);
    log->pending_writes += !failed;
    log->installs += !failed && trailing == 0;
    return failed;
}

/* ---- time and messages ---- */

static void tick(struct raft_io *io)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    if (log->ending || log->broken)
        return;
    bool waits = log->installs > 0;
    waits |= gw__raft_slow_turn(log);
    if (!waits || log->raft.state != RAFT_FOLLOWER)
        log->tick(io);
}

void gw__raft_io_hand_over(struct gw__raft_log *log,
                           struct raft_message *message)
{
    if (log->ending || log->broken) {
        gw__raft_message_drop(message);
        return;
    }
    gw__raft_slow_record(log, message);
    log->receive(&log->io, message);
}

void gw__raft_io_receive(struct raft_io *io, struct raft_message *message)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    if (!gw__raft_held_add(log, message))
        gw__raft_io_hand_over(log, message);
}

static int start_io(struct raft_io *io, unsigned period_ms,
                    raft_io_tick_cb on_tick, raft_io_recv_cb on_receive)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    log->tick = on_tick;
    log->receive = on_receive;
    return log->back.start(io, period_ms, tick, gw__raft_io_receive);
}

/* The back end may report twice that it is closed, and libraft would accept
 * both. */
static void on_closed(struct raft_io *io)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    raft_io_close_cb closed = log->closed;
    report_cancelled(log);
    log->closed = NULL;
    if (closed)
        closed(io);
}

static void close_once(struct raft_io *io, raft_io_close_cb closed)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    log->closed = closed;
    log->back.close(io, on_closed);
}

static int draw_timeout(struct raft_io *io, int min, int max)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    return max > min ? min + (int)gw_rng_below(&log->rng, (uint64_t)(max - min))
                     : min;
}

void gw__raft_io_init(struct gw__raft_log *log)
{
    uint64_t seed[2] = {gw_now_ns(), (uint64_t)(uintptr_t)log};
    gw_rng_seed(&log->rng, gw_hash(seed, sizeof seed, log->config.index + 1));
    log->sent_end = &log->sent;
    log->writing_end = &log->writing;
    log->back = log->io;
    if (log->channel)
        log->back.send = gw__raft_channel_send;
    gw__raft_record_init(log);
    log->io.start = start_io;
    log->io.send = send_or_keep;
    log->io.append = append_entries;
    log->io.snapshot_put = snapshot_put;
    log->io.random = draw_timeout;
    log->io.close = close_once;
}
