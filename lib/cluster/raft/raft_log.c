/* SPDX-License-Identifier: MIT
 *
 * The running log: proposals, its thread, the leader, and the end. See
 * raft_log.h; raft_log_open.c opens it.
 */
#include "raft_log_parts.h"

#include "base/thread.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 5, QUIET_ENOUGH = 3, CHECKS_MAX = 1000 };

void gw__raft_log_fail(struct gw__raft_log *log, enum gw_err code,
                       const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&log->lock);
    if (!log->error.code)
        gw_fail(&log->error, code, "controller %u: its log: %s",
                log->config.index, text);
    pthread_mutex_unlock(&log->lock);
}

enum gw_err gw__raft_log_error(struct gw__raft_log *log, struct gw_error *why)
{
    pthread_mutex_lock(&log->lock);
    struct gw_error error = log->error;
    pthread_mutex_unlock(&log->lock);
    return error.code ? gw_fail(why, error.code, "%s", error.text) : GW_OK;
}

/* ---- proposals ---- */

enum gw_err gw__raft_log_propose(struct gw__raft_log *log, const void *command,
                                 size_t bytes)
{
    const uint64_t length = bytes;
    pthread_mutex_lock(&log->lock);
    struct gw__raft_wishes *filling = &log->filling;
    bool fits = bytes + sizeof length <= GW__RAFT_WISHES_BYTES - filling->used;
    bool stop = log->stop;
    if (fits && !stop) {
        memcpy(filling->bytes + filling->used, &length, sizeof length);
        filling->used += sizeof length;
        memcpy(filling->bytes + filling->used, command, bytes);
        filling->used += bytes;
        uv_async_send(&log->bell);
    }
    pthread_mutex_unlock(&log->lock);
    if (stop)
        return GW_ECLOSED;
    return fits ? GW_OK : GW_ENOMEM;
}

static void applied(struct raft_apply *request, int status, void *result)
{
    (void)status, (void)result;
    raft_free(request);
}

/* Lost if this controller does not lead; the proposer repeats it. */
static void append_command(struct gw__raft_log *log, const void *command,
                           size_t bytes)
{
    struct raft_buffer buffer;
    struct raft_apply *request = raft_malloc(sizeof *request);
    if (!request || gw__raft_pack(command, bytes, &buffer)) {
        raft_free(request);
        return;
    }
    if (raft_apply(&log->raft, request, &buffer, 1, applied)) {
        raft_free(buffer.base);
        raft_free(request);
    }
}

/* Takes all queued commands; true: the log must stop. */
static bool append_queued(struct gw__raft_log *log)
{
    pthread_mutex_lock(&log->lock);
    struct gw__raft_wishes full = log->filling;
    log->filling = log->working;
    log->filling.used = 0;
    log->working = full;
    bool stop = log->stop;
    pthread_mutex_unlock(&log->lock);
    uint64_t length;
    for (size_t at = 0; at < full.used; at += length) {
        memcpy(&length, full.bytes + at, sizeof length);
        at += sizeof length;
        if (!log->ending && !log->broken &&
            raft_state(&log->raft) == RAFT_LEADER)
            append_command(log, full.bytes + at, length);
    }
    return stop;
}

/* ---- a turn of the loop ---- */

static void passed(struct raft_barrier *request, int status)
{
    (void)status;
    raft_free(request);
}

/* Proposes an own entry, with which a new leader commits the entries of earlier
 * leaders. */
static void become_leader(struct gw__raft_log *log)
{
    struct raft_barrier *request = raft_malloc(sizeof *request);
    if (request && raft_barrier(&log->raft, request, passed))
        raft_free(request);
}

static void check_leader(struct gw__raft_log *log)
{
    const char *address;
    raft_id id;
    raft_leader(&log->raft, &id, &address);
    unsigned leader = id > 0 && id <= log->config.count ? (unsigned)id - 1
                                                        : log->config.count;
    if (raft_state(&log->raft) == RAFT_UNAVAILABLE && !log->shutting_down) {
        gw__raft_log_fail(log, GW_ESYS, "%s", raft_errmsg(&log->raft));
        leader = log->config.count;
    }
    if (leader == log->leader)
        return;
    log->leader = leader;
    if (leader == log->config.index)
        become_leader(log);
    log->config.on_leader(log->config.context, leader);
}

static void record_stats(struct gw__raft_log *log)
{
    const struct gw__raft_stats stats = {.term = log->raft.current_term,
                                         .last = raft_last_index(&log->raft),
                                         .committed = log->raft.commit_index};
    pthread_mutex_lock(&log->lock);
    log->stats = stats;
    pthread_mutex_unlock(&log->lock);
}

void gw__raft_log_stats(struct gw__raft_log *log, struct gw__raft_stats *out)
{
    pthread_mutex_lock(&log->lock);
    *out = log->stats;
    pthread_mutex_unlock(&log->lock);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct gw__raft_log *log = prepare->data;
    if (!log->ending)
        record_stats(log);
    if (log->has_poll)
        gw__raft_channel_turn(log);
    if (!log->ending && !log->broken)
        check_leader(log);
    gw__raft_io_turn(log);
}

/* ---- the end ---- */

static void close_handles(struct gw__raft_log *log)
{
    uv_close((uv_handle_t *)&log->bell, NULL);
    uv_close((uv_handle_t *)&log->prepare, NULL);
    uv_close((uv_handle_t *)&log->patience, NULL);
    uv_close((uv_handle_t *)&log->held.alarm, NULL);
    if (log->has_poll)
        uv_close((uv_handle_t *)&log->poll, NULL);
}

static void closed(struct raft *raft)
{
    close_handles(raft->data);
}

/* Waits until no write has been pending for several looks; then libraft can be
 * closed. Nothing new begins meanwhile. A disk without an answer for 5 s counts
 * as dead. */
static void wait_for_quiet(uv_timer_t *patience)
{
    struct gw__raft_log *log = patience->data;
    log->quiet = log->pending_writes == 0 ? log->quiet + 1 : 0;
    bool wait = log->quiet < QUIET_ENOUGH && ++log->checks < CHECKS_MAX;
    if (wait || log->shutting_down)
        return;
    log->shutting_down = true;
    uv_timer_stop(&log->patience);
    gw__raft_io_turn(log);
    raft_close(&log->raft, closed);
}

static void end_loop(struct gw__raft_log *log)
{
    log->ending = true;
    uv_timer_start(&log->patience, wait_for_quiet, 0, PATIENCE_MS);
}

static void clear_doorbell(uv_async_t *bell)
{
    struct gw__raft_log *log = bell->data;
    if (append_queued(log) && !log->ending)
        end_loop(log);
}

int gw__raft_log_init_handles(struct gw__raft_log *log)
{
    int failed = uv_async_init(&log->loop, &log->bell, clear_doorbell);
    if (failed)
        return failed;
    failed = gw__raft_held_init(log);
    if (failed)
        return failed;
    uv_prepare_init(&log->loop, &log->prepare);
    uv_timer_init(&log->loop, &log->patience);
    uv_prepare_start(&log->prepare, on_prepare);
    log->bell.data = log->prepare.data = log->patience.data = log;
    return 0;
}

static void *run_loop(void *context)
{
    struct gw__raft_log *log = context;
    uv_run(&log->loop, UV_RUN_DEFAULT);
    return NULL;
}

enum gw_err gw__raft_log_run(struct gw__raft_log *log, struct gw_error *why)
{
    enum gw_err err = gw__thread_start(&log->thread, run_loop, log,
                                       "the controllers' log", why);
    log->has_thread = !err;
    return err;
}

/* Closes a partly opened log. */
static void end_unstarted(struct gw__raft_log *log)
{
    if (log->has_raft)
        end_loop(log);
    else
        close_handles(log);
    uv_run(&log->loop, UV_RUN_DEFAULT);
}

void gw__raft_log_stop(struct gw__raft_log *log)
{
    if (!log->has_loop)
        return;
    log->has_loop = false;
    pthread_mutex_lock(&log->lock);
    log->stop = true;
    uv_async_send(&log->bell);
    pthread_mutex_unlock(&log->lock);
    if (log->has_thread)
        pthread_join(log->thread, NULL);
    else
        end_unstarted(log);
    if (log->has_uv)
        raft_uv_close(&log->io);
    if (log->has_tcp)
        raft_uv_tcp_close(&log->transport);
    gw__raft_channel_close(log);
    gw__raft_held_fini(log);
    uv_loop_close(&log->loop);
}

void gw__raft_log_close(struct gw__raft_log **closed_log)
{
    struct gw__raft_log *log = *closed_log;
    if (!log)
        return;
    *closed_log = NULL;
    gw__raft_log_stop(log);
    gw__raft_ack_close(&log->ack);
    pthread_mutex_destroy(&log->lock);
    free(log->filling.bytes);
    free(log->working.bytes);
    free(log->replica);
    free(log);
}

void gw__raft_log_cut(struct gw__raft_log *log, unsigned index, bool down)
{
    uint64_t bit = (uint64_t)1 << index;
    if (down)
        atomic_fetch_or(&log->cut, bit);
    else
        atomic_fetch_and(&log->cut, ~bit);
}
