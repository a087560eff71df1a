/* SPDX-License-Identifier: MIT
 *
 * Records a controller's acknowledgements in a separate file next to its log:
 * number, term and checksum of each entry and of its snapshots, and its vote.
 * The log alone does not show whether its last entries are missing. A torn
 * write that was never acknowledged looks like the loss of an acknowledged one.
 *
 * A slot is written after the log has reached the disk and before the entry is
 * acknowledged, into the page cache: it survives the process. It needs no
 * further wait for the disk. So after a power failure slots may be missing, but
 * none records more than the log had. Before entries are truncated, which is
 * rare, their slots are cleared on disk.
 *
 * Slots have 32 bytes, little-endian, each with its own checksum; a damaged one
 * counts as empty. Entry i has slot HEAD + i % RING.
 */
#ifndef GW__CLUSTER_RAFT_ACK_H
#define GW__CLUSTER_RAFT_ACK_H

#include <gradwire/base.h>

enum gw__raft_ack_kind {
    GW__ACK_NOTHING,
    GW__ACK_VOTE, /* `index`: the candidate; 0: no vote */
    GW__ACK_SNAPSHOT,
    GW__ACK_ENTRY
};

struct gw__raft_ack_slot {
    uint64_t index, term;
    uint32_t crc;  /* of the data */
    uint32_t kind; /* enum gw__raft_ack_kind */
    uint32_t reserved;
    uint32_t check; /* of all fields before */
};
_Static_assert(sizeof(struct gw__raft_ack_slot) == 32, "no holes");

struct gw__raft_ack;

/* Reads or creates the file `acknowledged`; GW_ESYS, GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__raft_ack_open(const char *directory,
                                            struct gw__raft_ack **ack,
                                            struct gw_error *why);
void gw__raft_ack_close(struct gw__raft_ack **ack);

/* ---- recorded acknowledgements ---- */

/* The newest acknowledged entry, by itself or in a snapshot. */
uint64_t gw__raft_ack_newest(const struct gw__raft_ack *ack);
/* NULL: not recorded. */
const struct gw__raft_ack_slot *gw__raft_ack_entry(const struct gw__raft_ack *a,
                                                   uint64_t index);
const struct gw__raft_ack_slot *
gw__raft_ack_snapshot(const struct gw__raft_ack *ack, uint64_t term,
                      uint64_t index);
const struct gw__raft_ack_slot *gw__raft_ack_vote(const struct gw__raft_ack *a);

/* ---- recording; false: the file cannot be written ---- */

bool gw__raft_ack_record(struct gw__raft_ack *ack, enum gw__raft_ack_kind kind,
                         uint64_t term, uint64_t index, uint32_t crc);
/* Clears entries and snapshots from `index` on, on disk. From 0 on: the vote,
 * too. */
bool gw__raft_ack_forget(struct gw__raft_ack *ack, uint64_t index);
/* Writes the notes. After opening, notes stay in memory until this call, while
 * the log is checked; without it the contents of the disk are valid again. */
bool gw__raft_ack_save(struct gw__raft_ack *ack);
void gw__raft_ack_reload(struct gw__raft_ack *ack);

#endif
