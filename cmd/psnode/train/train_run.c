/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One run, followed from outside as by ringctl and ringtop: its status is
 * requested ten times a second. If workers should be slow, the run is started
 * idle and gets its work after their delays have been set.
 */
#include "train.h"

#include "common/command.h"
#include "common/rpc_client.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_NS       UINT64_C(30000000000)
#define SNAPSHOT_NS      UINT64_C(600000000000)
#define POLL_INTERVAL_NS UINT64_C(50000000)
#define DRAW_NS          UINT64_C(20000000)

struct follow_run {
    const struct train_spec *spec;
    const struct train_observer *observer;
    struct rpc_client *client;
    struct gw_rng rng;
    pid_t supervisor;
};

static enum gw_err send_request(struct rpc_client *client, json_t *request,
                                uint64_t timeout_ns, struct gw_error *why)
{
    json_t *answer;
    enum gw_err code = rpc_client_do(client, request, timeout_ns, &answer, why);
    json_decref(answer);
    return code;
}

/* ---- slowness ---- */

static enum gw_err slow(struct follow_run *f, unsigned worker, uint64_t ns,
                        struct gw_error *why)
{
    return send_request(f->client,
                        json_pack("{s:s, s:s, s:i, s:I}", "verb", "slow",
                                  "role", "worker", "node", (int)worker, "ns",
                                  (json_int_t)ns),
                        REQUEST_NS, why);
}

static enum gw_err slow_all(struct follow_run *f, struct gw_error *why)
{
    const struct train_delays *delays = &f->spec->delays;
    enum gw_err code = GW_OK;
    for (unsigned k = 0; k < f->spec->run.ranks && !code; k++) {
        double share = delays->random ? -log(1 - gw_rng_unit(&f->rng)) : 1;
        uint64_t ns = (uint64_t)((double)delays->ns[k] * share);
        if (delays->random || ns)
            code = slow(f, k, ns, why);
    }
    return code;
}

static enum gw_err send_work(struct follow_run *f, struct gw_error *why)
{
    json_t *request = work_options_encode(&f->spec->run.work);
    json_object_set_new(request, "verb", json_string("train"));
    return send_request(f->client, request, REQUEST_NS, why);
}

/* ---- start ---- */

enum gw_err train_whole_path(const char *path, char *out, size_t room,
                             struct gw_error *why)
{
    char here[PATH_MAX] = "";
    if (*path != '/' && !getcwd(here, sizeof here))
        return gw_fail_errno(why, "the current directory");
    int used = snprintf(out, room, "%s%s%s", here, *here ? "/" : "", path);
    return used > 0 && (size_t)used < room
               ? GW_OK
               : gw_fail(why, GW_EINVAL, "the path %.40s... is too long", path);
}

static enum gw_err start_run(struct follow_run *f, struct train_spec *spec,
                             struct gw_error *why)
{
    struct run_options options = spec->run;
    if (spec->delays.is_set)
        options.work = work_defaults;
    enum gw_err code = supervisor_start(&options, why);
    if (code)
        return code;
    memcpy(spec->run.run, options.run, sizeof options.run);
    f->supervisor = options.supervisor;
    code = rpc_client_open(spec->run.run, &f->client, why);
    if (!code && spec->delays.is_set)
        code = slow_all(f, why);
    if (!code && spec->delays.is_set)
        code = send_work(f, why);
    return code;
}

/* ---- following a run ---- */

static void nap(uint64_t ns)
{
    const struct timespec nap = {.tv_nsec = (long)ns};
    nanosleep(&nap, NULL);
}

/* Also when the callback has seen enough. */
static enum gw_err poll_status(struct follow_run *f, bool *done,
                               struct gw_error *why)
{
    json_t *status;
    enum gw_err code = rpc_client_status(f->client, REQUEST_NS, &status, why);
    if (code)
        return code;
    *done = integer_of(status, "done", 0) > 0;
    bool ended = strcmp(text_of(status, "state", ""), "ended") == 0;
    bool enough = !f->observer->status(f->observer->context, status);
    json_t *result = json_object_get(status, "result");
    if (json_is_true(json_object_get(result, "diverged")))
        code = gw_fail(why, GW_EWRONG,
                       "training diverges after step %d, in epoch %d: a loss "
                       "or a gradient is NaN or infinite; use a lower rate",
                       (int)integer_of(result, "steps", 0),
                       (int)integer_of(result, "data_epochs", 0) + 1);
    else if (json_object_get(result, "unsaved"))
        code = gw_fail(why, GW_ESYS, "%s", text_of(result, "unsaved", ""));
    else if (ended && !*done && !enough)
        code = gw_fail(why, GW_EINTR, "the run was ended by another process");
    *done = *done || enough;
    json_decref(status);
    return code;
}

/* The trouble of the run: ": server 1 is paused"; "" when all members work. */
static void report_trouble(const json_t *status, char *out, size_t room)
{
    size_t i, used = 0;
    json_t *node, *nodes = json_object_get(status, "nodes");
    *out = 0;
    json_array_foreach(nodes, i, node)
    {
        const char *state = text_of(node, "state", "?");
        if (strcmp(state, "alive") != 0 && strcmp(state, "left") != 0 &&
            used < room)
            used += (size_t)snprintf(out + used, room - used, "%s %s %d is %s",
                                     used ? "," : ":",
                                     text_of(node, "role", "node"),
                                     (int)integer_of(node, "node", -1), state);
    }
}

static enum gw_err report_timeout(struct follow_run *f, struct gw_error *why)
{
    json_t *status;
    char trouble[200];
    enum gw_err code = rpc_client_status(f->client, REQUEST_NS, &status, why);
    if (code)
        return code;
    const json_t *clock = json_object_get(status, "clocks");
    report_trouble(status, trouble, sizeof trouble);
    gw_fail(why, GW_ETIMEOUT,
            "training not complete in time: batch %d of %d in epoch %d%s",
            (int)integer_of(clock, "batch", 0),
            (int)integer_of(clock, "batches", 0),
            (int)integer_of(clock, "data_epoch", 0), trouble);
    json_decref(status);
    return GW_ETIMEOUT;
}

static enum gw_err follow_run(struct follow_run *f, struct gw_error *why)
{
    uint64_t began_ns = gw_now_ns(), polled_ns = 0;
    bool done = false, random = f->spec->delays.random;
    enum gw_err code = GW_OK;
    while (!code && !done) {
        uint64_t now = gw_now_ns();
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        if (common.timeout_ns && now - began_ns > common.timeout_ns)
            return report_timeout(f, why);
        if (random)
            code = slow_all(f, why);
        if (!code && now - polled_ns >= POLL_INTERVAL_NS) {
            polled_ns = now;
            code = poll_status(f, &done, why);
        }
        if (!code && !done)
            nap(random ? DRAW_NS : POLL_INTERVAL_NS);
    }
    if (!code && f->observer->done)
        code = f->observer->done(f->observer->context, f->spec->run.run, why);
    return code;
}

/* Also after Ctrl-C, and when the connection has failed. */
static void end_run(struct follow_run *f)
{
    struct gw_error why;
    int was_interrupted = interrupted;
    interrupted = 0; /* else the wait for an answer would end at once */
    enum gw_err code =
        f->client ? send_request(f->client, json_pack("{ss}", "verb", "down"),
                                 REQUEST_NS, &why)
                  : GW_EINTR; /* during attaching */
    if (code && code != GW_EUNREACH && f->supervisor > 0)
        kill(f->supervisor, SIGTERM);
    rpc_client_close(&f->client);
    interrupted = was_interrupted;
}

enum gw_err train_run(struct train_spec *spec,
                      const struct train_observer *observer,
                      struct gw_error *why)
{
    struct follow_run f = {.spec = spec, .observer = observer};
    interrupt_by_terminal();
    gw_rng_seed(&f.rng, spec->run.seed);
    enum gw_err code = start_run(&f, spec, why);
    if (!code)
        code = follow_run(&f, why);
    end_run(&f);
    progress("%s", "");
    return code;
}

enum gw_err train_snapshot(const char *run, const char *directory,
                           struct gw_error *why)
{
    struct rpc_client *client;
    char whole[PATH_MAX];
    enum gw_err code = train_whole_path(directory, whole, sizeof whole, why);
    if (!code)
        code = rpc_client_open(run, &client, why);
    if (code)
        return code;
    uint64_t timeout_ns = common.timeout_ns ? common.timeout_ns : SNAPSHOT_NS;
    code = send_request(client,
                        json_pack("{s:s, s:s, s:I}", "verb", "snapshot",
                                  "directory", whole, "timeout_ns",
                                  (json_int_t)timeout_ns),
                        timeout_ns, why);
    rpc_client_close(&client);
    return code;
}
