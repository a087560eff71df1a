/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a ring is to do, as `up` and `train` take it: the words "train MODEL
 * DATA" or "ops", and the options that go with them.
 */
#ifndef WORK_WORDS_H
#define WORK_WORDS_H

#include "common/command.h"
#include "supervisor.h"

/* Where the options of WORK_SPECS go. */
extern struct work_options work_given;
extern unsigned work_count;

/* clang-format off */
#define WORK_SPECS                                                             \
    {"test", 't', OPTION_TEXT, &work_given.test, "FILE",                       \
     "rows to judge the finished model by", NULL},                             \
    {"epochs", 'E', OPTION_UNSIGNED, &work_given.epochs, "N",                  \
     "times that each row is seen", NULL},                                     \
    {"batch", 'b', OPTION_UNSIGNED, &work_given.batch, "ROWS",                 \
     "rows of a member in a step", NULL},                                      \
    {"lr", 0, OPTION_REAL, &work_given.rate, "RATE", "learning rate", NULL},   \
    {"momentum", 0, OPTION_REAL, &work_given.momentum, "M",                    \
     "share of the last step's velocity that is kept", NULL},                  \
    {"l2", 0, OPTION_REAL, &work_given.l2, "L", "weight decay", NULL},         \
    {"bytes", 0, OPTION_BYTES, &work_given.bytes, "SIZE",                      \
     "ops: of each all-reduce", NULL},                                         \
    {"count", 0, OPTION_UNSIGNED, &work_count, "K",                            \
     "ops: how many; 0: until the run ends", NULL}
/* clang-format on */

/* "lr DATA", "softmax DATA" or "ops" into *work, with the options. */
GW_MUST_CHECK enum gw_err work_parse(int count, char *const *words,
                                     struct work_options *work,
                                     struct gw_error *why);

#endif
