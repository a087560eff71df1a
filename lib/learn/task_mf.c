/* SPDX-License-Identifier: MIT
 *
 * Matrix factorisation: who likes what, as a recommender learns it (Koren, Bell
 * and Volinsky, "Matrix factorization techniques for recommender systems",
 * IEEE Computer 2009). Ratings are made up from a truth of known rank,
 *
 *     rating = 3.5 + a_user + b_item + p_user . q_item + noise
 *
 * where p . q has a variance of 1 and a, b one of 0.25; so the root mean
 * squared error on what was held out can be compared with the noise, below
 * which nobody comes. Rows of "user" and "item" are the factors, then the bias.
 *
 * A rating's gradient touches its user and its item only. It is not divided by
 * the batch: each row then moves as far as in a pass rating by rating.
 */
#include "learn/task.h"

#include "learn/random.h"

#include <math.h>
#include <stdlib.h>

enum { RANK_MAX = 4096, SIZE_MAX_COUNT = 1 << 28 };

struct rating {
    uint32_t user, item;
    float value;
};

struct mf_data {
    struct rating *ratings; /* the held-out ones come last */
    size_t test_begin;
    double mean; /* of the others */
};

static void defaults(struct gw_task_config *config)
{
    config->epochs = 15;
    config->batch = 2000;
    config->l2 = 0.005f;
    config->mf.users = 2000;
    config->mf.items = 1000;
    config->mf.rank = 8;
    config->mf.ratings = 200000;
    config->mf.noise = 0.3;
}

static void close_data(void *data)
{
    struct mf_data *mf = data;
    if (!mf)
        return;
    free(mf->ratings);
    free(mf);
}

static enum gw_err check(const struct gw_task_config *config,
                         struct gw_error *why)
{
    if (config->train || config->test)
        return gw_fail(why, GW_EINVAL,
                       "mf: it makes its ratings, and reads "
                       "no file");
    if (config->mf.users == 0 || config->mf.items == 0 ||
        config->mf.users > SIZE_MAX_COUNT || config->mf.items > SIZE_MAX_COUNT)
        return gw_fail(why, GW_EINVAL,
                       "mf: %u users and %u items; 1 to %d of each will do",
                       config->mf.users, config->mf.items, SIZE_MAX_COUNT);
    if (config->mf.rank == 0 || config->mf.rank > RANK_MAX)
        return gw_fail(why, GW_EINVAL, "mf: rank %u; 1 to %d will do",
                       config->mf.rank, RANK_MAX);
    if (config->mf.ratings == 0 || config->mf.ratings > SIZE_MAX_COUNT)
        return gw_fail(why, GW_EINVAL, "mf: %zu ratings; 1 to %d will do",
                       config->mf.ratings, SIZE_MAX_COUNT);
    if (!(config->mf.noise >= 0) || !isfinite(config->mf.noise))
        return gw_fail(why, GW_EINVAL, "mf: the noise %g", config->mf.noise);
    return GW_OK;
}

/* The factors of `count` users or items, with their bias. */
static float *make_truth(uint64_t seed, size_t count, unsigned rank)
{
    struct gw_rng rng;
    double size = pow(rank, -0.25);
    float *truth = malloc(count * (rank + 1) * sizeof *truth);
    gw_rng_seed(&rng, seed);
    for (size_t i = 0; truth && i < count * (rank + 1); i++) {
        double deviation = i % (rank + 1) == rank ? 0.5 : size;
        truth[i] = (float)(gw__gaussian(&rng) * deviation);
    }
    return truth;
}

static double dot(const float *a, const float *b, unsigned count)
{
    double sum = 0;
    for (unsigned k = 0; k < count; k++)
        sum += (double)a[k] * (double)b[k];
    return sum;
}

static void rate_all(struct mf_data *mf, size_t count, const float *users,
                     const float *items, const struct gw_task_config *config)
{
    unsigned rank = config->mf.rank;
    struct gw_rng rng;
    gw_rng_seed(&rng, gw__mix_in(config->seed, 2));
    for (size_t i = 0; i < count; i++) {
        struct rating *r = &mf->ratings[i];
        r->user = (uint32_t)gw_rng_below(&rng, config->mf.users);
        r->item = (uint32_t)gw_rng_below(&rng, config->mf.items);
        const float *p = users + (size_t)r->user * (rank + 1);
        const float *q = items + (size_t)r->item * (rank + 1);
        r->value =
            (float)(3.5 + (double)p[rank] + (double)q[rank] + dot(p, q, rank) +
                    config->mf.noise * gw__gaussian(&rng));
        mf->mean += i < mf->test_begin ? (double)r->value : 0;
    }
    mf->mean /= (double)mf->test_begin;
}

static enum gw_err open_data(struct gw_task *task, struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    enum gw_err code = check(config, why);
    if (code)
        return code;
    size_t held_out = (config->mf.ratings + 9) / 10;
    size_t count = config->mf.ratings + held_out;
    unsigned rank = config->mf.rank;
    struct mf_data *mf = task->data = calloc(1, sizeof *mf);
    float *users =
        make_truth(gw__mix_in(config->seed, 0), config->mf.users, rank);
    float *items =
        make_truth(gw__mix_in(config->seed, 1), config->mf.items, rank);
    if (mf)
        mf->ratings = malloc(count * sizeof *mf->ratings);
    if (mf && mf->ratings && users && items) {
        mf->test_begin = config->mf.ratings;
        rate_all(mf, count, users, items, config);
    } else
        code = gw_fail(why, GW_ENOMEM, "mf: %zu ratings", count);
    free(users);
    free(items);
    task->rows = config->mf.ratings;
    task->test_rows = held_out;
    /* A small start that is not the same for all factors. */
    float start = 0.1f;
    gw__task_table(task, "user", rank + 1, config->mf.users)->init_range =
        start;
    gw__task_table(task, "item", rank + 1, config->mf.items)->init_range =
        start;
    task->tables[0].l2 = task->tables[1].l2 = 0; /* it is in the gradient */
    return code;
}

static const struct rating *rating_of(const struct gw_unit *unit, size_t i)
{
    const struct mf_data *mf = unit->task->data;
    size_t begin = unit->set == GW_TASK_TEST ? mf->test_begin : 0;
    return &mf->ratings[begin + gw__unit_row(unit, i)];
}

static enum gw_err prepare(struct gw_unit *unit, struct gw_error *why)
{
    bool added = true;
    for (size_t i = 0; added && i < unit->count; i++) {
        const struct rating *r = rating_of(unit, i);
        added = gw__keyset_add(&unit->keys[0], r->user) &&
                gw__keyset_add(&unit->keys[1], r->item);
    }
    if (!added)
        return gw_fail(why, GW_ENOMEM, "mf: the keys of %zu ratings",
                       unit->count);
    return GW_OK;
}

/* Of error^2 / 2 + l2 / 2 (|p|^2 + |q|^2). */
static void spread(const float *restrict p, const float *restrict q,
                   float *restrict into_p, float *restrict into_q,
                   unsigned rank, float error, float l2)
{
    for (unsigned k = 0; k < rank; k++) {
        into_p[k] += error * q[k] + l2 * p[k];
        into_q[k] += error * p[k] + l2 * q[k];
    }
    into_p[rank] += error + l2 * p[rank];
    into_q[rank] += error + l2 * q[rank];
}

/* The same on rows that other threads write at this moment. */
static void spread_unlocked(const float *p, const float *q, float *into_p,
                            float *into_q, unsigned rank, float error, float l2)
{
    for (unsigned k = 0; k < rank; k++) {
        gw__unlocked_add(&into_p[k], error * q[k] + l2 * p[k]);
        gw__unlocked_add(&into_q[k], error * p[k] + l2 * q[k]);
    }
    gw__unlocked_add(&into_p[rank], error + l2 * p[rank]);
    gw__unlocked_add(&into_q[rank], error + l2 * q[rank]);
}

static void clear(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = 0;
}

static void begin(struct gw_unit *unit, const float *const *rows,
                  float *const *gradients)
{
    (void)rows;
    for (unsigned table = 0; gradients && table < 2; table++)
        clear(gradients[table], gw__unit_floats(unit, table));
}

static void add_gradient(const struct gw_unit *unit, size_t user, size_t item,
                         const float *const *rows, float *const *gradients,
                         float error, const struct gw__share *share)
{
    unsigned rank = unit->task->config.mf.rank;
    float l2 = unit->task->config.l2;
    const float *p = rows[0] + user * (rank + 1);
    const float *q = rows[1] + item * (rank + 1);
    float *into_p = gradients[0] + user * (rank + 1);
    float *into_q = gradients[1] + item * (rank + 1);
    if (share->parts == 1) {
        spread(p, q, into_p, into_q, rank, error, l2);
        return;
    }
    uint32_t of_user = gw__row_write_begin(share->row_writes[0], user);
    uint32_t of_item = gw__row_write_begin(share->row_writes[1], item);
    spread_unlocked(p, q, into_p, into_q, rank, error, l2);
    gw__row_write_end(share->row_writes[0], user, of_user);
    gw__row_write_end(share->row_writes[1], item, of_item);
}

static void share_ratings(struct gw_unit *unit, const float *const *rows,
                          float *const *gradients,
                          const struct gw__share *share)
{
    const struct mf_data *mf = unit->task->data;
    unsigned rank = unit->task->config.mf.rank;
    struct gw_unit_sums sums = *share->sums; /* its own while it computes */
    size_t first = gw__share_begin(share, unit->count);
    size_t end = gw__share_end(share, unit->count);
    for (size_t i = first; i < end; i++) {
        const struct rating *r = rating_of(unit, i);
        size_t user = gw__keyset_place(&unit->keys[0], r->user);
        size_t item = gw__keyset_place(&unit->keys[1], r->item);
        const float *p = rows[0] + user * (rank + 1);
        const float *q = rows[1] + item * (rank + 1);
        double told =
            mf->mean + (double)p[rank] + (double)q[rank] + dot(p, q, rank);
        double error = told - (double)r->value;
        sums.loss += error * error / 2;
        if (gradients)
            add_gradient(unit, user, item, rows, gradients, (float)error,
                         share);
    }
    sums.samples = end - first;
    sums.row_writes = 2 * sums.samples;
    *share->sums = sums;
}

const struct gw__task_model gw__task_mf = {
    .name = "mf",
    .quality = "rmse",
    .squared = true,
    .shuffled = true,
    .chunk = 1 << 16,
    .scratch_bytes = 1,
    .rates = {[GW_PS_SGD] = 0.02f,
              [GW_PS_MOMENTUM] = 0.003f,
              [GW_PS_ADAGRAD] = 0.3f,
              [GW_PS_ADAM] = 0.005f,
              [GW_PS_CALLBACK] = 0.02f},
    .defaults = defaults,
    .open = open_data,
    .close = close_data,
    .prepare = prepare,
    .begin = begin,
    .share = share_ratings,
};
