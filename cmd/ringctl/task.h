/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a ring is to do, as `up` and `train` take it: the words "train MODEL
 * DATA" or "ops", and the options that go with them.
 */
#ifndef TASK_H
#define TASK_H

#include "common/command.h"
#include "run/supervisor.h"

/* Where the options of TASK_SPECS go. */
extern struct work_options task_given;
extern unsigned task_count;

/* clang-format off */
#define TASK_SPECS                                                             \
    {"test", 't', OPTION_TEXT, &task_given.test, "FILE",                       \
     "rows to judge the finished model by", NULL},                             \
    {"epochs", 'E', OPTION_UNSIGNED, &task_given.epochs, "N",                  \
     "times that each row is seen", NULL},                                     \
    {"batch", 'b', OPTION_UNSIGNED, &task_given.batch, "ROWS",                 \
     "rows of a member in a step", NULL},                                      \
    {"lr", 0, OPTION_REAL, &task_given.rate, "RATE", "learning rate", NULL},   \
    {"momentum", 0, OPTION_REAL, &task_given.momentum, "M",                    \
     "share of the last step's velocity that is kept", NULL},                  \
    {"l2", 0, OPTION_REAL, &task_given.l2, "L", "weight decay", NULL},         \
    {"bytes", 0, OPTION_BYTES, &task_given.bytes, "SIZE",                      \
     "ops: of each all-reduce", NULL},                                         \
    {"count", 0, OPTION_UNSIGNED, &task_count, "K",                            \
     "ops: how many; 0: until the run ends", NULL}
/* clang-format on */

/* "lr DATA", "softmax DATA" or "ops" into *work, with the options. */
GW_MUST_CHECK enum gw_err task_parse(int count, char *const *words,
                                     struct work_options *work,
                                     struct gw_error *why);

#endif
