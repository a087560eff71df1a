/* SPDX-License-Identifier: MIT
 *
 * Skip-gram with negative sampling (Mikolov, Sutskever, Chen, Corrado, Dean:
 * "Distributed representations of words and phrases and their
 * compositionality", NIPS 2013), as in word2vec.c. A text gives pairs of words
 * that are close to each other, (in, target). With `negatives` random words for
 * each target,
 *
 *     loss = -log s(in . out_target) - sum over drawn n of log s(-in . out_n)
 *
 * word2vec_pairs.c makes the pairs of a part of the text; word2vec_train.c
 * learns from them in order. task_word2vec.c applies it to a copy of pulled
 * rows, hogwild.c to shared memory with several threads.
 */
#ifndef GW__WORD2VEC_H
#define GW__WORD2VEC_H

#include "words.h"

#include <gradwire/train.h>

/* Draws numbers with given weights in constant time: Walker's alias method
 * (1977), constructed as in Vose (1991). A column gives itself below its
 * threshold, otherwise its alias. */
struct gw__alias {
    uint32_t threshold, alias;
};

struct gw__word2vec {
    struct gw__word_table words;
    uint32_t *keep; /* a word is kept if 32 random bits are below it */
    struct gw__alias *alias;
};

struct gw__pair {
    size_t first; /* of its targets; the first one is the true target */
    uint32_t count;
    uint32_t in;
    float rate;
};

struct gw__pairs {
    struct gw__pair *pair;
    size_t count, capacity;
    uint32_t *targets;
    size_t target_count, target_capacity;
    uint32_t *kept; /* scratch: words after subsampling */
    size_t *kept_at;
    size_t kept_capacity;
    uint32_t *pool; /* of negatives */
    size_t pool_capacity;
    /* the block of the text for this pool; UINT64_MAX: none */
    uint64_t pool_block;
};

/* The "epoch" of an evaluation: its pairs differ from those of all real epochs,
 * their rate is 0, and negatives come from all words. */
#define GW__EVALUATION UINT64_MAX

/* Makes the pairs whose target is in [first, first + count) of the text. They
 * do not depend on the division of the text. */
GW_MUST_CHECK enum gw_err gw__pairs_make(struct gw__pairs *pairs,
                                         const struct gw_task *task,
                                         uint64_t epoch, size_t first,
                                         size_t count, struct gw_error *why);
void gw__pairs_fini(struct gw__pairs *pairs);
/* Creates the alias table of the vocabulary, by frequency^0.75. False: out of
 * memory. */
GW_MUST_CHECK bool gw__alias_init(struct gw__word2vec *data);

/* The stride of vectors in floats: a multiple of LANES with zero padding, so
 * that the kernel has no remainder loop. */
enum { GW__LANES = 16 };
static inline size_t gw__lanes_up(size_t floats)
{
    return (floats + GW__LANES - 1) / GW__LANES * GW__LANES;
}

/* Two arrays of vectors. */
struct gw__vectors {
    float *in, *out;
    size_t stride;
    uint32_t *in_writes, *out_writes; /* see unlocked.h; NULL: not counted */
};

/* Learns from the pairs in order; their numbers are places in the arrays. A
 * rate of 0 changes nothing. `scratch` has one stride of floats. Adds to
 * samples, loss and right. Several threads may use the same vectors. */
void gw__word2vec_train(const struct gw__vectors *vectors,
                        const struct gw__pairs *pairs, float *scratch,
                        struct gw_sample_sums *sums);
/* The same for CPU vectors of 16 and 32 bytes, with the same bits. */
void gw__word2vec_train_any(const struct gw__vectors *vectors,
                            const struct gw__pairs *pairs, float *scratch,
                            struct gw_sample_sums *sums);
void gw__word2vec_train_avx2(const struct gw__vectors *vectors,
                             const struct gw__pairs *pairs, float *scratch,
                             struct gw_sample_sums *sums);
/* Memory for `count` vectors, aligned to cache lines. NULL: out of memory. */
float *gw__vectors_alloc(size_t count, size_t stride);

#endif
