/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of announcing, private to announce*.c: the tool's side
 * (run_publisher.c), the process that answers for the tool
 * (run_publisher_process.c), and its knowledge of the run
 * (run_publisher_status.c).
 *
 *     tool --- pipe: frames of launch_parts.h ---> process <--- observers
 *
 * FRAME_EVENTS holds events. FRAME_REPORT, the last frame, is a JSON object
 * with "summary" and the number of events "dropped".
 */
#ifndef RUN_PUBLISHER_PARTS_H
#define RUN_PUBLISHER_PARTS_H

#include "common/launch/launch_parts.h"
#include "common/run_folder.h"
#include "run_publisher.h"

/* The one message from the process to the tool. */
struct publish_run_ready {
    struct gw_error why; /* code GW_OK: the process is ready */
    char name[RUN_NAME_MAX];
};

/* The arguments of the process. */
struct publish_run_config {
    const struct publish_options *options;
    int frames, ready; /* its ends of the pipes */
    pid_t tool;
};

/* The whole life of the process. */
_Noreturn void publish_run_live(const struct publish_run_config *config);

/* ---- the state of the run ---- */

enum { PUBLISHED_STAGES_MAX = 1024 };

/* A pipeline as its events describe it. An observer that attaches late has
 * missed the STAGE events. */
struct published_pipeline {
    unsigned stages; /* 0: none known */
    unsigned micros, chunks;
    int64_t predicted_ns;
    uint32_t step; /* the newest that has begun; GW_NONE */
    uint32_t ranks[PUBLISHED_STAGES_MAX]; /* of each stage; GW_NONE */
};

struct published_run {
    const char *run, *tool, *command;
    uint64_t seed;
    pid_t pid; /* of the tool */
    uint64_t dropped;
    struct published_pipeline pipeline;
};

void published_run_event(struct published_run *published,
                         const struct gw_event *event);
/* The answer to `status`; `state`: "running" or "ended". */
json_t *published_run_json(const struct published_run *published,
                           const char *state);

#endif
