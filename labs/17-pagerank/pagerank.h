/* SPDX-License-Identifier: MIT
 *
 * PageRank over ranks: each has a block of the pages, with the links that leave
 * them. pagerank.c has everything except the transport of contributions to the
 * owners of the pages. That is in your combine.c.
 *
 * Values are whole numbers, parts of ONE, so a sum is the same in any order.
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
    /* prepare_sparse may fill these for combine_sparse. */
    size_t *send_counts, *recv_counts; /* values per rank */
    uint32_t *send_pages, *recv_pages; /* the pages, in the order of ranks */
    uint64_t *send_values, *recv_values;
};

/* given[page] is the value that our links give to that page, for all pages of
 * all ranks; it may be overwritten. got[0 .. block) receives the sums of the
 * values that the links of all ranks give to our pages. */
enum gw_err combine(struct share *s, uint64_t *contributed, uint64_t *got);

/* The same, but only values for linked pages are sent. prepare_sparse is called
 * once, before. */
enum gw_err prepare_sparse(struct share *s);
enum gw_err combine_sparse(struct share *s, uint64_t *contributed,
                           uint64_t *got);

#endif
