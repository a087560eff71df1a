/* SPDX-License-Identifier: MIT
 *
 * Deduplication of pushes in a slot. For each worker it records the applied
 * sequence numbers (a low watermark and 64 bits above it) and the items that
 * are over. This is part of the slot's state: it changes only with entries of
 * the log, so it is the same on all replicas, and is moved and saved with the
 * slot.
 *
 * A worker has at most 64 pushes under way, and each push has the number
 * through which all are acknowledged, so 64 bits suffice. At most GW__DEDUP_MAX
 * workers are recorded. The one with the oldest push, in the order of the log,
 * is removed first, hence on all replicas alike.
 */
#ifndef GW__PS_DEDUP_H
#define GW__PS_DEDUP_H

#include <base/bytes.h>
#include <gradwire/ps.h>

enum { GW__DEDUP_MAX = 1024 };

struct gw__dedup_worker {
    uint64_t incarnation; /* the low half */
    uint32_t node;
    uint64_t low_watermark; /* all numbers through this one were applied */
    uint64_t bits;          /* bit i: floor + 1 + i was applied */
    /* Items that began before this clock are over, for each group. */
    uint64_t over[GW_PS_GROUPS_MAX];
    uint64_t used; /* index of its newest entry */
};

struct gw__dedup {
    unsigned count;
    struct gw__dedup_worker *workers; /* GW__DEDUP_MAX at most */
    unsigned room;
    unsigned last; /* index of the last lookup, often the same as the next */
};

void gw__dedup_fini(struct gw__dedup *dedup);
/* NULL: unknown worker. */
struct gw__dedup_worker *gw__dedup_find(struct gw__dedup *dedup, unsigned node,
                                        uint64_t incarnation);
/* Finds or adds the worker, at entry `index`. NULL: out of memory. */
struct gw__dedup_worker *gw__dedup_make(struct gw__dedup *dedup, unsigned node,
                                        uint64_t incarnation, uint64_t index);
bool gw__dedup_has(const struct gw__dedup_worker *worker, uint64_t sequence);
/* `floor` is from the worker's push. Then sequence <= floor + 64 must hold. */
void gw__dedup_add(struct gw__dedup_worker *worker, uint64_t low_watermark,
                   uint64_t sequence);
/* Are these numbers valid? 1 <= sequence, floor < sequence <= floor + 64. */
bool gw__dedup_is_sound(uint64_t low_watermark, uint64_t sequence);

void gw__put_dedup(struct gw__writer *writer, const struct gw__dedup *dedup);
/* Reads into an empty one. */
void gw__get_dedup(struct gw__reader *reader, struct gw__dedup *dedup);

#endif
