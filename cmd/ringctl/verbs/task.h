/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The work of a ring or of parameter servers, as options of `up` and `train`:
 * the words "train MODEL DATA" or "ops", and their options. Missing options get
 * the ring's or the model's own default.
 */
#ifndef TASK_H
#define TASK_H

#include "common/command.h"
#include "run/supervisor/supervisor.h"
#include "run/until.h"

#include <limits.h>

/* The values of TASK_SPECS. */
extern struct work_options task_values;
extern unsigned task_count;

/* clang-format off */
#define TASK_SPECS                                                             \
    {"test", 't', OPTION_TEXT, &task_values.test, "FILE",                      \
     "Test rows for the finished model.", NULL},                               \
    {"epochs", 'E', OPTION_UNSIGNED, &task_values.epochs, "N",                 \
     "Passes over the data. Default for a ring: 20.", NULL},                   \
    {"batch", 'b', OPTION_UNSIGNED, &task_values.batch, "ROWS",                \
     "Rows per step: per member of a ring (default 32), of all workers of "    \
     "servers.", NULL},                                                        \
    {"lr", 0, OPTION_REAL, &task_values.rate, "RATE",                          \
     "Learning rate. Default for a ring: 0.5.", NULL},                         \
    {"momentum", 0, OPTION_REAL, &task_values.momentum, "M",                   \
     "Share of the last step's velocity that is kept. Default for a ring: "    \
     "0.9.", NULL},                                                            \
    {"l2", 0, OPTION_REAL, &task_values.l2, "L",                               \
     "Weight decay. Default for a ring: 1e-4.", NULL},                         \
    {"mode", 0, OPTION_TEXT, &task_values.mode, "MODE",                        \
     "Servers: bsp, ssp:S, asp or kofn:K, each optionally with +drop. "        \
     "Default: bsp.", NULL},                                                   \
    {"parts", 0, OPTION_UNSIGNED, &task_values.parts, "P",                     \
     "Servers: parts of a batch; 0: one per worker.", NULL},                   \
    {"set", 0, OPTION_LIST, &task_values.settings, "NAME=VALUE,...",           \
     "Servers: further settings of the model and switches; ring: on-demand.",  \
     NULL},                                                                    \
    UNTIL_OPTION(task_values.until),                                           \
    {"snapshot", 0, OPTION_TEXT, &task_values.snapshot, "DIR",                 \
     "Servers: write a snapshot to DIR when the training is complete.", NULL}, \
    {"bytes", 0, OPTION_BYTES, &task_values.bytes, "SIZE",                     \
     "ops: bytes of each buffer, of all its blocks.", NULL},                   \
    {"count", 0, OPTION_UNSIGNED, &task_count, "K",                            \
     "ops: number of collectives; 0: until the run ends.", NULL}
/* clang-format on */

/* The kind of run; EITHER: for options valid in both. */
enum task_for { TASK_FOR_RING, TASK_FOR_SERVERS, TASK_FOR_EITHER };
/* "lr DATA", "softmax DATA", "mf" or "ops" into *work, with the options. */
GW_MUST_CHECK enum gw_err task_parse(enum task_for whom, int count,
                                     char *const *words,
                                     struct work_options *work,
                                     struct gw_error *why);

/* The full path as seen from here, whether it exists or not; NULL stays. */
const char *task_path(const char *path, char out[PATH_MAX]);

#endif
