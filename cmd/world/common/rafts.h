/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The controllers' log of a simulated cluster by libraft itself, instead of the
 * oracle of agreed.h: each controller has an instance of it inside of its
 * machine. Messages go over the simulated network, time is the node's own clock,
 * a disk outlives crashes. What is stored or sent is done at the end of the step
 * in which libraft asked for it; there are no snapshots.
 *
 * The log is still held against the truth: the first controller that commits an
 * entry makes it part of that, and all others must commit the same.
 */
#ifndef WORLD_RAFTS_H
#define WORLD_RAFTS_H

#include <cluster/controller/service.h>

struct agreed;
struct rafts;

GW_MUST_CHECK enum gw_err rafts_open(struct rafts **rafts,
                                     struct gw_error *why);
void rafts_close(struct rafts **rafts);
/* A controller that starts again has lost the end of its log and its vote: what
 * Raft relies on is broken. */
void rafts_break_disks(struct rafts *rafts);
/* A new network, with empty disks. */
void rafts_begin(struct rafts *rafts, struct agreed *agreed);
/* A controller's machine proposes. */
void rafts_propose(struct rafts *rafts, unsigned node, const void *data,
                   size_t bytes);

const struct gw__machine_kind *raft_controller_kind(void);

#endif
