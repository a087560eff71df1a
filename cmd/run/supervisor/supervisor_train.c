/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Giving work to a running run, and saving its trained model.
 */
#include "supervisor_verbs.h"

#include "run/node/ps.h"
#include "run/node/work.h"

#include <string.h>

enum { ORACLE_NODES = 31 };

/* ---- work ---- */

void work_order_ops(const struct run *run, struct work_order *order)
{
    order->collective = run->algos.collective;
    order->whole = run->algos.whole;
    order->members = run->options.ranks;
}

/* A sum of all-reduces has a digit per node. */
static enum gw_err check_oracle(const struct run *run,
                                const struct work_order *order,
                                struct gw_error *why)
{
    if (order->kind != WORK_OPS)
        return GW_OK;
    if (order->whole)
        return work_collective_check(order, why);
    for (unsigned n = ORACLE_NODES; n < RUN_RANKS_MAX; n++)
        if (run->workers[n].known)
            return gw_fail(why, GW_EINVAL,
                           "ops can be verified only for nodes 0 to %d",
                           ORACLE_NODES - 1);
    return GW_OK;
}

/* Reads the data once, so that its errors are reported here. */
enum gw_err work_try(const struct run *run, const struct work_order *order,
                     struct gw_error *why)
{
    struct work *work = NULL;
    struct gw_task *task = NULL;
    enum gw_err code = GW_OK;
    if (order->kind == WORK_TRAIN && has_servers(run)) {
        code = ps_task_load(order, run->options.seed, &task, why);
        gw_task_destroy(&task);
    } else if (order->kind == WORK_TRAIN) {
        code = ring_algos_check_by_chunk(&run->algos, "train", why);
        if (!code)
            code = work_load(order, run->options.seed, &work, why);
        work_destroy(&work);
    }
    return code ? code : check_oracle(run, order, why);
}

static bool is_busy(const struct request *request)
{
    struct run *run = request->run;
    struct condition_values now;
    status_values(run, &now);
    if (run->work.kind == WORK_NONE)
        return false;
    if (has_servers(run)) {
        refuse(request, GW_EINVAL,
               "these servers already have work; a run with servers trains "
               "once");
        return true;
    }
    if (run->work.kind == WORK_PROGRAM) {
        refuse(request, GW_EINVAL,
               "the members are a program, which determines its own work");
        return true;
    }
    if (now.of[COND_done] > 0)
        return false;
    refuse(request, GW_EINVAL,
           "the ring is already working: step %.0f of %s; it accepts new work "
           "when this is complete",
           now.of[COND_step],
           run->work.kind == WORK_OPS ? "ops" : run->work.model);
    return true;
}

/* Its texts must outlast the request. */
static void keep_snapshot(struct run *run, const struct work_options *work)
{
    if (!work->snapshot)
        return;
    snprintf(run->snapshot, sizeof run->snapshot, "%s", work->snapshot);
    run->options.work.snapshot = run->snapshot;
}

void verb_train(const struct request *request)
{
    static struct work_order order; /* large */
    struct run *run = request->run;
    struct work_options options;
    struct gw_error why;
    if (is_busy(request))
        return;
    enum gw_err code = work_options_decode(request->json, &options, &why);
    if (!code)
        code = work_order_make(&run->options, &options, run->work.id + 1,
                               &order, &why);
    work_order_ops(run, &order);
    if (!code && order.kind == WORK_NONE)
        code = gw_fail(&why, GW_EINVAL,
                       has_servers(run)
                           ? "train: unknown model; use lr, linear, mf, ctr, "
                             "word2vec, deepwalk, drift, cartpole or net"
                           : "train: unknown model; use lr, softmax or ops");
    if (!code && !run->links.passed_by && work_aggregates(&order))
        code = gw_fail(&why, GW_EINVAL,
                       "train: aggregate=1 needs workers that have not "
                       "connected; use it with up");
    if (!code)
        code = work_try(run, &order, &why);
    if (code) {
        refuse(request, why.code, "%s", why.text);
        return;
    }
    run->work = order;
    keep_snapshot(run, &options);
    children_send_desired(run);
    const char *file = strrchr(order.file, '/');
    serve_answer(run, &request->requester, GW_OK, NULL,
                 "work started: %s%s%.200s, epoch %llu",
                 order.kind == WORK_OPS ? "ops" : order.model,
                 file ? " on " : "", file ? file + 1 : "",
                 (unsigned long long)run->update.view.epoch);
}

/* ---- errands ---- */

static void send_order(const struct request *request,
                       const struct directive_order *order)
{
    struct run *run = request->run;
    if (run->directive.order.id != run->directive.ended)
        refuse(request, GW_EINVAL,
               run->directive.order.kind == DIRECTIVE_MODE
                   ? "a change of the mode is already in progress"
                   : "a snapshot is already in progress");
    else
        later_directive(request, ps_members_request(run, order));
}

void verb_snapshot(const struct request *request)
{
    static struct directive_order order = {.kind =
                                               DIRECTIVE_SNAPSHOT}; /* large */
    const char *directory =
        json_string_value(json_object_get(request->json, "directory"));
    if (!has_servers(request->run)) {
        refuse(request, GW_ENOTSUP,
               "a ring has no snapshots, because each member has its whole "
               "state");
        return;
    }
    if (!directory || *directory != '/' || strlen(directory) >= FILE_MAX) {
        refuse(request, GW_EINVAL,
               "\"directory\" must be the absolute path of a directory");
        return;
    }
    snprintf(order.directory, sizeof order.directory, "%s", directory);
    send_order(request, &order);
}

void verb_mode(const struct request *request)
{
    static struct directive_order order = {.kind = DIRECTIVE_MODE}; /* large */
    const char *mode =
        json_string_value(json_object_get(request->json, "mode"));
    struct gw_error why;
    if (!has_servers(request->run))
        refuse(request, GW_ENOTSUP,
               "a ring has no mode, because all members wait for all others");
    else if (request->run->work.kind == WORK_NONE)
        refuse(request, GW_EINVAL,
               "no work is in progress; start it with train, then change the "
               "mode");
    else if (!mode)
        refuse(request, GW_EINVAL,
               "\"mode\" must be bsp, ssp:S, asp or kofn:K, optionally with "
               "+drop");
    else if (gw_ps_mode_parse(mode, &order.mode, &why) ||
             work_check_mode(&request->run->work, &order.mode, &why))
        refuse(request, why.code, "%s", why.text);
    else
        send_order(request, &order);
}
