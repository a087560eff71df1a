/* SPDX-License-Identifier: MIT
 *
 * Indexes of a plan: transfers by chunk, by step and by link (a directed pair
 * of ranks that communicate). The cost of each is linear in the plan's size;
 * the verifier and the price use them.
 */
#ifndef GW__PLAN_INDEX_H
#define GW__PLAN_INDEX_H

#include "start.h"

/* Is the number of chunks one that the collective can have with these ranks?
 * (In check_shape.c.) */
bool gw__chunks_fit(const struct gw_plan *plan);

/* The rows of a plan: each rank's buffer and its scratch, numbered together. A
 * transfer reads one row of its chunk and writes another. */
uint32_t gw__rows(const struct gw_plan *plan);
uint32_t gw__row(const struct gw_plan *plan, unsigned rank, unsigned scratch);
uint32_t gw__src_row(const struct gw_plan *plan, const struct gw_transfer *x);
uint32_t gw__dst_row(const struct gw_plan *plan, const struct gw_transfer *x);
/* Is it a copy or a reduction inside a rank? */
bool gw__is_local(const struct gw_transfer *x);
/* One more than the largest channel of the plan. */
unsigned gw__channels(const struct gw_plan *plan);

/* The bound of gw_bound_us for the conditions of a custom plan (bound.c). */
double gw__custom_bound_us(const struct gw_plan *plan, size_t count,
                           size_t elem_bytes,
                           const struct gw_cost_model *model);

/* Prints the first line of a plan's text, without its end. */
void gw__plan_print_header(const struct gw_plan *plan, FILE *file);
/* '+', '=' or '|'. */
char gw__action_sign(unsigned action);
/* "0>1.2 c3" and "0>1.2 c3 + @1", as in a plan's text; both return `out`. */
enum { GW__TRANSFER_TEXT = 64 };
const char *gw__moves_text(const struct gw_transfer *x,
                           char out[GW__TRANSFER_TEXT]);
const char *gw__transfer_text(const struct gw_transfer *x,
                              char out[GW__TRANSFER_TEXT]);

/* Items 0, 1, ... sorted by key; those of key k are
 * item[begin[k]] .. item[begin[k + 1] - 1], in their old order. */
struct gw__buckets {
    uint32_t *begin;
    uint32_t *item;
};

/* `key` holds `items` numbers below `keys`. False when memory is short. */
bool gw__buckets_init(struct gw__buckets *buckets, const uint32_t *key,
                      uint32_t items, uint32_t keys);
void gw__buckets_fini(struct gw__buckets *buckets);

/* Numbers the links of the plan in the order of their senders: link[t] is that
 * of transfer t, *links how many there are. False when memory is short. */
bool gw__links_number(const struct gw_plan *plan, uint32_t *link,
                      uint32_t *links);

struct gw__index {
    const struct gw_plan *plan;
    const struct gw__start *start; /* NULL: the collective's own start */
    uint32_t transfers;
    uint32_t *step; /* of each transfer, counted from 0 */
    uint32_t *link; /* of each transfer */
    uint32_t links;
    struct gw__buckets by_chunk;
};

GW_MUST_CHECK enum gw_err gw__index_init(struct gw__index *index,
                                         const struct gw_plan *plan,
                                         struct gw_error *why);
void gw__index_fini(struct gw__index *index);

/* by_chunk.item[i .. result - 1] are of one step; `end` is where the chunk's
 * items end. */
uint32_t gw__index_step_end(const struct gw__index *index, uint32_t i,
                            uint32_t end);

#endif
