/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One step over a batch, cut into micro-batches of a given size: a trial of
 * sweep and fit, run or simulated.
 *
 * A micro-batch of s samples takes fixed + sample * s on a stage, forward and
 * backward together: a third of it for each of F, I and W.
 */
#ifndef SIZE_TRIAL_H
#define SIZE_TRIAL_H

#include "schedule_source.h"

#include <gradwire/pipe.h>

/* As typed. */
struct size_options {
    const char *schedule, *work, *wire;
    unsigned stages, batch, steps;
    uint64_t sample_bytes;
    bool simulate;
};
#define SIZE_DEFAULTS                                                          \
    {                                                                          \
        .schedule = "1f1b", .work = "sleep:400us+500us", .wire = "shm",        \
        .stages = 4, .batch = 256, .steps = 3                                  \
    }

/* clang-format off */
/* Entries of a command's option table, for a static `struct size_options` that
 * begins as SIZE_DEFAULTS. */
#define SIZE_OPTIONS(options)                                                  \
    {"stages", 'n', OPTION_UNSIGNED, &(options).stages, "P",                   \
     "Stages of the pipeline, one process each.", NULL},                       \
    {"batch", 'B', OPTION_UNSIGNED, &(options).batch, "SAMPLES",               \
     "Samples per step, of all micro-batches together.", NULL},                \
    {"work", 0, OPTION_TEXT, &(options).work, "HOW:FIXED+SAMPLE",              \
     "Time of a micro-batch on a stage, forward and backward: a fixed time "   \
     "and a time per sample. HOW is sleep or spin.", NULL},                    \
    {"steps", 0, OPTION_UNSIGNED, &(options).steps, "N",                       \
     "Steps to measure per size; the fastest counts.", NULL},                  \
    {"wire", 'w', OPTION_CHOICE, &(options).wire, "WIRE",                      \
     "Transport.",                                                             \
     "shm|ipc|tcp"},                                                           \
    {"bytes", 'b', OPTION_BYTES, &(options).sample_bytes, "SIZE",              \
     "Bytes of a sample in a message, forward or backward. Default: 0.",       \
     NULL},                                                                    \
    {"sim", 0, OPTION_FLAG, &(options).simulate, NULL,                         \
     "Simulate the steps instead of running them.", NULL}
/* clang-format on */

struct size_bench {
    const struct size_options *options;
    bool spin;
    double fixed_us, sample_us;
};

struct size_trial {
    unsigned size, micros; /* samples per micro-batch, micro-batches per step */
    double predicted_us;   /* by formula, from the given costs */
    double time_us;        /* of the fastest step */
    double spread_us;      /* between the fastest and the slowest step */
    double bubble;         /* share of the total */
};

/* GW_EINVAL names the option. */
GW_MUST_CHECK enum gw_err size_bench_init(struct size_bench *bench,
                                          const struct size_options *options,
                                          struct gw_error *why);
/* Does it divide the batch? */
GW_MUST_CHECK enum gw_err size_check(const struct size_bench *bench,
                                     unsigned size, struct gw_error *why);
/* "1,2,4" into sizes[0..*count), upwards and each once. GW_EINVAL: more than
 * `most`, or one that does not divide the batch. */
GW_MUST_CHECK enum gw_err size_list(const struct size_bench *bench,
                                    const char *option, const char *text,
                                    unsigned most, unsigned *sizes,
                                    unsigned *count, struct gw_error *why);
/* Runs or simulates it. */
GW_MUST_CHECK enum gw_err size_try(const struct size_bench *bench,
                                   unsigned size, struct size_trial *trial,
                                   struct gw_error *why);

/* A bar as long as `share` of `width` cells; the caller frees it. */
char *size_bar(double share, unsigned width);

#endif
