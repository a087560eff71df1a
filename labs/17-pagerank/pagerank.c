/* SPDX-License-Identifier: MIT
 *
 * pagerank HOW PAGES GRAPH: the rank of each page, by power iteration (Page,
 * Brin, Motwani, Winograd 1999),
 *
 *     x'(v) = (1 - d)/n + d * sum of x(u)/links(u) over the links u -> v
 *
 * with d = 0.85, by HOW "dense" or "sparse" (combine.c), run by collrun exec.
 * It ends when the sum of all changes of x is below a millionth. Each page has
 * three links. GRAPH 0 is a row of villages of 16: a page links to the next
 * one, to the one on the other side of the row, and to the first page of its
 * village. Other numbers are seeds: two links to one of the next few pages, and
 * one to a random page, more often with a low number; from 1000 on, three
 * random pages.
 *
 * Rank 0 prints one line: the bytes per iteration; `pairs` of a rank and a page
 * of another to which it links; the number of values that differ from those of
 * one process; and the largest ratio of a change to the one before, which is at
 * most d (except for rounding).
 */
#include "pagerank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINKS = 3,
    ANYWHERE = 1000,
    VILLAGE = 16,
    PER_CENT = 85,
    TURNS_MOST = 200
};

struct pagerank {
    struct share share;
    bool sparse;
    unsigned graph;
    uint64_t *x, *contributed, *got; /* x: of the own block */
    uint64_t sent, sent_most;        /* bytes per iteration */
    unsigned turns;
    double kept; /* the largest ratio of a change to the one before */
};

static void links_of(const struct pagerank *j, unsigned page,
                     unsigned to[LINKS])
{
    unsigned n = j->share.pages;
    struct gw_rng rng;
    to[0] = (page + 1) % n;
    to[1] = (page + n / 2) % n;
    to[2] = page - page % VILLAGE;
    if (j->graph == 0)
        return;
    gw_rng_seed(&rng, ((uint64_t)j->graph << 32) + page);
    to[0] = (page + 1 + (unsigned)gw_rng_below(&rng, 4)) % n;
    to[1] = (page + 1 + (unsigned)gw_rng_below(&rng, 16)) % n;
    to[2] = (unsigned)(gw_rng_unit(&rng) * gw_rng_unit(&rng) * n);
    for (unsigned l = 0; l < LINKS && j->graph >= ANYWHERE; l++)
        to[l] = (unsigned)gw_rng_below(&rng, n);
}

/* Adds the values that `count` pages from `first` on give to given[]. */
static void give(const struct pagerank *j, const uint64_t *x, unsigned first,
                 unsigned count, uint64_t *contributed)
{
    for (unsigned v = 0; v < count; v++) {
        unsigned to[LINKS];
        links_of(j, first + v, to);
        for (unsigned l = 0; l < LINKS; l++)
            contributed[to[l]] += x[v] / LINKS / 100 * PER_CENT;
    }
}

/* Sets x to the received sums. Returns the sum of all changes. */
static uint64_t apply_sums(const struct pagerank *j, uint64_t *x,
                           const uint64_t *got, unsigned count)
{
    uint64_t base = ONE / 100 * (100 - PER_CENT) / j->share.pages, change = 0;
    for (unsigned v = 0; v < count; v++) {
        uint64_t next = base + got[v];
        change += next > x[v] ? next - x[v] : x[v] - next;
        x[v] = next;
    }
    return change;
}

static uint64_t bytes_sent(struct gw_comm *comm)
{
    uint64_t sum = 0;
    for (unsigned peer = 0; peer < gw_comm_size(comm); peer++) {
        struct gw_counters c;
        gw_comm_counters(comm, peer, &c);
        sum += c.bytes_sent;
    }
    return sum;
}

static enum gw_err iterate(struct pagerank *j)
{
    struct share *s = &j->share;
    uint64_t change = ONE, before, mine;
    enum gw_err err = j->sparse ? prepare_sparse(s) : GW_OK;
    while (!err && change > ONE / 1000000 && j->turns < TURNS_MOST) {
        uint64_t sent = bytes_sent(s->comm);
        before = change;
        memset(j->contributed, 0, s->pages * sizeof *j->contributed);
        give(j, j->x, s->rank * s->block, s->block, j->contributed);
        err = j->sparse ? combine_sparse(s, j->contributed, j->got)
                        : combine(s, j->contributed, j->got);
        j->sent = bytes_sent(s->comm) - sent;
        mine = apply_sums(j, j->x, j->got, s->block);
        if (!err)
            err = gw_allreduce(s->comm, &mine, &change, 1, GW_U64, GW_SUM);
        if (j->turns++ > 0 && (double)change / (double)before > j->kept)
            j->kept = (double)change / (double)before;
    }
    return err;
}

/* Computes the same by one process. Returns the number of values of this block
 * that differ. */
static uint64_t differing(const struct pagerank *j)
{
    unsigned n = j->share.pages;
    uint64_t *x = calloc(n, sizeof *x),
             *contributed = calloc(n, sizeof *contributed);
    uint64_t wrong = 0;
    if (!x || !contributed)
        exit(70);
    for (unsigned v = 0; v < n; v++)
        x[v] = ONE / n;
    for (unsigned t = 0; t < j->turns; t++) {
        memset(contributed, 0, n * sizeof *contributed);
        give(j, x, 0, n, contributed);
        apply_sums(j, x, contributed, n);
    }
    for (unsigned v = 0; v < j->share.block; v++)
        wrong += x[j->share.rank * j->share.block + v] != j->x[v];
    free(x);
    free(contributed);
    return wrong;
}

static uint64_t pairs_of(const struct share *s)
{
    uint64_t pairs = 0;
    for (unsigned page = 0; page < s->pages; page++)
        pairs += s->linked[page] && page / s->block != s->rank;
    return pairs;
}

static enum gw_err report(struct pagerank *j)
{
    struct gw_comm *comm = j->share.comm;
    uint64_t mine[3] = {j->sent, pairs_of(&j->share), differing(j)}, sum[3];
    uint64_t most;
    enum gw_err err = gw_allreduce(comm, mine, sum, 3, GW_U64, GW_SUM);
    if (!err)
        err = gw_allreduce(comm, &mine[0], &most, 1, GW_U64, GW_MAX);
    if (err || j->share.rank != 0)
        return err;
    printf("{\"ranks\":%u,\"turns\":%u,\"rank_bytes\":%g,\"bytes\":%g,"
           "\"pairs\":%g,\"wrong\":%g,\"kept\":%.4f}\n",
           j->share.ranks, j->turns, (double)most, (double)sum[0],
           (double)sum[1], (double)sum[2], j->kept);
    return GW_OK;
}

static enum gw_err begin(struct pagerank *j, bool **linked,
                         struct gw_error *why)
{
    struct share *s = &j->share;
    s->rank = gw_comm_rank(s->comm);
    s->ranks = gw_comm_size(s->comm);
    s->block = s->pages / s->ranks;
    if (s->pages == 0 || s->pages % (VILLAGE * s->ranks) || s->pages % 2)
        return gw_fail(why, GW_EINVAL,
                       "%u pages on %u ranks: the number of pages must be a "
                       "multiple of %u",
                       s->pages, s->ranks, VILLAGE * s->ranks);
    j->x = calloc(s->block, sizeof *j->x);
    j->got = calloc(s->block, sizeof *j->got);
    j->contributed = gw_alloc(s->pages * sizeof *j->contributed, why);
    *linked = calloc(s->pages, sizeof **linked);
    if (!j->x || !j->got || !j->contributed || !*linked)
        return gw_fail(why, GW_ENOMEM, "%u pages", s->pages);
    for (unsigned v = 0; v < s->block; v++) {
        unsigned to[LINKS];
        j->x[v] = ONE / s->pages;
        links_of(j, s->rank * s->block + v, to);
        for (unsigned l = 0; l < LINKS; l++)
            (*linked)[to[l]] = true;
    }
    s->linked = *linked;
    return GW_OK;
}

static void end(struct pagerank *j, bool *linked)
{
    free(j->x);
    free(j->got);
    gw_free(j->contributed);
    free(linked);
    free(j->share.send_counts);
    free(j->share.recv_counts);
    free(j->share.send_pages);
    free(j->share.recv_pages);
    free(j->share.send_values);
    free(j->share.recv_values);
    gw_comm_destroy(&j->share.comm);
}

int main(int argc, char **argv)
{
    struct pagerank j = {.turns = 0};
    struct gw_error why = {.code = GW_OK};
    bool *linked = NULL;
    if (argc < 4) {
        fprintf(stderr, "pagerank: dense|sparse PAGES GRAPH\n");
        return 64;
    }
    j.sparse = strcmp(argv[1], "sparse") == 0;
    j.share.pages = (unsigned)atoi(argv[2]);
    j.graph = (unsigned)atoi(argv[3]);
    enum gw_err err = gw_comm_from_env(NULL, &j.share.comm, &why);
    if (!err)
        err = begin(&j, &linked, &why);
    if (!err)
        err = iterate(&j);
    if (!err)
        err = report(&j);
    if (err && j.share.comm && gw_comm_error(j.share.comm)->code)
        why = *gw_comm_error(j.share.comm);
    if (err)
        fprintf(stderr, "pagerank: %s\n",
                why.text[0] ? why.text : gw_err_text(err));
    end(&j, linked);
    return err ? gw_err_exit(err) : 0;
}
