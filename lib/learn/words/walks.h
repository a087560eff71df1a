/* SPDX-License-Identifier: MIT
 *
 * Graphs for DeepWalk (Perozzi, Al-Rfou, Skiena: "DeepWalk: online learning of
 * social representations", KDD 2014): random walks are sentences whose words
 * are nodes. The rest is word2vec.
 */
#ifndef GW__WALKS_H
#define GW__WALKS_H

#include "words.h"

struct gw__walks {
    uint32_t per_node; /* walks that begin at each node */
    uint32_t length;   /* nodes per walk */
    uint64_t seed;
};

/* The words are the nodes of an edge list, whose lines "A B" are undirected
 * edges. The stream is the concatenation of the walks. The node with most edges
 * is the first. A walk depends on the seed, its node and its number. GW_EDATA:
 * as gw__words_load, or a line does not have two words. */
GW_MUST_CHECK enum gw_err gw__words_walk(struct gw__word_table *words,
                                         const char *path,
                                         const struct gw__walks *walks,
                                         struct gw_error *why);

#endif
