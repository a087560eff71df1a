/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The controllers' log of a simulated cluster by libraft itself, instead of the
 * oracle of sim_consensus.h: each controller has an instance of it inside its
 * machine. Messages go over the simulated network, time is the node's own
 * clock, a disk survives crashes. Stores and sends are executed at the end of
 * the step in which libraft requested them. There are no snapshots.
 *
 * The log is still compared with a reference: the first controller that commits
 * an entry adds it to the reference, and all others must commit the same.
 */
#ifndef SIMCLUSTER_RAFTS_H
#define SIMCLUSTER_RAFTS_H

#include <cluster/controller/service.h>

struct sim_consensus;
struct rafts;

GW_MUST_CHECK enum gw_err rafts_open(struct rafts **rafts,
                                     struct gw_error *why);
void rafts_close(struct rafts **rafts);
/* A restarted controller has lost the end of its log and its vote. This breaks
 * an assumption of Raft. */
void rafts_break_disks(struct rafts *rafts);
/* A new network, with empty disks. */
void rafts_begin(struct rafts *rafts, struct sim_consensus *consensus);
/* A controller's machine proposes. */
void rafts_propose(struct rafts *rafts, unsigned node, const void *data,
                   size_t bytes);

const struct gw__machine_kind *raft_controller_kind(void);

#endif
