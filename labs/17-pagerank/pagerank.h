/* SPDX-License-Identifier: MIT
 *
 * PageRank over ranks: each has a block of the pages, with the links that leave
 * them. pagerank.c has all but how contributions come to the pages that they
 * are for; that is in combine.c, yours.
 *
 * Values are whole numbers, parts of ONE, so that a sum is the same in whatever
 * order it is made.
 */
#ifndef PAGERANK_H
#define PAGERANK_H

#include <gradwire/gradwire.h>

#define ONE (UINT64_C(1) << 56)

struct share {
    struct gw_comm *comm;
    unsigned rank, ranks;
    unsigned pages;     /* of all ranks */
    unsigned block;     /* pages of one: rank r has r * block and those after */
    const bool *linked; /* [pages]: does a link of ours lead there? */
    /* For combine_sparse to keep what prepare_sparse has found. */
    size_t *send_counts, *recv_counts; /* a rank each: values */
    uint32_t *send_pages, *recv_pages; /* which, in the order of ranks */
    uint64_t *send_values, *recv_values;
};

/* given[page] is what our links give to that page, for all pages of all ranks;
 * it may be written over. got[0 .. block) receives what the links of all ranks
 * give to our pages. */
enum gw_err combine(struct share *s, uint64_t *given, uint64_t *got);

/* The same, where only pages count to which a link leads. prepare_sparse is
 * called once, before. */
enum gw_err prepare_sparse(struct share *s);
enum gw_err combine_sparse(struct share *s, uint64_t *given, uint64_t *got);

#endif
