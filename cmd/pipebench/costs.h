/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The durations of passes and messages in a simulation, from options. Times are
 * of one micro-batch through a whole stage, so that schedules can be compared
 * whatever the number of pieces: a piece takes its share.
 */
#ifndef COSTS_H
#define COSTS_H

#include "common/command.h"

#include <gradwire/pipe.h>

/* As typed. A time is "1ms", or one per stage: "1ms,2ms,1ms,1ms". */
struct cost_options {
    const char *forward, *backward, *input, *weight;
    const char *slow; /* "2:1.5,3:2": stage 2 takes 1.5 times as long */
    uint64_t message_ns, bytes, bandwidth;
};

/* clang-format off */
/* Entries of a command's option table, for a static `struct cost_options`. */
#define COST_OPTIONS(options)                                                  \
    {"forward", 0, OPTION_TEXT, &(options).forward, "TIME[,...]",              \
     "Time of the forward of a micro-batch; one value, or one per stage. "     \
     "Default: 1ms.",                                                          \
     NULL},                                                                    \
    {"backward", 0, OPTION_TEXT, &(options).backward, "TIME[,...]",            \
     "Time of the backward; half for the input, half for the weights. "        \
     "Default: 2ms.",                                                          \
     NULL},                                                                    \
    {"input", 0, OPTION_TEXT, &(options).input, "TIME[,...]",                  \
     "Time of the backward for the input; replaces --backward.", NULL},        \
    {"weight", 0, OPTION_TEXT, &(options).weight, "TIME[,...]",                \
     "Time of the backward for the weights; replaces --backward.", NULL},      \
    {"message", 0, OPTION_DURATION, &(options).message_ns, "TIME",             \
     "Time of a message to the next stage; overlaps with work. Default: 0.",   \
     NULL},                                                                    \
    {"bytes", 'b', OPTION_BYTES, &(options).bytes, "SIZE",                     \
     "Bytes of a message, forward or backward. Default: 0.", NULL},            \
    {"bandwidth", 0, OPTION_BYTES, &(options).bandwidth, "SIZE",               \
     "Bytes per second of a link. Default: no limit.", NULL},                  \
    {"slow", 0, OPTION_TEXT, &(options).slow, "STAGE:FACTOR[,...]",            \
     "Make a stage slower by this factor.", NULL}
/* clang-format on */

struct costs {
    struct gw_pipe_costs pipe; /* points into `each` when stages differ */
    double *each;
    /* The inverse: the times of stages that are not slow, and the factor of
     * each stage. `listed`: they also differ otherwise. */
    double forward_us, input_us, weight_us, *slow;
    bool listed;
    double shortest_pass_us; /* of the shortest kind of pass with a time */
};

/* The costs for that schedule. Zeroed on error. GW_EINVAL names the option. */
GW_MUST_CHECK enum gw_err costs_get(const struct cost_options *options,
                                    const struct gw_schedule *schedule,
                                    struct costs *costs, struct gw_error *why);
void costs_fini(struct costs *costs);

#endif
