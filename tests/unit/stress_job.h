/* SPDX-License-Identifier: MIT
 *
 * A random call and its expected result; all ranks draw the same from the same
 * seed. Every value is a small function of (rank, block, index), so that each
 * rank fills its own input and checks its own result alone.
 */
#ifndef STRESS_JOB_H
#define STRESS_JOB_H

#include <gradwire/gradwire.h>

enum { JOB_RANKS_MAX = 72 };

/* How a rank lays out its memory: apart, GW_IN_PLACE, or in place by address.
 */
enum placing { APART, IN_PLACE, BY_ADDRESS };

struct job {
    struct gw_call call; /* without buffers and counts */
    unsigned ranks;
    uint64_t salt;
    unsigned shift; /* not 0: a message to rank + shift, not a collective */
    bool v;         /* each block has its own count */
    enum { PACKED, GAPS, BACKWARDS } layout;
};

/* A run of elements: its position, and the block of its values. */
struct piece {
    size_t begin, length;
    unsigned block;
};

struct pieces {
    unsigned count;
    size_t end; /* elements that a buffer needs */
    struct piece list[JOB_RANKS_MAX];
};

/* Prefers sizes near `slice_bytes` and the thresholds of the wire. */
void job_draw(struct job *job, unsigned ranks, size_t slice_bytes,
              struct gw_rng *rng);
/* May this rank choose `placing`? */
bool job_allows(const struct job *job, unsigned rank, enum placing placing);
/* As in struct gw_call; displs of packed blocks are NULL there. */
void job_counts(const struct job *job, unsigned rank, bool received,
                size_t *counts, size_t *displs);
/* The rank's inputs and results, in elements of the buffers. */
void job_inputs(const struct job *job, unsigned rank, bool in_place,
                struct pieces *pieces);
void job_results(const struct job *job, unsigned rank, bool in_place,
                 struct pieces *pieces);
/* Writes the values of a piece before (or after) the call to `memory`. */
void job_fill(const struct job *job, unsigned rank, const struct piece *piece,
              bool result, unsigned char *memory);
void job_describe(const struct job *job, char *text, size_t room);

#endif
