/* SPDX-License-Identifier: MIT
 *
 * The contributor ledger of one member in one op (exactly once):
 * of each chunk, whose data the value in hand contains. It travels with every
 * partial result, so that the rule can be kept where the addition happens:
 *
 *     value + incoming   only if their sets share nobody, and nobody is in
 *                        either who is not to contribute
 *     value = incoming   only if everything that it replaces can be computed
 *                        again, which is so since inputs stay immutable until
 *                        commit
 *
 * A copy is final when its set is the op's target: at first everybody who takes
 * part, later what a decision says. When all are, the op is complete here.
 *
 *              begin                    all final
 *     (input) -------> growing ---------------------> complete
 *                       |   ^                          |
 *                freeze |   | retarget (a decision)    | freeze
 *                       v   |                          v
 *                      frozen: reported, nothing moves
 *
 * Read on in recover.h: how survivors go on from what they hold.
 */
#ifndef GW__CONTRIBUTOR_SETS_H
#define GW__CONTRIBUTOR_SETS_H

#include <cluster/registry/report.h>

struct gw__contributor_sets {
    uint64_t op;
    unsigned node;
    unsigned chunks;
    uint64_t target; /* contributors of the result: nodes as bits */
    bool frozen;
    uint64_t sets[GW__REPORT_CHUNKS_MAX];
};

/* Each chunk is the node's own input. At most GW__REPORT_CHUNKS_MAX chunks; the
 * node is among the target's, or takes no part in the op. */
void gw__contributor_sets_begin(struct gw__contributor_sets *ledger,
                                uint64_t op, unsigned node, unsigned chunks,
                                uint64_t target);
/* Before a value whose contributors are `incoming` is added to the chunk.
 * GW_EWRONG, with the nodes in the sentence, when one would count twice or is
 * not to count; GW_ECLOSED when frozen. Then nothing has changed. */
GW_MUST_CHECK enum gw_err
gw__contributor_sets_add(struct gw__contributor_sets *ledger, unsigned chunk,
                         uint64_t incoming, struct gw_error *why);
/* Before a value replaces the chunk. GW_EWRONG, GW_ECLOSED as above. */
GW_MUST_CHECK enum gw_err
gw__contributor_sets_replace(struct gw__contributor_sets *ledger,
                             unsigned chunk, uint64_t incoming,
                             struct gw_error *why);
bool gw__contributor_sets_final(const struct gw__contributor_sets *ledger,
                                unsigned chunk);
bool gw__contributor_sets_complete(const struct gw__contributor_sets *ledger);

/* The ring has lost a member: from here on nothing is added or replaced. */
void gw__contributor_sets_freeze(struct gw__contributor_sets *ledger);
/* What a report says of this op. */
void gw__contributor_sets_report(const struct gw__contributor_sets *ledger,
                                 struct gw__holdings *holdings);
/* The decision: the op's result is of these, and `start[chunk]` is what this
 * member goes on from (recover.h): its partial, or its input again. */
void gw__contributor_sets_retarget(struct gw__contributor_sets *ledger,
                                   uint64_t target, const uint64_t *start);

#endif
