/* SPDX-License-Identifier: MIT
 *
 * What a controller has acknowledged, in a file of its own next to its log: of
 * each entry its number, term and checksum, the same of its snapshots, and its
 * vote. The log alone does not tell whether its last entries are missing, and a
 * torn write that nobody was told of looks like the loss of one that counts.
 *
 * A slot is written after the log has reached the disk and before anybody is
 * told, into the page cache: it outlives the process. It costs no further wait
 * for the disk; so when the computer loses its power, slots may be missing, but
 * none says more than the log had. Before entries are taken back, which is
 * rare, their slots are emptied on disk.
 *
 * Slots are of 32 bytes, little-endian, each with a checksum of its own; one
 * that is damaged counts as empty. Entry i has slot HEAD + i % RING.
 */
#ifndef GW__CLUSTER_RAFT_ACK_H
#define GW__CLUSTER_RAFT_ACK_H

#include <gradwire/base.h>

enum gw__raft_ack_kind {
    GW__ACK_NOTHING,
    GW__ACK_VOTE, /* `index`: for whom, 0: nobody */
    GW__ACK_SNAPSHOT,
    GW__ACK_ENTRY
};

struct gw__raft_ack_slot {
    uint64_t index, term;
    uint32_t crc;  /* of the data */
    uint32_t kind; /* enum gw__raft_ack_kind */
    uint32_t reserved;
    uint32_t check; /* of all before */
};
_Static_assert(sizeof(struct gw__raft_ack_slot) == 32, "no holes");

struct gw__raft_ack;

/* Reads or makes the file `acknowledged`; GW_ESYS, GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__raft_ack_open(const char *directory,
                                            struct gw__raft_ack **ack,
                                            struct gw_error *why);
void gw__raft_ack_close(struct gw__raft_ack **ack);

/* ---- what it says ---- */

/* The newest entry that was acknowledged, by itself or in a snapshot. */
uint64_t gw__raft_ack_newest(const struct gw__raft_ack *ack);
/* NULL: it says nothing of that. */
const struct gw__raft_ack_slot *gw__raft_ack_entry(const struct gw__raft_ack *a,
                                                   uint64_t index);
const struct gw__raft_ack_slot *
gw__raft_ack_snapshot(const struct gw__raft_ack *ack, uint64_t term,
                      uint64_t index);
const struct gw__raft_ack_slot *gw__raft_ack_vote(const struct gw__raft_ack *a);

/* ---- what it is to say; false: it cannot be written ---- */

bool gw__raft_ack_note(struct gw__raft_ack *ack, enum gw__raft_ack_kind kind,
                       uint64_t term, uint64_t index, uint32_t crc);
/* Entries from `index` on, and snapshots from there on: on disk. From 0 on: the
 * vote, too. */
bool gw__raft_ack_forget(struct gw__raft_ack *ack, uint64_t index);
/* Notes stay in memory when it was opened, until it is saved: while the log is
 * checked. Or what is on disk counts again. */
bool gw__raft_ack_save(struct gw__raft_ack *ack);
void gw__raft_ack_reload(struct gw__raft_ack *ack);

#endif
