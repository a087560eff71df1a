/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See task.h.
 */
#include "task.h"

#include "ringctl.h"

#include <string.h>

struct work_options task_given;
unsigned task_count;

void task_options_begin(void)
{
    task_given = work_defaults;
    task_count = (unsigned)work_defaults.count;
}

static enum gw_err check_training(const struct work_options *w,
                                  struct gw_error *why)
{
    if (w->epochs == 0)
        return gw_fail(why, GW_EINVAL, "--epochs is at least 1");
    if (w->batch == 0)
        return gw_fail(why, GW_EINVAL, "--batch is at least 1");
    if (!(w->rate > 0))
        return gw_fail(why, GW_EINVAL, "--lr is above 0, not %g", w->rate);
    if (w->momentum < 0 || w->momentum >= 1)
        return gw_fail(why, GW_EINVAL,
                       "--momentum is from 0 to below 1, not %g", w->momentum);
    if (w->l2 < 0)
        return gw_fail(why, GW_EINVAL, "--l2 is at least 0, not %g", w->l2);
    return GW_OK;
}

enum gw_err task_parse(int count, char *const *words, struct work_options *work,
                       struct gw_error *why)
{
    enum gw_model_kind kind;
    *work = task_given;
    work->count = task_count;
    if (count > 0 && strcmp(words[0], "ops") == 0) {
        work->kind = WORK_OPS;
        if (count > 1)
            return gw_fail(why, GW_EINVAL, "ops takes no \"%.40s\"", words[1]);
        return work->bytes ? GW_OK
                           : gw_fail(why, GW_EINVAL, "--bytes is at least 1");
    }
    if (count != 2)
        return gw_fail(why, GW_EINVAL,
                       "train what? Write a model and a file: lr heart_scale; "
                       "or ops");
    if (gw_model_parse(words[0], &kind, why))
        return why ? why->code : GW_EINVAL;
    work->kind = WORK_TRAIN;
    work->model = words[0];
    work->file = words[1];
    return check_training(work, why);
}
