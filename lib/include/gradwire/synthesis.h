/* SPDX-License-Identifier: MIT
 *
 * Plans that reach the bound of a topology (gradwire/optimum.h), made without a
 * solver: switches are replaced by direct edges, and trees are packed into
 * these, as many from each root as the bound allows (Zhao et al., "ForestColl",
 * arXiv 2402.06787). The plan is one like any other.
 */
#ifndef GRADWIRE_SYNTHESIS_H
#define GRADWIRE_SYNTHESIS_H

#include <gradwire/optimum.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The wanted plan. Several plans reach the same bound: more trees are
 * shallower, and smaller parts follow each other more closely, but both need
 * more messages. The fastest in virtual time is taken for buffers of `bytes`
 * whose messages take their sender `message_us`. */
struct gw_synthesis {
    enum gw_collective collective;
    unsigned ranks, root;
    uint64_t bytes;
    double message_us;
    unsigned trees; /* a multiple of the fewest trees; 0: chosen */
    unsigned parts; /* of each tree's data; 0: chosen */
    /* For a host, whose ranks reach all others at once: sets *time_us to the
     * predicted time of a plan there, or fails. NULL: virtual time on the
     * topology. */
    enum gw_err (*predict)(void *context, const struct gw_plan *plan,
                           double *time_us, struct gw_error *why);
    void *context;
    /* With `predict`: compare flat plans only, unless `trees` or `parts` is
     * given. */
    bool flat;
};

struct gw_synthesis_result {
    unsigned trees;      /* per block, or of the buffer; 0: a flat plan */
    unsigned parts;      /* of each */
    unsigned depth;      /* messages from a root to the last rank */
    unsigned candidates; /* plans that were compared */
    double time_us;      /* in virtual time, or predicted */
    double bound_us;     /* gw_optimum_us; 0 with `predict` */
};

/* Makes a plan, which has been verified, for the first `ranks` ranks of the
 * topology in its current order. The caller frees *plan. GW_EINVAL: another
 * collective than broadcast, reduce, allgather, reduce_scatter and allreduce,
 * no link with a rate, a single rank, or what gw_optimum_find refuses.
 * GW_EINTERNAL: the switches cannot be replaced. GW_EDATA, GW_ENOMEM; an error
 * of `predict`. On failure *plan is NULL.
 *
 * With `predict`, flat plans of one or two steps are compared, too, unless
 * `trees` or `parts` is given. They exist for every collective but custom. */
GW_API GW_MUST_CHECK enum gw_err
gw_synthesize(const struct gw_topology *topology,
              const struct gw_synthesis *wanted, struct gw_plan **plan,
              struct gw_synthesis_result *result, struct gw_error *why);

/* ---- plans with few steps, by a solver ---- */

enum { GW_STEPS_RANKS_MAX = 8, GW_STEPS_MAX = 16, GW_STEPS_CHUNKS_MAX = 16 };

/* A plan in so many steps, each of one or more rounds (k-synchronous: Cai et
 * al., "Synthesizing optimal collective algorithms", PPoPP 2021). In a round the
 * slowest link of the topology carries one chunk, and a link of n times its rate
 * n. All-reduce is a reduce-scatter and an all-gather, of so many steps each. */
struct gw_steps {
    enum gw_collective collective; /* as for gw_synthesize */
    unsigned ranks, root;
    unsigned steps;
    unsigned chunks; /* of a block; of the buffer for broadcast and reduce */
    unsigned rounds; /* of all steps together, at most; 0: the fewest */
    unsigned timeout_ms; /* of each question to the solver; 0: none */
    /* A rank sends only to those that are nearest: to which its routes have
     * the fewest links. */
    bool nearest;
};

struct gw_steps_result {
    bool exists;           /* false: no such plan exists, and *plan is NULL */
    unsigned rounds;       /* of the plan */
    unsigned rounds_least; /* that the bound of the topology allows */
};

/* Finds such a plan, or shows that none exists, with z3. The caller frees
 * *plan, which has been verified. GW_ENOTSUP: the library was built without z3.
 * GW_EINVAL: another collective, a size beyond the limits above, or what
 * gw_optimum_find refuses. GW_EUNSURE: the solver gave up. GW_ENOMEM. */
GW_API GW_MUST_CHECK enum gw_err
gw_synthesize_steps(const struct gw_topology *topology,
                    const struct gw_steps *wanted, struct gw_plan **plan,
                    struct gw_steps_result *result, struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
