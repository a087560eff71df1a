/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See task.h.
 */
#include "task.h"

#include "ringctl.h"

#include <learn/task.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct work_options task_given;
unsigned task_count;

void task_options_begin(void)
{
    task_given = work_defaults;
    task_count = (unsigned)work_defaults.count;
}

/* Of what is given; NaN is not. */
static enum gw_err check_numbers(const struct work_options *w,
                                 struct gw_error *why)
{
    struct gw_ps_mode mode;
    double until;
    if (until_parse(w->until, &until, why))
        return GW_EINVAL;
    if (w->epochs == 0)
        return gw_fail(why, GW_EINVAL, "--epochs is at least 1");
    if (w->batch == 0)
        return gw_fail(why, GW_EINVAL, "--batch is at least 1");
    if (w->rate <= 0)
        return gw_fail(why, GW_EINVAL, "--lr is above 0, not %g", w->rate);
    if (w->momentum < 0 || w->momentum >= 1)
        return gw_fail(why, GW_EINVAL,
                       "--momentum is from 0 to below 1, not %g", w->momentum);
    if (w->l2 < 0)
        return gw_fail(why, GW_EINVAL, "--l2 is at least 0, not %g", w->l2);
    return w->mode ? gw_ps_mode_parse(w->mode, &mode, why) : GW_OK;
}

static bool learns_from_file(const char *name)
{
    const struct gw__task_model *model = gw__task_model(name);
    return !model || model->source == GW__TASK_READS;
}

static enum gw_err check_model(enum task_for whom, const char *model,
                               struct gw_error *why)
{
    enum gw_model_kind kind;
    struct gw_task_config config;
    if (whom == TASK_FOR_SERVERS)
        return gw_task_defaults(model, &config, why);
    if (whom == TASK_FOR_EITHER && !gw_task_defaults(model, &config, NULL))
        return GW_OK;
    return gw_model_parse(model, &kind, why);
}

enum gw_err task_parse(enum task_for whom, int count, char *const *words,
                       struct work_options *work, struct gw_error *why)
{
    *work = task_given;
    work->count = task_count;
    if (count > 0 && strcmp(words[0], "ops") == 0) {
        work->kind = WORK_OPS;
        if (count > 1)
            return gw_fail(why, GW_EINVAL, "ops takes no \"%.40s\"", words[1]);
        return work->bytes ? GW_OK
                           : gw_fail(why, GW_EINVAL, "--bytes is at least 1");
    }
    bool file =
        count == 0 || whom == TASK_FOR_RING || learns_from_file(words[0]);
    if (count != 1 + file)
        return gw_fail(why, GW_EINVAL,
                       file ? "train what? Write a model and a file: lr "
                              "heart_scale; or ops"
                            : "%s makes its own data",
                       count ? words[0] : "");
    if (check_model(whom, words[0], why))
        return why ? why->code : GW_EINVAL;
    work->kind = WORK_TRAIN;
    work->model = words[0];
    work->file = file ? words[1] : NULL;
    return check_numbers(work, why);
}

const char *task_path(const char *path, char out[PATH_MAX])
{
    char here[PATH_MAX];
    if (!path || *path == '/' || !getcwd(here, sizeof here))
        return path;
    int length = snprintf(out, PATH_MAX, "%s/%s", here, path);
    return length < PATH_MAX ? out : path;
}
