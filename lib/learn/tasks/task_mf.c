/* SPDX-License-Identifier: MIT
 *
 * Matrix factorisation, as used by recommender systems (Koren, Bell and
 * Volinsky, "Matrix factorization techniques for recommender systems", IEEE
 * Computer 2009). Ratings come from a file (ratings.h), or are generated from a
 * truth of known rank,
 *
 *     rating = 3.5 + a_user + b_item + p_user . q_item + noise
 *
 * where p . q has a variance of 1 and a, b one of 0.25. The noise is then a
 * lower bound for the root mean squared error on the test set. Rows of "user"
 * and "item" are the factors, then the bias.
 *
 * ctr is the same for clicks, 0 or 1, from a file: the sum above is the score
 * of a logistic model, whose loss replaces the squared error. With embeddings
 * of users and items this is a click-through model. If rows have arbitrary
 * features, use a network that begins with an embedding (task_net.c).
 *
 * A rating's gradient affects only its user and its item. It is not divided by
 * the size of the batch, so each row moves as far as in sequential training.
 */
#include "task.h"

#include "learn/data/ratings.h"
#include "learn/logistic.h"
#include "learn/random.h"

#include <math.h>
#include <stdlib.h>

enum { RANK_MAX = 4096, SIZE_MAX_COUNT = 1 << 28 };

struct mf_data {
    struct gw__ratings ratings;
    double base; /* prediction without factors */
};

static void mf_defaults(struct gw_task_config *config)
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

static void close_mf(void *data)
{
    struct mf_data *mf = data;
    if (!mf)
        return;
    free(mf->ratings.rating);
    free(mf);
}

static bool is_clicks(const struct gw_task *task)
{
    return task->config.kind == GW_TASK_CTR;
}

/* Checks the configuration of generated ratings. */
static enum gw_err check_generated(const struct gw_task_config *config,
                                   struct gw_error *why)
{
    if (config->test)
        return gw_fail(why, GW_EINVAL,
                       "mf: a test set needs a training file of ratings");
    if (config->mf.users == 0 || config->mf.items == 0 ||
        config->mf.users > SIZE_MAX_COUNT || config->mf.items > SIZE_MAX_COUNT)
        return gw_fail(why, GW_EINVAL,
                       "mf: %u users and %u items; use 1 to %d of each",
                       config->mf.users, config->mf.items, SIZE_MAX_COUNT);
    if (config->mf.ratings == 0 || config->mf.ratings > SIZE_MAX_COUNT)
        return gw_fail(why, GW_EINVAL, "mf: %zu ratings; use 1 to %d",
                       config->mf.ratings, SIZE_MAX_COUNT);
    if (!(config->mf.noise >= 0) || !isfinite(config->mf.noise))
        return gw_fail(why, GW_EINVAL,
                       "mf: the noise must be at least 0, not %g",
                       config->mf.noise);
    return GW_OK;
}

/* Generates the factors of `count` users or items, with their biases. */
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

static void rate_all(struct gw__ratings *ratings, const float *users,
                     const float *items, const struct gw_task_config *config)
{
    unsigned rank = config->mf.rank;
    struct gw_rng rng;
    gw_rng_seed(&rng, gw__mix_in(config->seed, 2));
    for (size_t i = 0; i < ratings->count; i++) {
        struct gw__rating *r = &ratings->rating[i];
        r->user = (uint32_t)gw_rng_below(&rng, config->mf.users);
        r->item = (uint32_t)gw_rng_below(&rng, config->mf.items);
        const float *p = users + (size_t)r->user * (rank + 1);
        const float *q = items + (size_t)r->item * (rank + 1);
        r->value =
            (float)(3.5 + (double)p[rank] + (double)q[rank] + dot(p, q, rank) +
                    config->mf.noise * gw__gaussian(&rng));
    }
}

static enum gw_err make_up(const struct gw_task_config *config,
                           struct gw__ratings *ratings, struct gw_error *why)
{
    enum gw_err code = check_generated(config, why);
    if (code)
        return code;
    unsigned rank = config->mf.rank;
    float *users =
        make_truth(gw__mix_in(config->seed, 0), config->mf.users, rank);
    float *items =
        make_truth(gw__mix_in(config->seed, 1), config->mf.items, rank);
    ratings->test_begin = config->mf.ratings;
    ratings->count = config->mf.ratings + (config->mf.ratings + 9) / 10;
    ratings->users = config->mf.users;
    ratings->items = config->mf.items;
    ratings->rating = calloc(ratings->count, sizeof *ratings->rating);
    if (ratings->rating && users && items)
        rate_all(ratings, users, items, config);
    else
        code = gw_fail(why, GW_ENOMEM, "mf: %zu ratings", ratings->count);
    free(users);
    free(items);
    return code;
}

/* The mean of the training set. For clicks it is a score, log(p / (1 - p)),
 * with one extra click and one extra miss. */
static enum gw_err set_base(const struct gw_task *task, struct mf_data *mf,
                            struct gw_error *why)
{
    const struct gw__ratings *ratings = &mf->ratings;
    double sum = 0, count = (double)ratings->test_begin;
    for (size_t i = 0; i < ratings->count; i++) {
        double value = (double)ratings->rating[i].value;
        if (is_clicks(task) && value != 0 && value != 1)
            return gw_fail(why, GW_EDATA,
                           "%s: ctr needs clicks, 0 or 1, not %g",
                           task->config.train, value);
        sum += i < ratings->test_begin ? value : 0;
    }
    mf->base =
        is_clicks(task) ? log((sum + 1) / (count - sum + 1)) : sum / count;
    return GW_OK;
}

static enum gw_err open_mf(struct gw_task *task, struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    unsigned rank = config->mf.rank;
    if (rank == 0 || rank > RANK_MAX)
        return gw_fail(why, GW_EINVAL, "%s: rank %u; use 1 to %d",
                       task->model->name, rank, RANK_MAX);
    if (is_clicks(task) && !config->train)
        return gw_fail(why, GW_EINVAL,
                       "ctr: the training file is missing; give one");
    struct mf_data *mf = task->data = calloc(1, sizeof *mf);
    if (!mf)
        return gw_fail(why, GW_ENOMEM, "%s", task->model->name);
    enum gw_err code = config->train
                           ? gw__ratings_load(config->train, config->test,
                                              config->seed, &mf->ratings, why)
                           : make_up(config, &mf->ratings, why);
    if (!code)
        code = set_base(task, mf, why);
    if (code)
        return code;
    task->rows = mf->ratings.test_begin;
    task->test_rows = mf->ratings.count - mf->ratings.test_begin;
    /* A small value, different for all factors. */
    float start = 0.1f;
    gw__task_table(task, "user", rank + 1, mf->ratings.users)->init_range =
        start;
    gw__task_table(task, "item", rank + 1, mf->ratings.items)->init_range =
        start;
    task->tables[0].l2 = task->tables[1].l2 = 0; /* part of the gradient */
    return GW_OK;
}

static const struct gw__rating *rating_of(const struct gw_work_item *item,
                                          size_t i)
{
    const struct mf_data *mf = item->task->data;
    size_t begin = item->set == GW_TASK_TEST ? mf->ratings.test_begin : 0;
    return &mf->ratings.rating[begin + gw__work_item_row(item, i)];
}

static enum gw_err prepare_ratings(struct gw_work_item *item,
                                   struct gw_error *why)
{
    bool added = true;
    for (size_t i = 0; added && i < item->count; i++) {
        const struct gw__rating *r = rating_of(item, i);
        added = gw__keyset_add(&item->keys[0], r->user) &&
                gw__keyset_add(&item->keys[1], r->item);
    }
    if (!added)
        return gw_fail(why, GW_ENOMEM, "%s: the keys of %zu ratings",
                       item->task->model->name, item->count);
    return GW_OK;
}

/* The gradient of error^2 / 2 + l2 / 2 (|p|^2 + |q|^2). */
static void add_rating_gradient(const float *restrict p,
                                const float *restrict q, float *restrict into_p,
                                float *restrict into_q, unsigned rank,
                                float error, float l2)
{
    for (unsigned k = 0; k < rank; k++) {
        into_p[k] += error * q[k] + l2 * p[k];
        into_q[k] += error * p[k] + l2 * q[k];
    }
    into_p[rank] += error + l2 * p[rank];
    into_q[rank] += error + l2 * q[rank];
}

/* The same on rows that other threads write concurrently. */
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

static void clear_gradients(struct gw_work_item *item, const float *const *rows,
                            float *const *gradients)
{
    (void)rows;
    for (unsigned table = 0; gradients && table < 2; table++)
        clear(gradients[table], gw__work_item_floats(item, table));
}

static void add_gradient(const struct gw_work_item *work_item, size_t user,
                         size_t item, const float *const *rows,
                         float *const *gradients, float error,
                         const struct gw__share *share)
{
    unsigned rank = work_item->task->config.mf.rank;
    float l2 = work_item->task->config.l2;
    const float *p = rows[0] + user * (rank + 1);
    const float *q = rows[1] + item * (rank + 1);
    float *into_p = gradients[0] + user * (rank + 1);
    float *into_q = gradients[1] + item * (rank + 1);
    if (share->parts == 1) {
        add_rating_gradient(p, q, into_p, into_q, rank, error, l2);
        return;
    }
    uint32_t of_user = gw__row_write_begin(share->row_writes[0], user);
    uint32_t of_item = gw__row_write_begin(share->row_writes[1], item);
    spread_unlocked(p, q, into_p, into_q, rank, error, l2);
    gw__row_write_end(share->row_writes[0], user, of_user);
    gw__row_write_end(share->row_writes[1], item, of_item);
}

/* Adds the loss of a rating or a click; returns the slope of the loss. */
static double rating_loss(const struct gw_task *task, double predicted,
                          double value, struct gw_sample_sums *sums)
{
    if (is_clicks(task)) {
        struct gw__logistic logistic = gw__logistic(predicted, value > 0);
        sums->loss += logistic.loss;
        sums->right += logistic.right;
        return logistic.slope;
    }
    double error = predicted - value;
    sums->loss += error * error / 2;
    return error;
}

static void share_ratings(struct gw_work_item *work_item,
                          const float *const *rows, float *const *gradients,
                          const struct gw__share *share)
{
    const struct mf_data *mf = work_item->task->data;
    unsigned rank = work_item->task->config.mf.rank;
    /* local copy during the computation */
    struct gw_sample_sums sums = *share->sums;
    size_t first = gw__share_begin(share, work_item->count);
    size_t end = gw__share_end(share, work_item->count);
    for (size_t i = first; i < end; i++) {
        const struct gw__rating *r = rating_of(work_item, i);
        size_t user = gw__keyset_place(&work_item->keys[0], r->user);
        size_t item = gw__keyset_place(&work_item->keys[1], r->item);
        const float *p = rows[0] + user * (rank + 1);
        const float *q = rows[1] + item * (rank + 1);
        double predicted =
            mf->base + (double)p[rank] + (double)q[rank] + dot(p, q, rank);
        double error =
            rating_loss(work_item->task, predicted, (double)r->value, &sums);
        if (gradients)
            add_gradient(work_item, user, item, rows, gradients, (float)error,
                         share);
    }
    sums.samples = end - first;
    sums.row_writes = 2 * sums.samples;
    *share->sums = sums;
}

const struct gw__task_model gw__task_mf = {
    .name = "mf",
    .files_max = 1,
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
    .defaults = mf_defaults,
    .open = open_mf,
    .close = close_mf,
    .prepare = prepare_ratings,
    .begin = clear_gradients,
    .share = share_ratings,
};

const struct gw__task_model gw__task_ctr = {
    .name = "ctr",
    .files_min = 1,
    .files_max = 1,
    .quality = "accuracy",
    .shuffled = true,
    .chunk = 1 << 16,
    .scratch_bytes = 1,
    .rates = {[GW_PS_SGD] = 0.1f,
              [GW_PS_MOMENTUM] = 0.01f,
              [GW_PS_ADAGRAD] = 0.3f,
              [GW_PS_ADAM] = 0.01f,
              [GW_PS_CALLBACK] = 0.1f},
    .defaults = mf_defaults,
    .open = open_mf,
    .close = close_mf,
    .prepare = prepare_ratings,
    .begin = clear_gradients,
    .share = share_ratings,
};
