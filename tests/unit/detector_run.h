/* SPDX-License-Identifier: MIT
 *
 * Detectors in the simulated network. Their reports go to a registry in the
 * middle, which all reach at once, and the resulting views go back to them.
 */
#ifndef TESTS_DETECTOR_RUN_H
#define TESTS_DETECTOR_RUN_H

#include "detector_machine.h"

#include <cluster/registry/registry.h>
#include <sim/sim.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MOST = 9, REGISTRY_AFTER_MS = 3 };
static const uint64_t MS = 1000000;

struct detector_run {
    struct gw__sim *sim;
    unsigned nodes;
    struct gw__registry registry;
    bool deaf;                                  /* registry receives nothing */
    unsigned suspected[NODES_MOST][NODES_MOST]; /* counts: [by][of] */
    unsigned certain, trusts, stucks;
    uint64_t first_ns;                   /* of the first suspicion */
    uint64_t view_ns[NODES_MOST + 2];    /* start of each epoch */
    struct gw__notice stuck[NODES_MOST]; /* the last of each member */
};

extern struct detector_run *detector_scene;

/* `nodes` members in epoch 1, from time 0. */
void detector_begin(unsigned nodes, struct gw__sim_options options);
void detector_end(void);
/* Runs until `until_ms` since the beginning; a failure fails the test. */
void detector_run(uint64_t until_ms);
/* Adds a fault schedule in text form. */
void detector_faults(const char *text);

struct gw__process detector_process(unsigned node);
/* Sends a command to the registry, which applies it at once. */
void detector_propose(struct gw__command command);
/* Sends the registry's view to all or to one. */
void detector_publish(void);
void detector_send_view(unsigned node, uint64_t at_ns);

/* The number of its observers, and of all suspicions. */
unsigned detector_accusers_of(unsigned node);
unsigned detector_accusations(void);

#endif
