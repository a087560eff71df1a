/* SPDX-License-Identifier: MIT
 *
 * Checks whether vectors separate classes. Each labelled word is left out in
 * turn and assigned to the class with the nearest mean of the others (a nearest
 * centroid classifier with leave-one-out), so no word affects its own result. A
 * file of labels is a text with two words per line; classes are numbered like
 * words.
 */
#include "embedding.h"

#include "learn/tasks/task.h"
#include "words.h"

#include <math.h>
#include <stdlib.h>

struct classes {
    const struct gw_embedding *words;
    const struct gw__word_table *labels;
    double *sums; /* sum of the vectors of each class */
};

/* One line of the file. */
struct labelled {
    size_t number; /* of the word */
    uint32_t class;
};

/* The next line from *at on with a known word. False: none. */
static bool next(const struct classes *c, size_t *at, struct labelled *one)
{
    const struct gw__word_table *labels = c->labels;
    while (*at + 1 < labels->length) {
        const struct gw__word *word = &labels->word[labels->stream[*at]];
        one->number = gw__task_word(c->words->task, word->text, word->bytes);
        one->class = labels->stream[*at + 1];
        *at += 2;
        if (one->number < c->words->count)
            return true;
    }
    return false;
}

static void add_to_class(const struct classes *c, const struct labelled *one,
                         double sign)
{
    size_t width = c->words->width;
    const float *vector = c->words->vectors + one->number * width;
    double *sum = c->sums + one->class * width;
    for (size_t k = 0; k < width; k++)
        sum[k] += sign * (double)vector[k];
}

/* The cosine of the word and the mean of a class; -2: the class is empty. */
static double nearness(const struct classes *c, size_t number, size_t class)
{
    size_t width = c->words->width;
    const float *vector = c->words->vectors + number * width;
    const double *mean = c->sums + class * width;
    double product = 0, square = 0;
    for (size_t k = 0; k < width; k++) {
        product += (double)vector[k] * mean[k];
        square += mean[k] * mean[k];
    }
    return square > 0 ? product / sqrt(square) : -2;
}

static bool is_right(const struct classes *c, const struct labelled *one)
{
    double best = -2;
    add_to_class(c, one, -1);
    double wanted = nearness(c, one->number, one->class);
    for (size_t class = 0; class < c->labels->word_count; class ++)
        if (class != one->class)
            best = fmax(best, nearness(c, one->number, class));
    add_to_class(c, one, 1);
    return wanted > best;
}

enum gw_err gw_embedding_classes(const struct gw_embedding *words,
                                 const char *path, size_t *total, size_t *right,
                                 struct gw_error *why)
{
    const struct gw__words_format format = {.min_count = 1, .line_words = 2};
    struct gw__word_table labels;
    struct labelled one;
    enum gw_err code = gw__words_load(&labels, path, &format, why);
    *total = *right = 0;
    if (code)
        return code;
    struct classes c = {.words = words, .labels = &labels};
    c.sums = calloc(labels.word_count * words->width, sizeof *c.sums);
    if (!c.sums)
        code = gw_fail(why, GW_ENOMEM, "%s: %zu words", path, labels.length);
    for (size_t at = 0; !code && next(&c, &at, &one); (*total)++)
        add_to_class(&c, &one, 1);
    for (size_t at = 0; !code && next(&c, &at, &one);)
        *right += is_right(&c, &one);
    free(c.sums);
    gw__words_fini(&labels);
    return code;
}
