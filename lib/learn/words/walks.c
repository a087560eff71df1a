/* SPDX-License-Identifier: MIT
 *
 * An edge list is read as a text with two words per line: its words are the
 * nodes, and their counts the numbers of edges. It is converted to
 *
 *     neighbour[first[v] .. first[v + 1])   the neighbours of node v
 *
 * A walk goes to a random neighbour, with equal probabilities, and so on. Each
 * pass over the nodes has its own order, as in the paper's algorithm 1.
 */
#include "walks.h"

#include "learn/random.h"

#include <stdlib.h>

struct graph {
    size_t *first; /* one entry more than nodes */
    uint32_t *neighbour;
    uint32_t *order; /* in a pass */
    size_t nodes;
};

/* Converts counts to ends and then, edge by edge, to beginnings. */
static void connect(struct graph *g, const struct gw__word_table *words)
{
    for (size_t v = 0, end = 0; v < g->nodes; v++)
        g->first[v] = end += (size_t)words->word[v].count;
    g->first[g->nodes] = words->length;
    for (size_t e = 0; e < words->length; e++)
        g->neighbour[--g->first[words->stream[e]]] = words->stream[e ^ 1];
}

static bool graph_init(struct graph *g, const struct gw__word_table *words)
{
    g->nodes = words->word_count;
    g->first = malloc((g->nodes + 1) * sizeof *g->first);
    g->neighbour = malloc(words->length * sizeof *g->neighbour);
    g->order = malloc(g->nodes * sizeof *g->order);
    if (!g->first || !g->neighbour || !g->order)
        return false;
    connect(g, words);
    for (size_t v = 0; v < g->nodes; v++)
        g->order[v] = (uint32_t)v;
    return true;
}

static void graph_fini(struct graph *g)
{
    free(g->first);
    free(g->neighbour);
    free(g->order);
}

static void shuffle(struct graph *g, uint64_t seed)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (size_t i = g->nodes; i > 1; i--) {
        size_t k = (size_t)gw_rng_below(&rng, i);
        uint32_t kept = g->order[i - 1];
        g->order[i - 1] = g->order[k];
        g->order[k] = kept;
    }
}

static void walk(const struct graph *g, uint32_t node, uint32_t length,
                 uint64_t seed, uint32_t *stream)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (uint32_t i = 0; i < length; i++) {
        size_t first = g->first[node];
        stream[i] = node;
        node = g->neighbour[first +
                            gw_rng_below(&rng, g->first[node + 1] - first)];
    }
}

/* The stream of all walks; the words count the visits of nodes. */
static void walk_all(struct graph *g, const struct gw__walks *walks,
                     struct gw__word_table *words, uint32_t *stream)
{
    for (size_t v = 0; v < g->nodes; v++)
        words->word[v].count = 0;
    for (uint32_t pass = 0; pass < walks->per_node; pass++) {
        uint64_t seed = gw__mix_in(walks->seed, pass);
        shuffle(g, seed);
        for (size_t i = 0; i < g->nodes; i++) {
            size_t at = (pass * g->nodes + i) * walks->length;
            uint32_t node = g->order[i];
            walk(g, node, walks->length, gw__mix_in(seed, node), stream + at);
        }
    }
    words->length = walks->per_node * g->nodes * walks->length;
    words->sentence = walks->length;
    for (size_t at = 0; at < words->length; at++)
        words->word[stream[at]].count++;
}

enum gw_err gw__words_walk(struct gw__word_table *words, const char *path,
                           const struct gw__walks *walks, struct gw_error *why)
{
    struct graph graph = {.nodes = 0};
    const struct gw__words_format edges = {.min_count = 1, .line_words = 2};
    enum gw_err code = gw__words_load(words, path, &edges, why);
    if (code)
        return code;
    size_t walk_count = walks->per_node * words->word_count;
    bool fits = walk_count < UINT32_MAX / walks->length;
    uint32_t *stream =
        fits ? calloc(walk_count, walks->length * sizeof *stream) : NULL;
    if (stream && graph_init(&graph, words)) {
        walk_all(&graph, walks, words, stream);
        free(words->stream);
        words->stream = stream;
    } else {
        code = gw_fail(why, GW_ENOMEM, "%s: %zu walks of %u nodes", path,
                       walk_count, walks->length);
        free(stream);
        gw__words_fini(words);
    }
    graph_fini(&graph);
    return code;
}
