/* SPDX-License-Identifier: MIT
 *
 * Opens the log: memory, loop, libraft with its back end, and the data on disk.
 * See raft_log.h.
 */
#include "raft_dir.h"
#include "raft_log_parts.h"
#include "raft_segment.h"

#include "base/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    SNAPSHOT_EVERY = 512, /* entries */
    TRAILING = 256,       /* entries kept for lagging followers */
    CONNECT_MS = 50,
    /* A snapshot that arrives while another is being written is ignored. For
     * this time a follower that has not answered a snapshot gets no other
     * message. */
    INSTALL_MS = 1000
};

static void nothing(uv_work_t *work)
{
    (void)work;
}

static void nothing_after(uv_work_t *work, int status)
{
    (void)work;
    (void)status;
}

static enum gw_err broken(int failed, const char *what, struct gw_error *why)
{
    return gw_fail(why, failed == UV_ENOMEM ? GW_ENOMEM : GW_ESYS, "%s: %s",
                   what, uv_strerror(failed));
}

/* libuv starts its threads with the first work, and ends the process if it
 * cannot. So threads are tested first, and then started at once. */
static enum gw_err make_loop(struct gw__raft_log *log, struct gw_error *why)
{
    enum { LIBUV_THREADS = 4, LIBUV_BYTES = 4 << 20 };
    enum gw_err err = gw__threads_try(LIBUV_THREADS, LIBUV_BYTES,
                                      "the controllers' log", why);
    if (err)
        return err;
    int failed = uv_loop_init(&log->loop);
    if (failed)
        return broken(failed, "a loop", why);
    failed = gw__raft_log_init_handles(log);
    if (failed) {
        uv_loop_close(&log->loop);
        return broken(failed, "a bell", why);
    }
    log->has_loop = true;
    uv_queue_work(&log->loop, &log->first_work, nothing, nothing_after);
    return GW_OK;
}

static enum gw_err fail_open(const struct gw__raft_log *log, int failed,
                             const char *what, struct gw_error *why)
{
    const char *more = log->io.errmsg[0] ? log->io.errmsg : "";
    return gw_fail(why, failed == RAFT_NOMEM ? GW_ENOMEM : GW_ESYS,
                   "%s: %s%s%s", what, gw__raft_log_text(failed),
                   *more ? ": " : "", more);
}

static enum gw_err make_transport(struct gw__raft_log *log,
                                  struct gw_error *why)
{
    if (log->config.count == 1) {
        gw__raft_channel_none(log);
        return GW_OK;
    }
    if (log->config.security.key_file)
        return gw__raft_channel_open(log, why);
    int failed = raft_uv_tcp_init(&log->transport, &log->loop);
    log->has_tcp = !failed;
    return failed ? fail_open(log, failed, "a transport", why) : GW_OK;
}

static enum gw_err make_raft(struct gw__raft_log *log, struct gw_error *why)
{
    const struct gw__raft_log_config *c = &log->config;
    int failed =
        raft_uv_init(&log->io, &log->loop, c->directory, &log->transport);
    if (failed)
        return fail_open(log, failed, c->directory, why);
    log->has_uv = true;
    gw__raft_io_init(log);
    raft_uv_set_segment_size(&log->io, GW__RAFT_SEGMENT_BYTES);
    raft_uv_set_auto_recovery(&log->io, false);
    raft_uv_set_connect_retry_delay(&log->io, CONNECT_MS);
    raft_uv_set_snapshot_compression(&log->io, false);
    failed = raft_init(&log->raft, &log->io, &log->fsm, c->index + 1,
                       c->addresses[c->index]);
    if (failed)
        return fail_open(log, failed, c->directory, why);
    log->has_raft = true;
    log->raft.data = log;
    raft_set_election_timeout(&log->raft, c->election_ms);
    raft_set_heartbeat_timeout(&log->raft, c->heartbeat_ms);
    raft_set_snapshot_threshold(&log->raft, SNAPSHOT_EVERY);
    raft_set_snapshot_trailing(&log->raft, TRAILING);
    raft_set_install_snapshot_timeout(&log->raft, INSTALL_MS);
    raft_set_pre_vote(&log->raft, true);
    return GW_OK;
}

/* All of them vote from the first start on; later starts read that from
 * disk. */
static enum gw_err start_raft(struct gw__raft_log *log, struct gw_error *why)
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
        return fail_open(log, failed, c->directory, why);
    failed = raft_start(&log->raft);
    if (failed == RAFT_IOERR && !log->io.errmsg[0]) /* not of the disk */
        return gw_fail(why, GW_ESYS,
                       "cannot listen at %s; another process may have the port",
                       c->addresses[c->index]);
    return failed ? fail_open(log, failed, c->addresses[c->index], why) : GW_OK;
}

static enum gw_err prepare_log(struct gw__raft_log *log, struct gw_error *why)
{
    log->replica = calloc(1, sizeof *log->replica);
    log->filling.bytes = malloc(GW__RAFT_WISHES_BYTES);
    log->working.bytes = malloc(GW__RAFT_WISHES_BYTES);
    if (!log->replica || !log->filling.bytes || !log->working.bytes)
        return gw_fail(why, GW_ENOMEM, "a log");
    gw__registry_init(log->replica);
    snprintf(log->path, sizeof log->path, "%s", log->config.directory);
    for (unsigned i = 0; i < log->config.count; i++)
        snprintf(log->addresses[i], sizeof log->addresses[i], "%s",
                 log->config.addresses[i]);
    enum gw_err err = gw__raft_channel_check(&log->config, why);
    if (err)
        return err;
    if (mkdir(log->config.directory, 0700) && errno != EEXIST)
        return gw_fail_errno(why, "%s", log->config.directory);
    err = gw__raft_dir_check(log->config.directory, log->config.accept_loss,
                             &log->ack, why);
    if (!err)
        err = make_loop(log, why);
    if (!err)
        err = make_transport(log, why);
    if (!err)
        err = make_raft(log, why);
    return err ? err : start_raft(log, why);
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
    enum gw_err err = prepare_log(log, why);
    if (err) {
        gw__raft_log_close(&log);
        return gw_wrap(why, err, "controller %u", config->index);
    }
    *opened = log;
    return GW_OK;
}
