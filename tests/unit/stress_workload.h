/* SPDX-License-Identifier: MIT
 *
 * A random call and its expected result; all ranks draw the same from the same
 * seed. Every value is a small function of (rank, block, index), so that each
 * rank fills its own input and checks its own result alone.
 */
#ifndef STRESS_WORKLOAD_H
#define STRESS_WORKLOAD_H

#include <gradwire/gradwire.h>

enum { WORKLOAD_RANKS_MAX = 72 };

/* How a rank lays out its memory: apart, GW_IN_PLACE, or in place by address.
 */
enum placing { APART, IN_PLACE, BY_ADDRESS };

struct workload {
    struct gw_call call; /* without buffers and counts */
    unsigned ranks;
    uint64_t salt;
    unsigned shift; /* not 0: a message to rank + shift, not a collective */
    bool v;         /* each block has its own count */
    enum { PACKED, GAPS, BACKWARDS } layout;
};

/* A run of elements: its position, and the block of its values. */
struct segment {
    size_t begin, length;
    unsigned block;
};

struct segments {
    unsigned count;
    size_t end; /* elements that a buffer needs */
    struct segment list[WORKLOAD_RANKS_MAX];
};

/* Prefers sizes near `slice_bytes` and the thresholds of the wire. */
void workload_draw(struct workload *workload, unsigned ranks,
                   size_t slice_bytes, struct gw_rng *rng);
/* May this rank choose `placing`? */
bool workload_allows(const struct workload *workload, unsigned rank,
                     enum placing placing);
/* As in struct gw_call; displs of packed blocks are NULL there. */
void workload_counts(const struct workload *workload, unsigned rank,
                     bool received, size_t *counts, size_t *displs);
/* The rank's inputs and results, in elements of the buffers. */
void workload_inputs(const struct workload *workload, unsigned rank,
                     bool in_place, struct segments *segments);
void workload_results(const struct workload *workload, unsigned rank,
                      bool in_place, struct segments *segments);
/* Writes the values of a piece before (or after) the call to `memory`. */
void workload_fill(const struct workload *workload, unsigned rank,
                   const struct segment *segment, bool result,
                   unsigned char *memory);
void workload_describe(const struct workload *workload, char *text,
                       size_t room);

#endif
