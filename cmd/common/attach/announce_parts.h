/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of announcing, private to announce*.c: what the tool does
 * (announce.c), the process that answers for it (announce_process.c), and what
 * that knows of the run (announce_status.c).
 *
 *     tool --- pipe: frames of launch_parts.h ---> process <--- who looks
 *
 * FRAME_EVENTS holds events, FRAME_REPORT, which is the last one, a JSON object
 * with "summary" and how many events were "dropped".
 */
#ifndef ANNOUNCE_PARTS_H
#define ANNOUNCE_PARTS_H

#include "announce.h"
#include "common/launch/launch_parts.h"
#include "common/run_folder.h"

/* What the process tells the tool, once. */
struct announce_ready {
    struct gw_error why; /* code GW_OK: it stands */
    char name[RUN_NAME_MAX];
};

/* What the process is born with. */
struct announce_birth {
    const struct announce_options *options;
    int frames, ready; /* its ends of the pipes */
    pid_t tool;
};

/* The whole life of the process. */
_Noreturn void announce_live(const struct announce_birth *birth);

/* ---- what is known of the run ---- */

enum { ANNOUNCE_STAGES_MAX = 1024 };

/* A pipeline, as its events tell: who attaches late has missed STAGE. */
struct announced_pipeline {
    unsigned stages; /* 0: it is none, as far as is known */
    unsigned micros, chunks;
    int64_t predicted_ns;
    uint32_t step; /* the newest that has begun; GW_NONE */
    uint32_t ranks[ANNOUNCE_STAGES_MAX]; /* of each stage; GW_NONE */
};

struct announced {
    const char *run, *tool, *command;
    uint64_t seed;
    pid_t pid; /* of the tool */
    uint64_t dropped;
    struct announced_pipeline pipeline;
};

void announced_event(struct announced *announced, const struct gw_event *event);
/* What `status` answers; `state`: "running" or "ended". */
json_t *announced_json(const struct announced *announced, const char *state);

#endif
