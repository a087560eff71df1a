/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the parts of rafts.h: rafts.c, a controller's machine and its steps;
 * rafts_io.c, libraft's back end in it; rafts_disk.c and rafts_memory.c.
 */
#ifndef SIMCLUSTER_RAFTS_PARTS_H
#define SIMCLUSTER_RAFTS_PARTS_H

#include "rafts.h"
#include "rafts_disk.h"
#include "sim_consensus.h"

enum {
    RAFTS_MESSAGE = 200, /* not a first byte of the service's messages */
    RAFTS_HEARTBEAT_MS = 30,
    FRAMES_MOST = 1 << 16,
    WAITING_MOST = 1024
};

/* A pending request of libraft. */
struct waiting {
    struct raft_io_append *append; /* else a send: */
    struct raft_io_send *send;
    raft_io_append_cb appended;
    raft_io_send_cb sent;
};

struct proposal {
    struct proposal *next;
    size_t bytes;
    uint8_t data[];
};

struct raft_node {
    struct rafts *rafts;
    unsigned node;
    struct rafts_disk disk;
    size_t known; /* commands committed in any life */

    /* Of this life. */
    struct raft raft;
    struct raft_io io;
    struct raft_fsm fsm;
    struct gw_rng rng;
    raft_io_tick_cb tick;
    raft_io_recv_cb receive;
    unsigned leader; /* a node, as reported to the service */
    size_t applied,
        delivered; /* commands: committed, and passed to the service */
    struct proposal *proposed, **proposed_end;
    unsigned waiting_count;
    struct waiting waiting[WAITING_MOST];

    /* Of this step. */
    uint64_t now_ns;
    const struct gw__actions *act;
};

struct frame {
    size_t bytes;
    const uint8_t *data;
};

struct rafts {
    struct sim_consensus *consensus;
    bool break_disks;
    struct raft_node nodes[GW__NODES_MAX];
    /* The newest frames, which may be in transfer. A message of the network
     * contains the number. */
    uint32_t frame_count;
    struct frame frames[FRAMES_MOST];
};

/* ---- rafts_io.c ---- */

/* Starts a new life and returns libraft's code, 0 when it runs. */
int rafts_start(struct raft_node *node, uint64_t seed);
/* The address of a controller for libraft. */
const char *rafts_address(unsigned index);
/* An event of the controller; `peer` counts controllers. */
void rafts_report(const struct raft_node *node, enum gw_event_kind kind,
                  unsigned peer, uint64_t value);

#endif
