/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of work for the members of a run, from the given options: missing
 * options get their defaults, invalid ones are reported here, and files are
 * found, so that every member opens the same.
 */
#include "supervisor_links.h"
#include "supervisor_options.h"

#include "run/node/settings.h"
#include "run/until.h"

#include <learn/tasks/task.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rings ---- */

/* For options that are not given. */
static const struct work_options ring_defaults = {
    .epochs = 20, .batch = 32, .rate = 0.5, .momentum = 0.9, .l2 = 1e-4};

static enum gw_err check_training(const struct work_options *work,
                                  struct gw_error *why)
{
    enum gw_model_kind kind;
    if (!work->model || !work->file)
        return gw_fail(why, GW_EINVAL,
                       "train: name a model and a file of rows");
    enum gw_err code = gw_model_parse(work->model, &kind, why);
    if (code)
        return code;
    if (work->epochs == 0 || work->batch == 0)
        return gw_fail(why, GW_EINVAL, "epochs and batch must be at least 1");
    if (!(work->rate > 0) || !isfinite(work->rate))
        return gw_fail(why, GW_EINVAL,
                       "the learning rate must be greater than 0, not %g",
                       work->rate);
    if (!(work->l2 >= 0) || !isfinite(work->l2))
        return gw_fail(why, GW_EINVAL, "l2 must be at least 0, not %g",
                       work->l2);
    if (!(work->momentum >= 0 && work->momentum < 1))
        return gw_fail(why, GW_EINVAL,
                       "momentum must be at least 0 and less than 1, not %g",
                       work->momentum);
    return GW_OK;
}

/* A ring has one setting. */
static enum gw_err apply_settings(const char *text, struct work_order *order,
                                  struct gw_error *why)
{
    order->on_demand = text && strcmp(text, "on-demand=1") == 0;
    if (!text || order->on_demand || strcmp(text, "on-demand=0") == 0)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "a ring has only the setting on-demand, which must be 0 or "
                   "1");
}

static enum gw_err check_ops(const struct work_options *work,
                             struct gw_error *why)
{
    enum { MOST = 1 << 30 };
    if (work->bytes < sizeof(int64_t) || work->bytes > MOST)
        return gw_fail(why, GW_EINVAL,
                       "the size of ops must be from 8 bytes to 1G, not %llu",
                       (unsigned long long)work->bytes);
    return GW_OK;
}

static enum gw_err order_ring(const struct work_options *options,
                              struct work_order *order, struct gw_error *why)
{
    struct work_options work = *options;
    if (work.kind == WORK_OPS)
        return check_ops(&work, why);
    if (work.kind == WORK_PROGRAM) {
        snprintf(order->program, sizeof order->program, "%s", work.program);
        return GW_OK;
    }
    if (work.epochs == WORK_UNSET)
        work.epochs = ring_defaults.epochs;
    if (work.batch == WORK_UNSET)
        work.batch = ring_defaults.batch;
    work.rate = isnan(work.rate) ? ring_defaults.rate : work.rate;
    work.momentum =
        isnan(work.momentum) ? ring_defaults.momentum : work.momentum;
    work.l2 = isnan(work.l2) ? ring_defaults.l2 : work.l2;
    order->epochs = work.epochs;
    order->batch = work.batch;
    order->rate = work.rate;
    order->momentum = work.momentum;
    order->l2 = work.l2;
    enum gw_err code = apply_settings(work.settings, order, why);
    return code ? code : check_training(&work, why);
}

/* ---- parameter servers ---- */

struct pairs {
    char *out;
    size_t room, used;
};

GW_PRINTF(2, 3)
static void add_pair(struct pairs *pairs, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (pairs->used < pairs->room)
        pairs->used += (size_t)vsnprintf(
            pairs->out + pairs->used, pairs->room - pairs->used, format, args);
    va_end(args);
}

/* Collects all given settings as pairs; the later ones win. */
static enum gw_err gather_settings(const struct work_options *work,
                                   char out[RUN_SETTINGS_MAX],
                                   struct gw_error *why)
{
    struct pairs pairs = {out, RUN_SETTINGS_MAX, 0};
    *out = 0;
    if (work->epochs != WORK_UNSET)
        add_pair(&pairs, "epochs=%u ", work->epochs);
    if (work->batch != WORK_UNSET)
        add_pair(&pairs, "batch=%u ", work->batch);
    if (!isnan(work->rate))
        add_pair(&pairs, "rate=%.17g ", work->rate);
    if (!isnan(work->momentum))
        add_pair(&pairs, "momentum=%.17g ", work->momentum);
    if (!isnan(work->l2))
        add_pair(&pairs, "l2=%.17g ", work->l2);
    add_pair(&pairs, "%s", work->settings ? work->settings : "");
    return pairs.used < pairs.room
               ? GW_OK
               : gw_fail(why, GW_EINVAL, "the settings are too long: %zu bytes",
                         pairs.used);
}

static enum gw_err order_parts(const struct run_options *run,
                               const struct work_options *work,
                               struct work_order *order, struct gw_error *why)
{
    order->workers = run->ranks;
    order->parts = work->parts;
    unsigned least = work->parts ? work->parts : run->ranks;
    if (order->parts > GW_PS_NODES)
        return gw_fail(
            why, GW_EINVAL,
            "the number of parts of a batch must be from 1 to %d, not %u",
            GW_PS_NODES, order->parts);
    if (gw_ps_mode_parse(work->mode ? work->mode : "bsp", &order->mode, why))
        return GW_EINVAL;
    if (order->mode.kind == GW_PS_KOFN && order->mode.bound > least)
        return gw_fail(why, GW_EINVAL,
                       "kofn:%u needs more parts than the %u of a batch",
                       order->mode.bound, least);
    return GW_OK;
}

/* The threads of a worker write the rows of its item without locks. That is
 * refused where it breaks a promise or where there are no such rows. */
static enum gw_err check_hogwild(const struct settings *settings,
                                 const struct gw_ps_mode *mode,
                                 struct gw_error *why)
{
    char name[24];
    if (!settings->server.hogwild)
        return GW_OK;
    if (!gw_task_shares_rows(settings->task.kind))
        return gw_fail(why, GW_EINVAL,
                       "hogwild: %s has no rows that threads share; use lr, "
                       "linear, mf, ctr or word2vec",
                       gw_task_name(settings->task.kind));
    if (mode->kind != GW_PS_ASP)
        return gw_fail(why, GW_EINVAL,
                       "hogwild needs mode asp, not %s, because updates that "
                       "threads overwrite are lost",
                       gw_ps_mode_print(mode, name, sizeof name));
    return GW_OK;
}

bool work_aggregates(const struct work_order *work)
{
    struct settings settings;
    const char *model = *work->model ? work->model : NULL;
    return !settings_parse(model, work->settings, &settings, NULL) &&
           settings.worker.aggregate;
}

enum gw_err work_check_mode(const struct work_order *work,
                            const struct gw_ps_mode *mode, struct gw_error *why)
{
    struct settings settings;
    enum gw_err code =
        settings_parse(work->model, work->settings, &settings, why);
    return code ? code : check_hogwild(&settings, mode, why);
}

static enum gw_err check_files(const char *name, unsigned files,
                               struct gw_error *why)
{
    const struct gw__task_model *model = gw__task_model(name);
    if (files < model->files_min)
        return gw_fail(why, GW_EINVAL, "train %s: missing operand; name a %s",
                       name,
                       model->files_min == 1 ? "file" : "network and a file");
    if (files <= model->files_max)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   model->files_max ? "%s takes one file"
                                    : "%s makes its own data; remove the file",
                   name);
}

enum gw_err work_set_operands(int count, char *const *operands,
                              struct work_options *work, struct gw_error *why)
{
    struct gw_task_config config;
    enum gw_err code = gw_task_defaults(operands[0], &config, why);
    if (!code)
        code = check_files(operands[0], (unsigned)count - 1, why);
    if (code)
        return code;
    work->model = operands[0];
    work->network = count > 2 ? operands[1] : NULL;
    work->file = count > 1 ? operands[count - 1] : NULL;
    return GW_OK;
}

static enum gw_err order_servers(const struct run_options *run,
                                 const struct work_options *work,
                                 struct work_order *order, struct gw_error *why)
{
    struct settings settings;
    const char *model = work->kind == WORK_TRAIN ? work->model : NULL;
    if (work->kind == WORK_OPS)
        return gw_fail(why, GW_EINVAL,
                       "ops are only for rings; parameter servers train a "
                       "model");
    if (work->kind == WORK_PROGRAM)
        return gw_fail(
            why, GW_EINVAL,
            "exec is only for rings; with servers, start the program "
            "as a psnode worker");
    if (work->kind == WORK_TRAIN && !model)
        return gw_fail(why, GW_EINVAL, "train: name a model");
    enum gw_err code = gather_settings(work, order->settings, why);
    if (!code)
        code = settings_parse(model, order->settings, &settings, why);
    if (!code)
        code = settings_check_hogwild(&settings, why);
    if (!code)
        code = settings_check_aggregate(&settings, run->ranks, why);
    if (!code && settings.worker.aggregate && run->topo)
        code = gw_fail(why, GW_EINVAL, "--topo: %s", links_passed_by);
    if (code || !model)
        return code;
    order->epochs = (unsigned)settings.task.epochs;
    if (settings.task.epochs == 0 || settings.task.epochs > INT32_MAX)
        return gw_fail(why, GW_EINVAL, "epochs must be from 1 to 2147483647");
    code = check_files(model, (work->network ? 1U : 0) + (work->file ? 1U : 0),
                       why);
    if (!code)
        code = order_parts(run, work, order, why);
    if (!code && settings.server.hogwild && run->straggler)
        code = gw_fail(why, GW_EINVAL,
                       "hogwild needs mode asp, which --straggler changes");
    return code ? code : check_hogwild(&settings, &order->mode, why);
}

/* ---- files ---- */

/* As given, else in $GRADWIRE_DATA. Returns a full path, since the members may
 * have another working directory. */
static enum gw_err find_file(const char *name, char out[FILE_MAX],
                             struct gw_error *why)
{
    char path[FILE_MAX];
    const char *data = getenv("GRADWIRE_DATA");
    if (realpath(name, out))
        return GW_OK;
    if (data && *data && *name != '/') {
        snprintf(path, sizeof path, "%s/%s", data, name);
        if (realpath(path, out))
            return GW_OK;
    }
    return gw_fail(why, GW_EDATA, "%.200s: no such file%s", name,
                   data && *data && *name != '/' ? ", nor in $GRADWIRE_DATA"
                                                 : "");
}

enum gw_err work_order_make(const struct run_options *run,
                            const struct work_options *work, uint64_t id,
                            struct work_order *order, struct gw_error *why)
{
    memset(order, 0, sizeof *order);
    order->id = id;
    order->kind = work->kind;
    order->bytes = work->bytes;
    order->count = work->count;
    enum gw_err code = until_parse(work->until, &order->until, why);
    if (code)
        return code;
    if (run->servers)
        code = order_servers(run, work, order, why);
    else if (work->kind != WORK_NONE)
        code = order_ring(work, order, why);
    if (code || work->kind != WORK_TRAIN)
        return code;
    snprintf(order->model, sizeof order->model, "%s", work->model);
    if (work->network)
        code = find_file(work->network, order->network, why);
    if (!code && work->file)
        code = find_file(work->file, order->file, why);
    return code || !work->test ? code : find_file(work->test, order->test, why);
}
