/* SPDX-License-Identifier: MIT
 *
 * word2vec with tables. A work item is a part of the text. First its pairs
 * are made, which determine the rows it needs. Then it learns from the pairs in
 * order, on a copy of these rows, like word2vec.c, and pushes the change of
 * each row. So learning is sequential within an item and Hogwild between items,
 * with a delay of one item. If several parts of a batch begin with the same
 * rows, frequent words would move by the sum of independent steps and diverge.
 * So each part pushes only a share of such changes (share_of_move). With one
 * part nothing is reduced.
 *
 * The table "in" has the words' vectors, "out" those of their targets; the key
 * is the number of the word. word2vec.h has the formulas and the files.
 * deepwalk is the same with walks on a graph instead of a text (walks.h), and
 * nodes instead of words.
 */
#include "learn/words/walks.h"
#include "learn/words/word2vec.h"
#include "task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIMENSION_MAX = 1 << 16,
    WINDOW_MAX = 1000,
    NEGATIVES_MAX = 1000,
    POOL_MAX = 1 << 20,
    WALKS_MAX = 10000,
    LENGTH_MAX = 10000
};

struct words_scratch {
    struct gw__pairs pairs;
    bool is_indexed; /* word numbers have been replaced by places of rows */
    struct gw__vectors copy;
    size_t in_capacity, out_capacity; /* floats */
    float *error;                     /* one vector for each thread */
    unsigned errors;                  /* number of these vectors */
    /* visits of each row by the pairs; there is room for all */
    uint32_t *visits[2];
};

static void words_defaults(struct gw_task_config *config)
{
    config->epochs = 10;
    config->batch = 4000;
    config->updater = GW_PS_ADD;
    config->words.dimension = 100;
    config->words.window = 5;
    config->words.negatives = 5;
    config->words.min_count = 5;
    config->words.subsample = 1e-3;
    config->words.pool = 512;
}

static void defaults_of_walks(struct gw_task_config *config)
{
    words_defaults(config);
    config->epochs = 5;
    config->words.dimension = 64;
    config->words.min_count = 1;
    config->words.subsample = 0;
    config->words.walks = 10;
    config->words.length = 40;
}

static void close_words(void *data)
{
    struct gw__word2vec *w = data;
    if (!w)
        return;
    gw__words_fini(&w->words);
    free(w->keep);
    free(w->alias);
    free(w);
}

static enum gw_err check_walks(const struct gw_task_config *config,
                               struct gw_error *why)
{
    bool walks = config->words.walks >= 1 && config->words.walks <= WALKS_MAX;
    if (!walks || config->words.length < 2 || config->words.length > LENGTH_MAX)
        return gw_fail(why, GW_EINVAL,
                       "deepwalk: %u walks of %u nodes; use 1 to %d walks of 2 "
                       "to %d nodes",
                       config->words.walks, config->words.length, WALKS_MAX,
                       LENGTH_MAX);
    return GW_OK;
}

static enum gw_err check_words(const struct gw_task_config *config,
                               const char *name, struct gw_error *why)
{
    if (!config->train)
        return gw_fail(
            why, GW_EINVAL,
            "%s: the text or edge list is missing; give a training file", name);
    if (config->test)
        return gw_fail(why, GW_EINVAL,
                       "%s: this task has no test set; remove the test file",
                       name);
    if (config->epochs == 0)
        return gw_fail(why, GW_EINVAL,
                       "%s: the rate falls to 0 at the last epoch; give a "
                       "number of epochs above 0",
                       name);
    if (config->words.dimension == 0 || config->words.dimension > DIMENSION_MAX)
        return gw_fail(why, GW_EINVAL, "%s: dimension %u; use 1 to %d", name,
                       config->words.dimension, DIMENSION_MAX);
    if (config->words.window == 0 || config->words.window > WINDOW_MAX)
        return gw_fail(why, GW_EINVAL, "%s: window %u; use 1 to %d", name,
                       config->words.window, WINDOW_MAX);
    if (config->words.negatives > NEGATIVES_MAX)
        return gw_fail(why, GW_EINVAL, "%s: %u negatives; use 0 to %d", name,
                       config->words.negatives, NEGATIVES_MAX);
    if (config->words.pool > POOL_MAX)
        return gw_fail(why, GW_EINVAL, "%s: a pool of %u words; use at most %d",
                       name, config->words.pool, POOL_MAX);
    if (!(config->words.subsample >= 0))
        return gw_fail(
            why, GW_EINVAL,
            "%s: the subsampling threshold must be at least 0, not %g", name,
            config->words.subsample);
    return GW_OK;
}

/* A word with share f of the text is kept with probability sqrt(s / f) + s / f,
 * as in word2vec.c; the paper has sqrt(s / f) alone. */
static bool init_keep(struct gw__word2vec *data, double subsample)
{
    const struct gw__word_table *words = &data->words;
    data->keep = malloc(words->word_count * sizeof *data->keep);
    for (size_t i = 0; data->keep && i < words->word_count; i++) {
        double share = (double)words->word[i].count / (double)words->length;
        double ratio = subsample > 0 ? subsample / share : 1;
        double chance = fmin(sqrt(ratio) + ratio, 1);
        data->keep[i] = (uint32_t)(chance * (double)UINT32_MAX);
    }
    return data->keep != NULL;
}

static enum gw_err load_words(struct gw__word_table *words,
                              const struct gw_task *task, struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    const struct gw__words_format text = {.min_count = config->words.min_count};
    const struct gw__walks walks = {.per_node = config->words.walks,
                                    .length = config->words.length,
                                    .seed = config->seed};
    return config->kind == GW_TASK_DEEPWALK
               ? gw__words_walk(words, config->train, &walks, why)
               : gw__words_load(words, config->train, &text, why);
}

static enum gw_err open_words(struct gw_task *task, struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    enum gw_err code = check_words(config, task->model->name, why);
    if (!code && config->kind == GW_TASK_DEEPWALK)
        code = check_walks(config, why);
    if (code)
        return code;
    struct gw__word2vec *data = task->data = calloc(1, sizeof *data);
    if (!data)
        return gw_fail(why, GW_ENOMEM, "word2vec");
    code = load_words(&data->words, task, why);
    if (code)
        return code;
    if (!init_keep(data, config->words.subsample) || !gw__alias_init(data))
        return gw_fail(why, GW_ENOMEM, "%s: %zu words", config->train,
                       data->words.word_count);
    uint32_t dimension = config->words.dimension;
    task->rows = data->words.length;
    gw__task_table(task, "in", dimension, data->words.word_count)->init_range =
        0.5f / (float)dimension;
    gw__task_table(task, "out", dimension, data->words.word_count);
    return GW_OK;
}

/* ---- items ---- */

static bool reserve_vectors(float **vectors, size_t *capacity, size_t count,
                            size_t stride)
{
    size_t floats = count * stride;
    if (floats <= *capacity)
        return true;
    free(*vectors);
    *vectors = gw__vectors_alloc(count, stride);
    *capacity = *vectors ? floats : 0;
    return *vectors != NULL;
}

/* The number of rows is limited by the words and by the occurrences. */
static size_t at_most(size_t names, size_t words)
{
    return names < words ? names : words;
}

static enum gw_err prepare_pairs(struct gw_work_item *item,
                                 struct gw_error *why)
{
    struct words_scratch *scratch = item->scratch;
    struct gw__pairs *pairs = &scratch->pairs;
    const struct gw__word2vec *data = item->task->data;
    size_t words = data->words.word_count;
    size_t stride = gw__lanes_up(item->task->config.words.dimension);
    enum gw_err code = gw__pairs_make(
        pairs, item->task, item->learning ? item->epoch : GW__EVALUATION,
        item->first, item->count, why);
    if (code)
        return code;
    bool added = true;
    for (size_t i = 0; added && i < pairs->count; i++)
        added = gw__keyset_add(&item->keys[0], pairs->pair[i].in);
    for (size_t i = 0; added && i < pairs->target_count; i++)
        added = gw__keyset_add(&item->keys[1], pairs->targets[i]);
    scratch->is_indexed = false;
    scratch->copy.stride = stride;
    if (scratch->errors < item->unlocked.threads) {
        free(scratch->error);
        scratch->error = gw__vectors_alloc(item->unlocked.threads, stride);
        scratch->errors = scratch->error ? item->unlocked.threads : 0;
    }
    for (int i = 0; i < 2; i++)
        if (!scratch->visits[i])
            scratch->visits[i] = malloc(words * sizeof *scratch->visits[i]);
    if (!added || !scratch->error || !scratch->visits[0] ||
        !scratch->visits[1] ||
        !reserve_vectors(&scratch->copy.in, &scratch->in_capacity,
                         at_most(pairs->count, words), stride) ||
        !reserve_vectors(&scratch->copy.out, &scratch->out_capacity,
                         at_most(pairs->target_count, words), stride))
        return gw_fail(why, GW_ENOMEM, "word2vec: %zu pairs of words",
                       pairs->count);
    return GW_OK;
}

/* Replaces word numbers by places of rows, and counts the visits of
 * each row. */
static void name_places(struct gw_work_item *item,
                        struct words_scratch *scratch)
{
    struct gw__pairs *pairs = &scratch->pairs;
    for (unsigned table = 0; table < 2; table++)
        for (size_t i = 0; i < item->keys[table].count; i++)
            scratch->visits[table][i] = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        uint32_t *in = &pairs->pair[i].in;
        *in = gw__keyset_place(&item->keys[0], *in);
        scratch->visits[0][*in] += pairs->pair[i].count;
    }
    for (size_t i = 0; i < pairs->target_count; i++) {
        uint32_t *target = &pairs->targets[i];
        *target = gw__keyset_place(&item->keys[1], *target);
        scratch->visits[1][*target]++;
    }
    scratch->is_indexed = true;
}

static void copy_in(float *copy, size_t stride, const float *rows, size_t count,
                    size_t width)
{
    for (size_t i = 0; i < count; i++)
        memcpy(copy + i * stride, rows + i * width, width * sizeof *copy);
}

/* The share of its change that a row with n visits pushes, if `parts` parts
 * push changes from the same start. If a visit moves a row by the share c of
 * its way, n visits move it by 1 - (1 - c)^n, and those of all parts in
 * sequence by 1 - (1 - c)^(n parts). c is the rate times the steepness of the
 * loss: rare words move by the sum, the most frequent ones by the mean. On
 * text8 a steepness of 0.02 still lets 8 parts of 2000 words diverge, and 0.06
 * costs 4 parts of 1000 words 1.3 % of the loss. */
#define STEEPNESS 0.04

static float share_of_move(uint32_t n, unsigned parts, double rate)
{
    double decay = -rate * (double)n;
    return (float)(expm1(decay * parts) / (expm1(decay) * parts));
}

static void compute_moves(const struct gw_work_item *item, unsigned table,
                          const float *copy, const float *rows, float *moves)
{
    const struct words_scratch *scratch = item->scratch;
    size_t width = item->task->config.words.dimension;
    const uint32_t *visits = scratch->visits[table];
    double rate = scratch->pairs.count ? (double)scratch->pairs.pair->rate : 0;
    bool alone = item->parts == 1 || !(rate > 0);
    for (size_t i = 0; i < item->keys[table].count; i++) {
        const float *to = copy + i * scratch->copy.stride;
        float share =
            alone ? 1 : share_of_move(visits[i], item->parts, STEEPNESS * rate);
        for (size_t k = 0; k < width; k++)
            moves[i * width + k] = share * (to[k] - rows[i * width + k]);
    }
}

static void copy_rows(struct gw_work_item *item, const float *const *rows,
                      float *const *gradients)
{
    struct words_scratch *scratch = item->scratch;
    const struct gw__vectors *copy = &scratch->copy;
    size_t width = item->task->config.words.dimension;
    (void)gradients;
    if (!scratch->is_indexed)
        name_places(item, scratch);
    copy_in(copy->in, copy->stride, rows[0], item->keys[0].count, width);
    copy_in(copy->out, copy->stride, rows[1], item->keys[1].count, width);
}

static void share_pairs(struct gw_work_item *item, const float *const *rows,
                        float *const *gradients, const struct gw__share *share)
{
    const struct words_scratch *scratch = item->scratch;
    struct gw__vectors vectors = scratch->copy;
    struct gw__pairs pairs = scratch->pairs;
    size_t first = gw__share_begin(share, pairs.count);
    (void)rows, (void)gradients;
    pairs.count = gw__share_end(share, pairs.count) - first;
    pairs.pair += first;
    vectors.in_writes = share->row_writes[0];
    vectors.out_writes = share->row_writes[1];
    gw__word2vec_train(&vectors, &pairs,
                       scratch->error + share->part * vectors.stride,
                       share->sums);
    for (size_t i = 0; share->parts > 1 && i < pairs.count; i++)
        share->sums->row_writes += 1 + (uint64_t)pairs.pair[i].count;
}

static void write_moves(struct gw_work_item *item, const float *const *rows,
                        float *const *gradients)
{
    const struct gw__vectors *copy =
        &((const struct words_scratch *)item->scratch)->copy;
    compute_moves(item, 0, copy->in, rows[0], gradients[0]);
    compute_moves(item, 1, copy->out, rows[1], gradients[1]);
}

static void scratch_fini(void *memory)
{
    struct words_scratch *scratch = memory;
    gw__pairs_fini(&scratch->pairs);
    free(scratch->copy.in);
    free(scratch->copy.out);
    free(scratch->error);
    free(scratch->visits[0]);
    free(scratch->visits[1]);
}

const struct gw__task_model gw__task_word2vec = {
    .name = "word2vec",
    .files_min = 1,
    .files_max = 1,
    .quality = "first",
    .chunk = 1 << 15,
    .scratch_bytes = sizeof(struct words_scratch),
    .rates = {[GW_PS_ADD] = 0.025f},
    .defaults = words_defaults,
    .open = open_words,
    .close = close_words,
    .prepare = prepare_pairs,
    .begin = copy_rows,
    .share = share_pairs,
    .finish = write_moves,
    .scratch_fini = scratch_fini,
};

const struct gw__task_model gw__task_deepwalk = {
    .name = "deepwalk",
    .files_min = 1,
    .files_max = 1,
    .quality = "first",
    .chunk = 1 << 15,
    .scratch_bytes = sizeof(struct words_scratch),
    .rates = {[GW_PS_ADD] = 0.025f},
    .defaults = defaults_of_walks,
    .open = open_words,
    .close = close_words,
    .prepare = prepare_pairs,
    .begin = copy_rows,
    .share = share_pairs,
    .finish = write_moves,
    .scratch_fini = scratch_fini,
};
