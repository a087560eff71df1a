/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * train: gives work to an idle ring, or to idle parameter servers.
 */
#include "answer_output.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "run/supervisor/supervisor_options.h"
#include "task.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct option_spec options[] = {
    TASK_SPECS,
    {0},
};

/* The supervisor may have another working directory, so it gets full paths.
 * Missing files are searched for in $GRADWIRE_DATA. */
static const char *whole(const char *path, char out[PATH_MAX])
{
    return path && realpath(path, out) ? out : path;
}

static int run_train(int operand_count, char **operands)
{
    char network[PATH_MAX], file[PATH_MAX], test[PATH_MAX], snapshot[PATH_MAX];
    struct work_options work;
    struct gw_error why;
    if (task_parse(TASK_FOR_EITHER, operand_count, operands, &work, &why))
        return complain(&why);
    work.network = whole(work.network, network);
    work.file = whole(work.file, file);
    work.test = whole(work.test, test);
    work.snapshot = task_path(work.snapshot, snapshot);
    json_t *request = work_options_encode(&work);
    json_object_set_new(request, "verb", json_string("train"));
    return request_and_report(request);
}

const struct command command_train = {
    .name = "train",
    .operands = "MODEL [NET] [DATA] | ops",
    .help = "train a model on an idle run, or run ops on an idle ring",
    .examples = "ringctl train lr heart_scale --epochs 20\n"
                "ringctl train mf --mode ssp:2       parameter servers\n"
                "ringctl train ops --bytes 1M --count 100\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 3,
    .run = run_train,
};
