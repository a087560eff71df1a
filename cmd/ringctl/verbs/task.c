/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See task.h.
 */
#include "task.h"

#include "ringctl/ringctl.h"
#include "run/supervisor/supervisor_options.h"

#include <gradwire/train.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct work_options task_values;
unsigned task_count;

void task_options_begin(void)
{
    task_values = work_defaults;
    task_count = (unsigned)work_defaults.count;
}

/* Checks the given numbers; NaN is not given. */
static enum gw_err check_numbers(const struct work_options *w,
                                 struct gw_error *why)
{
    struct gw_ps_mode mode;
    double until;
    if (until_parse(w->until, &until, why))
        return GW_EINVAL;
    if (w->epochs == 0)
        return gw_fail(why, GW_EINVAL, "--epochs must be at least 1");
    if (w->batch == 0)
        return gw_fail(why, GW_EINVAL, "--batch must be at least 1");
    if (w->rate <= 0)
        return gw_fail(why, GW_EINVAL, "--lr must be greater than 0, not %g",
                       w->rate);
    if (w->momentum < 0 || w->momentum >= 1)
        return gw_fail(why, GW_EINVAL,
                       "--momentum must be at least 0 and less than 1, not %g",
                       w->momentum);
    if (w->l2 < 0)
        return gw_fail(why, GW_EINVAL, "--l2 must be at least 0, not %g",
                       w->l2);
    return w->mode ? gw_ps_mode_parse(w->mode, &mode, why) : GW_OK;
}

enum gw_err task_parse(enum task_for whom, int count, char *const *words,
                       struct work_options *work, struct gw_error *why)
{
    *work = task_values;
    work->count = task_count;
    if (count > 0 && strcmp(words[0], "ops") == 0) {
        work->kind = WORK_OPS;
        if (count > 1)
            return gw_fail(why, GW_EINVAL, "ops: unexpected operand \"%.40s\"",
                           words[1]);
        return work->bytes
                   ? GW_OK
                   : gw_fail(why, GW_EINVAL, "--bytes must be at least 1");
    }
    struct gw_task_config config;
    enum gw_model_kind kind;
    work->kind = WORK_TRAIN;
    if (count == 0)
        return gw_fail(why, GW_EINVAL,
                       "train: missing operand; name a model and a file, such "
                       "as lr heart_scale, or ops");
    if (whom == TASK_FOR_SERVERS ||
        (whom == TASK_FOR_EITHER &&
         !gw_task_defaults(words[0], &config, NULL))) {
        if (work_set_operands(count, words, work, why))
            return GW_EINVAL;
        return check_numbers(work, why);
    }
    if (gw_model_parse(words[0], &kind, why))
        return GW_EINVAL;
    if (count != 2)
        return gw_fail(why, GW_EINVAL, "train %s: missing operand; name a file",
                       words[0]);
    work->model = words[0];
    work->file = words[1];
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
