/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The source of a command's schedule: "--schedule NAME --stages P --micro M",
 * or "FILE.pipe". All commands share these options and their parser, so that
 * they mean the same everywhere.
 */
#ifndef SCHEDULE_SOURCE_H
#define SCHEDULE_SOURCE_H

#include "common/command.h"

/* Values that are not given are NULL or UINT32_MAX: initialise with
 * SCHEDULE_NOT_GIVEN. */
struct schedule_source {
    const char *name;
    unsigned stages, micros, chunks;
};
#define SCHEDULE_UNSET                                                         \
    {                                                                          \
        NULL, UINT32_MAX, UINT32_MAX, UINT32_MAX                               \
    }

/* The defaults for "1f1b" and similar kinds; a file has its own numbers. */
#define SCHEDULE_DEFAULT "1f1b"
enum { STAGES_DEFAULT = 4, MICROS_DEFAULT = 8 };

/* All schedules' names, for completion; a test compares it with the list. */
#define SCHEDULE_WORDS "gpipe|1f1b|interleaved|zb-h1"

/* clang-format off */
/* Entries of a command's option table, for a static `struct schedule_source`
 * that begins as SCHEDULE_NOT_GIVEN. */
#define SCHEDULE_SHAPE_OPTIONS(source)                                         \
    {"stages", 'n', OPTION_UNSIGNED, &(source).stages, "P",                    \
     "Stages of the pipeline, one process each. Default: 4.", NULL},           \
    {"micro", 'm', OPTION_UNSIGNED, &(source).micros, "M",                     \
     "Micro-batches per step. Default: 8.", NULL},                             \
    {"chunks", 0, OPTION_UNSIGNED, &(source).chunks, "V",                      \
     "Chunks of the network per stage, for interleaved. Default: 2.", NULL}
#define SCHEDULE_SOURCE_OPTIONS(source)                                        \
    {"schedule", 's', OPTION_TEXT, &(source).name, "NAME",                     \
     "Schedule: gpipe, 1f1b, interleaved or zb-h1. Default: 1f1b.",            \
     SCHEDULE_WORDS},                                                          \
    SCHEDULE_SHAPE_OPTIONS(source)
/* clang-format on */

/* Makes the schedule of the options, or loads `file` (NULL: none), and checks
 * that it can be run. The caller destroys it. GW_EINVAL: an unknown schedule
 * ("did you mean"), or options that a file cannot take. GW_EDATA: the file does
 * not parse. GW_EPLAN: an error such as a deadlock, whose cycle the sentence
 * names. */
GW_MUST_CHECK enum gw_err schedule_get(const char *file,
                                       const struct schedule_source *source,
                                       struct gw_schedule **schedule,
                                       struct gw_error *why);

/* The kind of that name, or GW_EINVAL with a suggestion. */
GW_MUST_CHECK enum gw_err schedule_kind(const char *name,
                                        const struct gw_schedule_kind **kind,
                                        struct gw_error *why);

/* The built-in schedule that it equals, pass by pass and whatever its name: the
 * name in a file may be wrong. NULL: none. */
const struct gw_schedule_kind *
schedule_kind_of(const struct gw_schedule *schedule);
/* The price by formula: false where there is none, because the schedule is not
 * built in or its formula does not hold for the costs. */
bool schedule_price(const struct gw_schedule *schedule,
                    const struct gw_pipe_costs *costs,
                    struct gw_pipe_price *price);

#endif
