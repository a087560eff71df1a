/* SPDX-License-Identifier: MIT
 *
 * A solution: a reduce-scatter instead of an all-reduce, and an all-to-all of
 * the values that can be other than 0. The links determine their pages and
 * never change, so the page numbers are sent only once.
 */
#include "pagerank.h"

#include <stdlib.h>
#include <string.h>

enum gw_err combine(struct share *s, uint64_t *contributed, uint64_t *got)
{
    const struct gw_call call = {.collective = GW_REDUCE_SCATTER,
                                 .in = contributed,
                                 .out = got,
                                 .count = s->block,
                                 .type = GW_U64,
                                 .op = GW_SUM,
                                 .algo = "ring"};
    return gw_run(s->comm, &call);
}

static size_t sum(const size_t *counts, unsigned ranks)
{
    size_t all = 0;
    for (unsigned r = 0; r < ranks; r++)
        all += counts[r];
    return all;
}

/* Counts the values that go to each rank and come from each. */
static enum gw_err count(struct share *s)
{
    s->send_counts = calloc(s->ranks, sizeof *s->send_counts);
    s->recv_counts = calloc(s->ranks, sizeof *s->recv_counts);
    if (!s->send_counts || !s->recv_counts)
        return GW_ENOMEM;
    for (unsigned page = 0; page < s->pages; page++)
        s->send_counts[page / s->block] += s->linked[page];
    return gw_alltoall(s->comm, s->send_counts, s->recv_counts, 1, GW_U64);
}

enum gw_err prepare_sparse(struct share *s)
{
    enum gw_err err = count(s);
    if (err)
        return err;
    size_t sent = sum(s->send_counts, s->ranks), k = 0;
    size_t received = sum(s->recv_counts, s->ranks);
    s->send_pages = calloc(sent + 1, sizeof *s->send_pages);
    s->recv_pages = calloc(received + 1, sizeof *s->recv_pages);
    s->send_values = calloc(sent + 1, sizeof *s->send_values);
    s->recv_values = calloc(received + 1, sizeof *s->recv_values);
    if (!s->send_pages || !s->recv_pages || !s->send_values || !s->recv_values)
        return GW_ENOMEM;
    for (unsigned page = 0; page < s->pages; page++)
        if (s->linked[page])
            s->send_pages[k++] = page;
    return gw_alltoallv(s->comm, s->send_pages, s->send_counts, NULL,
                        s->recv_pages, s->recv_counts, NULL, GW_U32);
}

enum gw_err combine_sparse(struct share *s, uint64_t *contributed,
                           uint64_t *got)
{
    size_t sent = sum(s->send_counts, s->ranks);
    size_t received = sum(s->recv_counts, s->ranks);
    for (size_t k = 0; k < sent; k++)
        s->send_values[k] = contributed[s->send_pages[k]];
    enum gw_err err =
        gw_alltoallv(s->comm, s->send_values, s->send_counts, NULL,
                     s->recv_values, s->recv_counts, NULL, GW_U64);
    memset(got, 0, s->block * sizeof *got);
    for (size_t k = 0; k < received; k++)
        got[s->recv_pages[k] - s->rank * s->block] += s->recv_values[k];
    return err;
}
