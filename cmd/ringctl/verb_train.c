/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * train: work for a ring that has none.
 */
#include "ask.h"
#include "ringctl.h"
#include "task.h"
#include "tell.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct option_spec options[] = {
    TASK_SPECS,
    {0},
};

/* The supervisor may have been started elsewhere, so it gets whole paths; what
 * is not here it looks for in $GRADWIRE_DATA. */
static json_t *path_json(const char *path)
{
    char whole[PATH_MAX];
    if (!path)
        return json_null();
    return json_string(realpath(path, whole) ? whole : path);
}

static json_t *work_json(const struct work_options *w)
{
    if (w->kind == WORK_OPS)
        return json_pack("{sssss{sIsI}}", "verb", "train", "model", "ops",
                         "options", "bytes", (json_int_t)w->bytes, "count",
                         (json_int_t)w->count);
    json_t *given = json_pack("{sisisfsfsf}", "epochs", (int)w->epochs, "batch",
                              (int)w->batch, "rate", w->rate, "momentum",
                              w->momentum, "l2", w->l2);
    if (w->test)
        json_object_set_new(given, "test", path_json(w->test));
    return json_pack("{sssssoso}", "verb", "train", "model", w->model, "file",
                     path_json(w->file), "options", given);
}

static int run(int operand_count, char **operands)
{
    struct work_options work;
    struct gw_error why;
    if (task_parse(operand_count, operands, &work, &why))
        return complain(&why);
    return ask_and_tell(work_json(&work));
}

const struct command command_train = {
    .name = "train",
    .operands = "lr|softmax DATA | ops",
    .help = "give an idle ring a model to train, or ops to run",
    .examples = "ringctl train lr heart_scale --epochs 20\n"
                "ringctl train ops --bytes 1M --count 100\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 2,
    .run = run,
};
