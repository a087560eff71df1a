/* SPDX-License-Identifier: MIT
 *
 * Queries of word vectors: nearest words, and the word that is to C as B is to
 * A (Mikolov, Chen, Corrado, Dean: "Efficient estimation of word
 * representations in vector space", 2013, section 4). Vectors have length 1, so
 * similarity is a dot product, and a query is a pass over all words.
 * analogies.c reads questions.
 */
#include "embedding.h"

#include "learn/tasks/task.h"
#include "word2vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the vocabulary ---- */

static const struct gw__word_table *words_of(const struct gw_task *task)
{
    static const struct gw__word_table none;
    const struct gw__word2vec *data = task->data;
    return gw__task_has_words(task) ? &data->words : &none;
}

size_t gw_words_count(const struct gw_task *task)
{
    return words_of(task)->word_count;
}

const char *gw_words_word(const struct gw_task *task, size_t number,
                          size_t *bytes)
{
    const struct gw__word_table *words = words_of(task);
    bool there = number < words->word_count;
    *bytes = there ? words->word[number].bytes : 0;
    return there ? words->word[number].text : "";
}

uint64_t gw_words_frequency(const struct gw_task *task, size_t number)
{
    const struct gw__word_table *words = words_of(task);
    return number < words->word_count ? words->word[number].count : 0;
}

size_t gw__task_word(const struct gw_task *task, const char *text, size_t bytes)
{
    const struct gw__word_table *words = words_of(task);
    return words->word_count ? gw__words_number(words, text, bytes) : 0;
}

enum gw_err gw_words_find(const struct gw_task *task, const char *word,
                          size_t *number, struct gw_error *why)
{
    *number = gw__task_word(task, word, strlen(word));
    if (*number == gw_words_count(task))
        return gw_fail(why, GW_EDATA,
                       "\"%s\" is not in the vocabulary, the words that are "
                       "frequent enough in the text",
                       word);
    return GW_OK;
}

/* ---- vectors ---- */

/* False: a value is NaN or infinite, so there is no direction. */
static bool normalise(float *vector, size_t width)
{
    double sum = 0;
    for (size_t k = 0; k < width; k++)
        sum += (double)vector[k] * (double)vector[k];
    float factor = sum > 0 ? (float)(1 / sqrt(sum)) : 0;
    for (size_t k = 0; k < width; k++)
        vector[k] *= factor;
    return isfinite(sum) != 0;
}

static enum gw_err fetch_all(struct gw_embedding *words,
                             const struct gw_fetch *fetch, struct gw_error *why)
{
    enum { CHUNK = 4096 };
    uint64_t keys[CHUNK];
    size_t width = words->width;
    for (size_t first = 0; first < words->count; first += CHUNK) {
        size_t left = words->count - first;
        size_t count = left < CHUNK ? left : CHUNK;
        for (size_t i = 0; i < count; i++)
            keys[i] = first + i;
        enum gw_err code = fetch->rows(fetch->context, 0, keys, count,
                                       words->vectors + first * width, why);
        if (code)
            return code;
    }
    for (size_t i = 0; i < words->count; i++)
        if (!normalise(words->vectors + i * width, width))
            return gw_fail(why, GW_EWRONG,
                           "the vector of word %zu is not finite: the training "
                           "has diverged; use a lower rate",
                           i);
    return GW_OK;
}

enum gw_err gw_embedding_new(const struct gw_task *task,
                             const struct gw_fetch *fetch,
                             struct gw_embedding **words, struct gw_error *why)
{
    *words = NULL;
    if (!gw__task_has_words(task))
        return gw_fail(
            why, GW_EINVAL,
            "%s does not learn word vectors; use word2vec or deepwalk",
            task->model->name);
    struct gw_embedding *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "the vectors of words");
    made->task = task;
    made->count = gw_words_count(task);
    made->width = task->config.words.dimension;
    made->vectors = malloc(made->count * made->width * sizeof(float));
    enum gw_err code =
        made->vectors
            ? fetch_all(made, fetch, why)
            : gw_fail(why, GW_ENOMEM, "the vectors of %zu words", made->count);
    if (code)
        gw_embedding_destroy(&made);
    *words = made;
    return code;
}

void gw_embedding_destroy(struct gw_embedding **words)
{
    if (!*words)
        return;
    free((*words)->vectors);
    free(*words);
    *words = NULL;
}

/* ---- similarity ---- */

/* Four independent sums hide the latency of additions. */
static double nearness(const float *a, const float *b, size_t width)
{
    float sum[4] = {0, 0, 0, 0};
    size_t k = 0;
    for (; k + 4 <= width; k += 4)
        for (size_t i = 0; i < 4; i++)
            sum[i] += a[k + i] * b[k + i];
    for (; k < width; k++)
        sum[0] += a[k] * b[k];
    return (double)(sum[0] + sum[1]) + (double)(sum[2] + sum[3]);
}

/* Inserts a neighbour into the `filled` best of `room`. */
static size_t insert(struct gw_neighbour *nearest, size_t filled, size_t room,
                     struct gw_neighbour one)
{
    if (filled == room && one.cosine <= nearest[room - 1].cosine)
        return filled;
    size_t at = filled < room ? filled++ : room - 1;
    for (; at > 0 && nearest[at - 1].cosine < one.cosine; at--)
        nearest[at] = nearest[at - 1];
    nearest[at] = one;
    return filled;
}

void gw__embedding_search(const struct gw_embedding *words, const float *wanted,
                          const size_t *excluded, size_t excluded_count,
                          struct gw_neighbour *nearest, size_t *count)
{
    size_t room = *count, filled = 0;
    for (size_t i = 0; room > 0 && i < words->count; i++) {
        bool out = false;
        for (size_t k = 0; k < excluded_count; k++)
            out |= excluded[k] == i;
        if (out)
            continue;
        const float *vector = words->vectors + i * words->width;
        filled = insert(
            nearest, filled, room,
            (struct gw_neighbour){i, nearness(wanted, vector, words->width)});
    }
    *count = filled;
}

enum gw_err gw_embedding_nearest(const struct gw_embedding *words,
                                 const char *word, struct gw_neighbour *nearest,
                                 size_t *count, struct gw_error *why)
{
    size_t number;
    enum gw_err code = gw_words_find(words->task, word, &number, why);
    if (code)
        return code;
    gw__embedding_search(words, words->vectors + number * words->width, &number,
                         1, nearest, count);
    return GW_OK;
}
