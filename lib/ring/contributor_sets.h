/* SPDX-License-Identifier: MIT
 *
 * The contributor sets of one member in one op: for each chunk, the nodes whose
 * data its present value contains. They make sure that all data count exactly
 * once. A set is sent with every partial result, so that the rule can be
 * enforced at each addition:
 *
 *     value + incoming   only if the two sets have no node in common and no
 *                        node that must not contribute
 *     value = incoming   only if all that it replaces can be computed again,
 *                        which is so since inputs stay immutable until commit
 *
 * A chunk is final when its set is the op's target: at first all members that
 * take part, later those of the decision. When all chunks are final, the op is
 * complete here.
 *
 *              begin                    all final
 *     (input) -------> growing ---------------------> complete
 *                       |   ^                          |
 *                freeze |   | retarget (a decision)    | freeze
 *                       v   |                          v
 *                      frozen: reported, nothing moves
 *
 * See also recover.h: how survivors go on from their partial results.
 */
#ifndef GW__CONTRIBUTOR_SETS_H
#define GW__CONTRIBUTOR_SETS_H

#include <cluster/registry/report.h>

struct gw__contributor_sets {
    uint64_t op;
    unsigned node;
    unsigned chunks;
    struct gw_nodes target; /* contributors of the result */
    unsigned final_count;   /* so many chunks from the first on are final */
    bool frozen;
    struct gw_nodes sets[GW__REPORT_CHUNKS_MAX];
};

/* Each chunk is the node's own input. At most GW__REPORT_CHUNKS_MAX chunks. The
 * node is in the target, or takes no part in the op. */
void gw__contributor_sets_begin(struct gw__contributor_sets *sets, uint64_t op,
                                unsigned node, unsigned chunks,
                                const struct gw_nodes *target);
/* Before a value whose contributors are `incoming` is added to the chunk.
 * GW_EWRONG, with the nodes in the message: a node would count twice or must
 * not count. GW_ECLOSED: frozen. On an error nothing changes. */
GW_MUST_CHECK enum gw_err
gw__contributor_sets_add(struct gw__contributor_sets *sets, unsigned chunk,
                         const struct gw_nodes *incoming, struct gw_error *why);
/* Before a value replaces the chunk. GW_EWRONG, GW_ECLOSED as above. */
GW_MUST_CHECK enum gw_err
gw__contributor_sets_replace(struct gw__contributor_sets *sets, unsigned chunk,
                             const struct gw_nodes *incoming,
                             struct gw_error *why);
bool gw__contributor_sets_final(const struct gw__contributor_sets *sets,
                                unsigned chunk);
/* Are all chunks final? Asked after each transfer, so it continues where it
 * found no final chunk the last time: final chunks stay so. */
bool gw__contributor_sets_complete(struct gw__contributor_sets *sets);

/* The ring has lost a member: from now on nothing is added or replaced. */
void gw__contributor_sets_freeze(struct gw__contributor_sets *sets);
/* The part of a report about this op, whose initial members are `places`. */
void gw__contributor_sets_report(const struct gw__contributor_sets *sets,
                                 const struct gw__places *places,
                                 struct gw__holdings *holdings);
/* Applies the decision: the op's result is of the nodes in `target`, and
 * `start[chunk]` is the set from which this member continues (recover.h): its
 * partial result, or its input again. */
void gw__contributor_sets_retarget(struct gw__contributor_sets *sets,
                                   const struct gw_nodes *target,
                                   const struct gw_nodes *start);

#endif
