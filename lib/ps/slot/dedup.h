/* SPDX-License-Identifier: MIT
 *
 * What a slot remembers of each worker: which of its pushes were applied (all
 * up to a floor, and 64 bits above it), and which of its units are over. Part
 * of the slot's state: it changes only with entries of the log, so it is the
 * same on all replicas, moves with the slot and is saved with it.
 *
 * A worker has at most 64 pushes under way and says with each up to which all
 * are acknowledged, so the bits always suffice. At most GW__DEDUP_MAX workers
 * are remembered; the one that pushed longest ago is forgotten first, in the
 * order of the log, hence on all replicas alike.
 */
#ifndef GW__PS_DEDUP_H
#define GW__PS_DEDUP_H

#include <base/bytes.h>
#include <gradwire/ps.h>

enum { GW__DEDUP_MAX = 1024 };

struct gw__dedup_worker {
    uint64_t incarnation; /* the low half */
    uint32_t node;
    uint64_t floor; /* all through this one were applied */
    uint64_t bits;  /* bit i: floor + 1 + i was */
    /* Units that began with a clock below are over, a group each. */
    uint64_t over[GW_PS_GROUPS_MAX];
    uint64_t used; /* index of the entry that named it last */
};

struct gw__dedup {
    unsigned count;
    struct gw__dedup_worker *workers; /* GW__DEDUP_MAX at most */
    unsigned room;
    unsigned last; /* found last: the next one is often the same */
};

void gw__dedup_fini(struct gw__dedup *seen);
/* NULL: nothing is known of it. */
struct gw__dedup_worker *gw__dedup_find(struct gw__dedup *seen, unsigned node,
                                        uint64_t incarnation);
/* Found or made, at entry `index`; NULL: no memory. */
struct gw__dedup_worker *gw__dedup_make(struct gw__dedup *seen, unsigned node,
                                        uint64_t incarnation, uint64_t index);
bool gw__dedup_has(const struct gw__dedup_worker *worker, uint64_t sequence);
/* `floor` as the worker says it; then sequence <= floor + 64 must hold. */
void gw__dedup_add(struct gw__dedup_worker *worker, uint64_t floor,
                   uint64_t sequence);
/* Can a push say so? 1 <= sequence, floor < sequence <= floor + 64. */
bool gw__dedup_is_sound(uint64_t floor, uint64_t sequence);

void gw__put_dedup(struct gw__writer *writer, const struct gw__dedup *seen);
/* Into an empty one. */
void gw__get_dedup(struct gw__reader *reader, struct gw__dedup *seen);

#endif
