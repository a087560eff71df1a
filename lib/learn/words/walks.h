/* SPDX-License-Identifier: MIT
 *
 * A graph as DeepWalk sees it (Perozzi, Al-Rfou, Skiena: "DeepWalk: online
 * learning of social representations", KDD 2014): random walks over it are
 * sentences, whose words are the nodes. From there on it is word2vec.
 */
#ifndef GW__WALKS_H
#define GW__WALKS_H

#include "words.h"

struct gw__walks {
    uint32_t per_node; /* walks that begin at each node */
    uint32_t length;   /* nodes of a walk */
    uint64_t seed;
};

/* The words are the nodes of an edge list, a line "A B" for each edge, in both
 * directions; the stream is the walks, one after the other. The node with most
 * edges is the first. A walk follows from the seed, its node and its number.
 * GW_EDATA: as gw__words_load, or a line has other than two words. */
GW_MUST_CHECK enum gw_err gw__words_walk(struct gw__word_table *words,
                                         const char *path,
                                         const struct gw__walks *walks,
                                         struct gw_error *why);

#endif
