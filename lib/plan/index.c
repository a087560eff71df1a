/* SPDX-License-Identifier: MIT
 *
 * A plan's transfers, sorted by chunk and numbered by link: counting sorts, so
 * that a plan of a quarter of a million transfers takes a few milliseconds.
 */
#include "index.h"

#include <stdlib.h>

uint32_t gw__rows(const struct gw_plan *plan)
{
    return plan->ranks * (plan->scratch + 1);
}

uint32_t gw__row(const struct gw_plan *plan, unsigned rank, unsigned scratch)
{
    return rank * (plan->scratch + 1) + scratch;
}

uint32_t gw__src_row(const struct gw_plan *plan, const struct gw_transfer *x)
{
    return gw__row(plan, x->src, x->src_scratch);
}

uint32_t gw__dst_row(const struct gw_plan *plan, const struct gw_transfer *x)
{
    return gw__row(plan, x->dst, x->dst_scratch);
}

bool gw__is_local(const struct gw_transfer *x)
{
    return x->src == x->dst;
}

unsigned gw__channels(const struct gw_plan *plan)
{
    unsigned last = 0;
    for (size_t t = 0; t < plan->transfer_count; t++)
        last = plan->transfers[t].channel > last ? plan->transfers[t].channel
                                                 : last;
    return last + 1;
}

bool gw__buckets_init(struct gw__buckets *buckets, const uint32_t *key,
                      uint32_t items, uint32_t keys)
{
    buckets->begin = calloc((size_t)keys + 2, sizeof *buckets->begin);
    buckets->item = malloc(((size_t)items + 1) * sizeof *buckets->item);
    if (!buckets->begin || !buckets->item) {
        gw__buckets_fini(buckets);
        return false;
    }
    /* Counted two places to the right, summed, and moved one place to the left
     * by the filling: begin[k + 1] grows from the first to past the last. */
    uint32_t *next = buckets->begin + 1;
    for (uint32_t i = 0; i < items; i++)
        next[key[i] + 1]++;
    for (uint32_t k = 0; k < keys; k++)
        next[k + 1] += next[k];
    for (uint32_t i = 0; i < items; i++)
        buckets->item[next[key[i]]++] = i;
    return true;
}

void gw__buckets_fini(struct gw__buckets *buckets)
{
    free(buckets->begin);
    free(buckets->item);
    *buckets = (struct gw__buckets){0};
}

/* Bucketed by sender, a link is new if this sender has not yet sent to that
 * receiver: `sender_of[dst]` is the last sender seen for dst. */
static uint32_t number(const struct gw_plan *plan,
                       const struct gw__buckets *by_src, uint32_t *sender_of,
                       uint32_t *link_to, uint32_t *link)
{
    uint32_t links = 0;
    for (uint32_t src = 0; src < plan->ranks; src++)
        for (uint32_t i = by_src->begin[src]; i < by_src->begin[src + 1]; i++) {
            uint32_t t = by_src->item[i];
            unsigned dst = plan->transfers[t].dst;
            if (sender_of[dst] != src + 1) {
                sender_of[dst] = src + 1;
                link_to[dst] = links++;
            }
            link[t] = link_to[dst];
        }
    return links;
}

bool gw__links_number(const struct gw_plan *plan, uint32_t *link,
                      uint32_t *links)
{
    struct gw__buckets by_src;
    for (size_t t = 0; t < plan->transfer_count; t++)
        link[t] = plan->transfers[t].src;
    if (!gw__buckets_init(&by_src, link, (uint32_t)plan->transfer_count,
                          plan->ranks))
        return false;
    uint32_t *sender_of = calloc(plan->ranks, sizeof *sender_of);
    uint32_t *link_to = calloc(plan->ranks, sizeof *link_to);
    bool room = sender_of && link_to;
    if (room)
        *links = number(plan, &by_src, sender_of, link_to, link);
    free(link_to);
    free(sender_of);
    gw__buckets_fini(&by_src);
    return room;
}

static bool fill_index(struct gw__index *index)
{
    const struct gw_plan *plan = index->plan;
    for (unsigned s = 0; s < plan->steps; s++)
        for (size_t t = plan->step_begin[s]; t < plan->step_begin[s + 1]; t++)
            index->step[t] = s;
    for (size_t t = 0; t < plan->transfer_count; t++)
        index->link[t] = plan->transfers[t].chunk;
    return gw__buckets_init(&index->by_chunk, index->link, index->transfers,
                            plan->chunks) &&
           gw__links_number(plan, index->link, &index->links);
}

enum gw_err gw__index_init(struct gw__index *index, const struct gw_plan *plan,
                           struct gw_error *why)
{
    size_t bytes = (plan->transfer_count + 1) * sizeof(uint32_t);
    *index = (struct gw__index){
        .plan = plan,
        .transfers = (uint32_t)plan->transfer_count,
        .step = malloc(bytes),
        .link = malloc(bytes),
    };
    if (index->step && index->link && fill_index(index))
        return GW_OK;
    gw__index_fini(index);
    return gw_fail(why, GW_ENOMEM, "index of %zu transfers",
                   plan->transfer_count);
}

void gw__index_fini(struct gw__index *index)
{
    free(index->step);
    free(index->link);
    gw__buckets_fini(&index->by_chunk);
    *index = (struct gw__index){0};
}

uint32_t gw__index_step_end(const struct gw__index *index, uint32_t i,
                            uint32_t end)
{
    const uint32_t *item = index->by_chunk.item;
    uint32_t step = index->step[item[i]];
    while (i < end && index->step[item[i]] == step)
        i++;
    return i;
}
