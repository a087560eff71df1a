/* SPDX-License-Identifier: MIT
 *
 * The log's life: opened, run by a thread, closed; and proposals on their way
 * into it. See raft_log.h.
 */
#include "raft_log_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    WISHES_BYTES = 4 << 20,
    SEGMENT_BYTES = 1 << 20,
    SNAPSHOT_EVERY = 512, /* entries */
    TRAILING = 256,       /* entries kept for those that are behind */
    CONNECT_MS = 50,
    PATIENCE_MS = 5,
    QUIET_ENOUGH = 3
};

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
    bool fits = bytes + sizeof length <= WISHES_BYTES - filling->used;
    if (fits) {
        memcpy(filling->bytes + filling->used, &length, sizeof length);
        filling->used += sizeof length;
        memcpy(filling->bytes + filling->used, command, bytes);
        filling->used += bytes;
        uv_async_send(&log->bell);
    }
    pthread_mutex_unlock(&log->lock);
    return fits ? GW_OK : GW_ENOMEM;
}

static void applied(struct raft_apply *request, int status, void *result)
{
    (void)status, (void)result;
    raft_free(request);
}

/* Lost when we do not lead: whoever wants it repeats it. */
static void append(struct gw__raft_log *log, const void *command, size_t bytes)
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

/* Everything that waits; true: the end has come. */
static bool take_wishes(struct gw__raft_log *log)
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
        if (!log->ending && raft_state(&log->raft) == RAFT_LEADER)
            append(log, full.bytes + at, length);
    }
    return stop;
}

/* ---- a turn of the loop ---- */

static void passed(struct raft_barrier *request, int status)
{
    (void)status;
    raft_free(request);
}

/* A new leader commits what earlier ones have left with an entry of its own. */
static void take_office(struct gw__raft_log *log)
{
    struct raft_barrier *request = raft_malloc(sizeof *request);
    if (request && raft_barrier(&log->raft, request, passed))
        raft_free(request);
}

static void look_for_leader(struct gw__raft_log *log)
{
    const char *address;
    raft_id id;
    raft_leader(&log->raft, &id, &address);
    unsigned leader = id > 0 && id <= log->config.count ? (unsigned)id - 1
                                                        : log->config.count;
    if (raft_state(&log->raft) == RAFT_UNAVAILABLE && !log->closing) {
        gw__raft_log_fail(log, GW_ESYS, "%s", raft_errmsg(&log->raft));
        leader = log->config.count;
    }
    if (leader == log->leader)
        return;
    log->leader = leader;
    if (leader == log->config.index)
        take_office(log);
    log->config.on_leader(log->config.context, leader);
}

static void turn(uv_prepare_t *prepare)
{
    struct gw__raft_log *log = prepare->data;
    if (!log->ending)
        look_for_leader(log);
    gw__raft_io_turn(log);
}

/* ---- the end ---- */

static void close_handles(struct gw__raft_log *log)
{
    uv_close((uv_handle_t *)&log->bell, NULL);
    uv_close((uv_handle_t *)&log->prepare, NULL);
    uv_close((uv_handle_t *)&log->patience, NULL);
}

static void closed(struct raft *raft)
{
    struct gw__raft_log *log = raft->data;
    raft_uv_close(&log->io);
    raft_uv_tcp_close(&log->transport);
    close_handles(log);
}

/* Nothing new begins; when nothing has been under way for some looks, libraft
 * may be closed. */
static void wait_for_quiet(uv_timer_t *patience)
{
    struct gw__raft_log *log = patience->data;
    log->quiet = log->under_way == 0 ? log->quiet + 1 : 0;
    if (log->quiet < QUIET_ENOUGH || log->closing)
        return;
    log->closing = true;
    uv_timer_stop(&log->patience);
    gw__raft_io_turn(log);
    raft_close(&log->raft, closed);
}

static void end(struct gw__raft_log *log)
{
    log->ending = true;
    uv_timer_start(&log->patience, wait_for_quiet, 0, PATIENCE_MS);
}

static void hear_bell(uv_async_t *bell)
{
    struct gw__raft_log *log = bell->data;
    if (take_wishes(log) && !log->ending)
        end(log);
}

static void *live(void *context)
{
    struct gw__raft_log *log = context;
    uv_run(&log->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* Signals are for the application's threads. */
enum gw_err gw__raft_log_run(struct gw__raft_log *log, struct gw_error *why)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&log->thread, NULL, live, log);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    log->has_thread = !failed;
    return failed ? gw_fail(why, GW_ESYS, "a thread: %s", strerror(failed))
                  : GW_OK;
}

/* What was opened only in part, or never run, is closed here. */
static void end_loop(struct gw__raft_log *log)
{
    if (log->has_thread) {
        pthread_mutex_lock(&log->lock);
        log->stop = true;
        uv_async_send(&log->bell);
        pthread_mutex_unlock(&log->lock);
        pthread_join(log->thread, NULL);
    } else if (log->has_raft) {
        end(log);
    } else {
        if (log->has_uv)
            raft_uv_close(&log->io);
        if (log->has_tcp)
            raft_uv_tcp_close(&log->transport);
        close_handles(log);
    }
    uv_run(&log->loop, UV_RUN_DEFAULT);
    uv_loop_close(&log->loop);
}

void gw__raft_log_close(struct gw__raft_log **closed_log)
{
    struct gw__raft_log *log = *closed_log;
    if (!log)
        return;
    *closed_log = NULL;
    if (log->has_loop)
        end_loop(log);
    pthread_mutex_destroy(&log->lock);
    free(log->filling.bytes);
    free(log->working.bytes);
    free(log->replica);
    free(log);
}

/* ---- the beginning ---- */

static enum gw_err make_loop(struct gw__raft_log *log, struct gw_error *why)
{
    int failed = uv_loop_init(&log->loop);
    if (failed)
        return gw_fail(why, GW_ESYS, "a loop: %s", uv_strerror(failed));
    failed = uv_async_init(&log->loop, &log->bell, hear_bell);
    if (failed) {
        uv_loop_close(&log->loop);
        return gw_fail(why, GW_ESYS, "a bell: %s", uv_strerror(failed));
    }
    uv_prepare_init(&log->loop, &log->prepare);
    uv_timer_init(&log->loop, &log->patience);
    uv_prepare_start(&log->prepare, turn);
    log->bell.data = log->prepare.data = log->patience.data = log;
    log->has_loop = true;
    return GW_OK;
}

static enum gw_err refuse(const struct gw__raft_log *log, int failed,
                          const char *what, struct gw_error *why)
{
    const char *more = log->io.errmsg[0] ? log->io.errmsg : "";
    return gw_fail(why, failed == RAFT_NOMEM ? GW_ENOMEM : GW_ESYS,
                   "%s: %s%s%s", what, raft_strerror(failed), *more ? ": " : "",
                   more);
}

static enum gw_err make_raft(struct gw__raft_log *log, struct gw_error *why)
{
    const struct gw__raft_log_config *c = &log->config;
    int failed = raft_uv_tcp_init(&log->transport, &log->loop);
    log->has_tcp = !failed;
    if (!failed)
        failed =
            raft_uv_init(&log->io, &log->loop, c->directory, &log->transport);
    if (failed)
        return refuse(log, failed, c->directory, why);
    log->has_uv = true;
    gw__raft_io_init(log);
    raft_uv_set_segment_size(&log->io, SEGMENT_BYTES);
    raft_uv_set_connect_retry_delay(&log->io, CONNECT_MS);
    raft_uv_set_snapshot_compression(&log->io, false);
    failed = raft_init(&log->raft, &log->io, &log->fsm, c->index + 1,
                       c->addresses[c->index]);
    if (failed)
        return refuse(log, failed, c->directory, why);
    log->has_raft = true;
    log->raft.data = log;
    raft_set_election_timeout(&log->raft, c->election_ms);
    raft_set_heartbeat_timeout(&log->raft, c->heartbeat_ms);
    raft_set_snapshot_threshold(&log->raft, SNAPSHOT_EVERY);
    raft_set_snapshot_trailing(&log->raft, TRAILING);
    raft_set_pre_vote(&log->raft, true);
    return GW_OK;
}

/* All of them vote, from the first start on; later ones find that on disk. */
static enum gw_err begin(struct gw__raft_log *log, struct gw_error *why)
{
    const struct gw__raft_log_config *c = &log->config;
    struct raft_configuration all;
    int failed = 0;
    raft_configuration_init(&all);
    for (unsigned i = 0; i < c->count && !failed; i++)
        failed =
            raft_configuration_add(&all, i + 1, c->addresses[i], RAFT_VOTER);
    if (!failed)
        failed = raft_bootstrap(&log->raft, &all);
    raft_configuration_close(&all);
    if (failed && failed != RAFT_CANTBOOTSTRAP)
        return refuse(log, failed, c->directory, why);
    failed = raft_start(&log->raft);
    return failed ? refuse(log, failed, c->addresses[c->index], why) : GW_OK;
}

static enum gw_err prepare(struct gw__raft_log *log, struct gw_error *why)
{
    log->replica = calloc(1, sizeof *log->replica);
    log->filling.bytes = malloc(WISHES_BYTES);
    log->working.bytes = malloc(WISHES_BYTES);
    if (!log->replica || !log->filling.bytes || !log->working.bytes)
        return gw_fail(why, GW_ENOMEM, "a log");
    gw__registry_init(log->replica);
    if (mkdir(log->config.directory, 0700) && errno != EEXIST)
        return gw_fail_errno(why, "%s", log->config.directory);
    enum gw_err err = make_loop(log, why);
    if (!err)
        err = make_raft(log, why);
    return err ? err : begin(log, why);
}

enum gw_err gw__raft_log_open(const struct gw__raft_log_config *config,
                              struct gw__raft_log **opened,
                              struct gw_error *why)
{
    struct gw__raft_log *log = calloc(1, sizeof *log);
    *opened = NULL;
    if (!log)
        return gw_fail(why, GW_ENOMEM, "a log");
    log->config = *config;
    log->leader = config->count;
    pthread_mutex_init(&log->lock, NULL);
    gw__raft_fsm_init(log);
    enum gw_err err = prepare(log, why);
    if (err) {
        gw__raft_log_close(&log);
        return gw_wrap(why, err, "controller %u", config->index);
    }
    *opened = log;
    return GW_OK;
}

void gw__raft_log_cut(struct gw__raft_log *log, unsigned index, bool down)
{
    uint64_t bit = (uint64_t)1 << index;
    if (down)
        atomic_fetch_or(&log->cut, bit);
    else
        atomic_fetch_and(&log->cut, ~bit);
}
