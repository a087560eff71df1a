/* SPDX-License-Identifier: MIT
 *
 * Normalised word vectors, shared by embedding.c and analogies.c.
 */
#ifndef GW__EMBEDDING_H
#define GW__EMBEDDING_H

#include <gradwire/train.h>

struct gw_embedding {
    const struct gw_task *task;
    size_t count, width;
    float *vectors;
};

/* The number of a word in that task; gw_words_count: unknown word. */
size_t gw__task_word(const struct gw_task *task, const char *text,
                     size_t bytes);
/* The *count words whose vectors have the largest products with `wanted`, in
 * descending order, without the excluded ones. */
void gw__embedding_search(const struct gw_embedding *words, const float *wanted,
                          const size_t *excluded, size_t excluded_count,
                          struct gw_neighbour *nearest, size_t *count);

#endif
