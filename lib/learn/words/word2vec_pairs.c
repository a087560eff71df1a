/* SPDX-License-Identifier: MIT
 *
 * Word pairs from a part of a text. As in word2vec.c, frequent words are
 * dropped at random. Each remaining word has a window of random width; each
 * other word in it gives a pair whose target is the word in the middle.
 * Negatives are drawn by frequency^0.75.
 *
 * In contrast to word2vec.c, random numbers depend on the position in the text
 * (random.h). A part may look beyond its ends, since the dropping of a word
 * depends only on its position, and all parts together give exactly the pairs
 * of the text.
 */
#include "word2vec.h"

#include "learn/random.h"
#include "learn/tasks/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- random words ---- */

static void pair_up(struct gw__alias *alias, double *share, uint32_t *order,
                    size_t count)
{
    /* Columns with less than their share first, the others at the end. */
    size_t small_end = 0, large_begin = count;
    for (size_t i = 0; i < count; i++)
        if (share[i] < 1)
            order[small_end++] = (uint32_t)i;
        else
            order[--large_begin] = (uint32_t)i;
    size_t next_small = 0;
    while (next_small < large_begin && large_begin < count) {
        uint32_t large = order[large_begin], small = order[next_small++];
        alias[small] = (struct gw__alias){
            .threshold = (uint32_t)fmin(share[small] * 0x1p32, 0xffffffffp0),
            .alias = large};
        share[large] -= 1 - share[small];
        large_begin +=
            share[large] < 1; /* it is now the last one below its share */
    }
    /* The remaining columns have their share, except for rounding. */
    for (; next_small < count; next_small++)
        alias[order[next_small]] = (struct gw__alias){
            .threshold = UINT32_MAX, .alias = order[next_small]};
}

bool gw__alias_init(struct gw__word2vec *data)
{
    size_t count = data->words.word_count;
    double *share = malloc(count * sizeof *share), sum = 0;
    uint32_t *order = malloc(count * sizeof *order);
    data->alias = malloc(count * sizeof *data->alias);
    bool made = share && order && data->alias;
    if (made) {
        for (size_t i = 0; i < count; i++)
            sum += share[i] = pow((double)data->words.word[i].count, 0.75);
        for (size_t i = 0; i < count; i++)
            share[i] *= (double)count / sum;
        pair_up(data->alias, share, order, count);
    }
    free(share);
    free(order);
    return made;
}

static uint32_t draw_word(const struct gw__word2vec *data, struct gw_rng *rng)
{
    uint64_t bits = gw_rng_next(rng);
    uint64_t column = ((bits >> 32) * data->words.word_count) >> 32;
    const struct gw__alias *alias = &data->alias[column];
    return (uint32_t)bits < alias->threshold ? (uint32_t)column : alias->alias;
}

/* ---- memory ---- */

/* Makes room for `need` items. Out of memory: returns the old memory and sets
 * *failed. */
static void *reserve_items(void *old, size_t *capacity, size_t need,
                           size_t item, bool *failed)
{
    if (need <= *capacity)
        return old;
    size_t more = 2 * *capacity > need ? 2 * *capacity : need;
    void *moved = realloc(old, more * item);
    *failed |= !moved;
    if (!moved)
        return old;
    *capacity = more;
    return moved;
}

void gw__pairs_fini(struct gw__pairs *pairs)
{
    free(pairs->pair);
    free(pairs->targets);
    free(pairs->kept);
    free(pairs->kept_at);
    free(pairs->pool);
    *pairs = (struct gw__pairs){0};
}

/* ---- pairs ---- */

struct maker {
    struct gw__pairs *pairs;
    const struct gw_task *task;
    const struct gw__word2vec *data;
    uint64_t drop_seed, draw_seed, pool_seed; /* of the epoch */
    uint64_t epoch;
    uint32_t pool_size;
    size_t first, end;             /* of targets */
    size_t kept_count, kept_first; /* the first kept word that is a target */
};

static bool is_kept(const struct maker *m, size_t at)
{
    uint32_t threshold = m->data->keep[m->data->words.stream[at]];
    return (gw__mix_in(m->drop_seed, at) >> 32) <= threshold;
}

/* The begin of the part's windows: `window` kept words earlier. */
static size_t reach_back(const struct maker *m)
{
    size_t at = m->first;
    for (uint32_t found = 0; at > 0; at--) {
        found += is_kept(m, at - 1);
        if (found > m->task->config.words.window)
            break;
    }
    return at;
}

static void list_kept(struct maker *m, size_t begin)
{
    const struct gw__word_table *words = &m->data->words;
    uint32_t behind = 0;
    m->kept_count = m->kept_first = 0;
    for (size_t at = begin; at < words->length; at++) {
        if (!is_kept(m, at))
            continue;
        if (at >= m->end && behind++ >= m->task->config.words.window)
            break;
        m->kept_first += at < m->first;
        m->pairs->kept[m->kept_count] = words->stream[at];
        m->pairs->kept_at[m->kept_count++] = at;
    }
}

/* Decreases linearly from the full rate to zero at the end of all epochs. */
static float rate_at(const struct maker *m, size_t at)
{
    const struct gw_task_config *config = &m->task->config;
    if (m->epoch == GW__EVALUATION)
        return 0;
    double length = (double)m->data->words.length;
    double done = ((double)m->epoch * length + (double)at) /
                  ((double)config->epochs * length + 1);
    return config->rate * (float)fmax(1 - done, 1e-4);
}

/* Each block of the text has one pool, for all workers. */
static bool fill_pool(struct maker *m, size_t at)
{
    enum { BLOCK_WORDS = 1000 };
    struct gw__pairs *pairs = m->pairs;
    uint64_t block = at / BLOCK_WORDS;
    bool failed = false;
    if (m->pool_size == 0 || pairs->pool_block == block)
        return true;
    pairs->pool = reserve_items(pairs->pool, &pairs->pool_capacity,
                                m->pool_size, sizeof *pairs->pool, &failed);
    if (failed)
        return false;
    struct gw_rng rng;
    gw_rng_seed(&rng, gw__mix_in(m->pool_seed, block));
    for (uint32_t i = 0; i < m->pool_size; i++)
        pairs->pool[i] = draw_word(m->data, &rng);
    pairs->pool_block = block;
    return true;
}

static uint32_t draw_negative(const struct maker *m, struct gw_rng *rng)
{
    if (m->pool_size == 0)
        return draw_word(m->data, rng);
    return m->pairs->pool[((gw_rng_next(rng) >> 32) * m->pool_size) >> 32];
}

static void add_pair(struct maker *m, uint32_t in, uint32_t target, float rate,
                     struct gw_rng *rng)
{
    struct gw__pairs *pairs = m->pairs;
    struct gw__pair *pair = &pairs->pair[pairs->count++];
    uint32_t *targets = pairs->targets + pairs->target_count;
    uint32_t count = 1;
    targets[0] = target;
    for (uint32_t i = 0; i < m->task->config.words.negatives; i++) {
        targets[count] = draw_negative(m, rng);
        count += targets[count] != target;
    }
    *pair = (struct gw__pair){
        .in = in,
        .first = pairs->target_count,
        .count = count,
        .rate = rate,
    };
    pairs->target_count += count;
}

static bool same_sentence(const struct maker *m, size_t i, size_t k)
{
    size_t sentence = m->data->words.sentence;
    const size_t *at = m->pairs->kept_at;
    return sentence == 0 || at[i] / sentence == at[k] / sentence;
}

/* The pairs of the window around the kept word i. */
static bool add_window(struct maker *m, size_t i)
{
    struct gw__pairs *pairs = m->pairs;
    size_t window = m->task->config.words.window;
    size_t targets = 1 + (size_t)m->task->config.words.negatives;
    bool failed = false;
    pairs->pair =
        reserve_items(pairs->pair, &pairs->capacity, pairs->count + 2 * window,
                      sizeof *pairs->pair, &failed);
    pairs->targets = reserve_items(pairs->targets, &pairs->target_capacity,
                                   pairs->target_count + 2 * window * targets,
                                   sizeof *pairs->targets, &failed);
    if (failed || !fill_pool(m, pairs->kept_at[i]))
        return false;
    struct gw_rng rng;
    gw_rng_seed(&rng, gw__mix_in(m->draw_seed, pairs->kept_at[i]));
    size_t width = 1 + (size_t)gw_rng_below(&rng, window);
    float rate = rate_at(m, pairs->kept_at[i]);
    size_t begin = i < width ? 0 : i - width;
    for (size_t k = begin; k <= i + width && k < m->kept_count; k++)
        if (k != i && same_sentence(m, i, k))
            add_pair(m, pairs->kept[k], pairs->kept[i], rate, &rng);
    return true;
}

/* Makes room for the kept words of the part and of both margins. The following
 * margin may extend far, but has at most one window of kept words. */
static bool reserve_kept(struct maker *m, size_t begin)
{
    struct gw__pairs *pairs = m->pairs;
    size_t need = m->end - begin + m->task->config.words.window + 1;
    size_t capacity = pairs->kept_capacity;
    bool failed = false;
    pairs->kept = reserve_items(pairs->kept, &capacity, need,
                                sizeof *pairs->kept, &failed);
    if (!failed)
        pairs->kept_at = reserve_items(pairs->kept_at, &pairs->kept_capacity,
                                       need, sizeof *pairs->kept_at, &failed);
    return !failed;
}

enum gw_err gw__pairs_make(struct gw__pairs *pairs, const struct gw_task *task,
                           uint64_t epoch, size_t first, size_t count,
                           struct gw_error *why)
{
    uint64_t seed = gw__mix_in(task->config.seed, epoch);
    struct maker m = {
        .pairs = pairs,
        .task = task,
        .data = task->data,
        .drop_seed = gw__mix_in(seed, 0),
        .draw_seed = gw__mix_in(seed, 1),
        .pool_seed = gw__mix_in(seed, 2),
        .epoch = epoch,
        .pool_size = epoch == GW__EVALUATION ? 0 : task->config.words.pool,
        .first = first,
        .end = first + count,
    };
    pairs->count = pairs->target_count = 0;
    pairs->pool_block = UINT64_MAX;
    if (count == 0)
        return GW_OK;
    size_t begin = reach_back(&m);
    bool made = reserve_kept(&m, begin);
    if (made)
        list_kept(&m, begin);
    for (size_t i = m.kept_first;
         made && i < m.kept_count && pairs->kept_at[i] < m.end; i++)
        made = add_window(&m, i);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "word2vec: the pairs of %zu words",
                       count);
    return GW_OK;
}
