/* SPDX-License-Identifier: MIT
 *
 * word2vec in one process: threads learn from their shares of the text in
 * shared memory, without locks. It is the reference for parameter servers; with
 * one thread it is the same as word2vec.c.
 */
#include "base/thread.h"
#include "learn/tasks/task.h"
#include "ps/store/update.h"
#include "word2vec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256, CHUNK_WORDS = 1000 };

struct gw_hogwild {
    const struct gw_task *task;
    struct gw__vectors vectors;
};

struct share {
    const struct gw_hogwild *hogwild;
    pthread_t thread;
    uint64_t epoch;
    size_t first, end; /* words of the text */
    struct gw_sample_sums sums;
    enum gw_err code;
    struct gw_error why;
};

static const struct gw__word2vec *data_of(const struct gw_hogwild *hogwild)
{
    return hogwild->task->data;
}

/* The same initial values as in the tables. */
static enum gw_err init_tables(struct gw_hogwild *hogwild, struct gw_error *why)
{
    struct gw__updater updater;
    enum gw_err code = gw__updater_init(&updater, &hogwild->task->tables[0],
                                        NULL, NULL, 0, why);
    size_t stride = hogwild->vectors.stride;
    for (size_t i = 0; !code && i < data_of(hogwild)->words.word_count; i++)
        gw__updater_begin(&updater, i, hogwild->vectors.in + i * stride);
    return code;
}

enum gw_err gw_hogwild_new(const struct gw_task *task,
                           struct gw_hogwild **hogwild, struct gw_error *why)
{
    *hogwild = NULL;
    if (!gw__task_has_words(task))
        return gw_fail(why, GW_EINVAL,
                       "%s does not support hogwild; use word2vec or deepwalk",
                       task->model->name);
    struct gw_hogwild *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "hogwild");
    made->task = task;
    size_t words = data_of(made)->words.word_count;
    made->vectors.stride = gw__lanes_up(task->config.words.dimension);
    made->vectors.in = gw__vectors_alloc(words, made->vectors.stride);
    made->vectors.out = gw__vectors_alloc(words, made->vectors.stride);
    enum gw_err code =
        made->vectors.in && made->vectors.out
            ? init_tables(made, why)
            : gw_fail(why, GW_ENOMEM, "the vectors of %zu words", words);
    if (code)
        gw_hogwild_destroy(&made);
    *hogwild = made;
    return code;
}

void gw_hogwild_destroy(struct gw_hogwild **hogwild)
{
    if (!*hogwild)
        return;
    free((*hogwild)->vectors.in);
    free((*hogwild)->vectors.out);
    free(*hogwild);
    *hogwild = NULL;
}

static void *run_share(void *argument)
{
    struct share *share = argument;
    const struct gw_hogwild *hogwild = share->hogwild;
    struct gw__pairs pairs = {0};
    float *error = gw__vectors_alloc(1, hogwild->vectors.stride);
    if (!error)
        share->code = gw_fail(&share->why, GW_ENOMEM, "a thread of hogwild");
    for (size_t at = share->first; !share->code && at < share->end;) {
        size_t left = share->end - at;
        size_t words = left < CHUNK_WORDS ? left : CHUNK_WORDS;
        share->code = gw__pairs_make(&pairs, hogwild->task, share->epoch, at,
                                     words, &share->why);
        if (!share->code)
            gw__word2vec_train(&hogwild->vectors, &pairs, error, &share->sums);
        at += words;
    }
    gw__pairs_fini(&pairs);
    free(error);
    return NULL;
}

/* Runs the shares, the first one in this thread. */
static enum gw_err run_all(struct share *shares, unsigned count,
                           struct gw_error *why)
{
    unsigned started = 1;
    enum gw_err code = GW_OK;
    for (; started < count; started++) {
        code = gw__thread_start(&shares[started].thread, run_share,
                                &shares[started], "hogwild", why);
        if (code)
            break;
    }
    if (!code)
        run_share(&shares[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(shares[i].thread, NULL);
    for (unsigned i = 0; !code && i < count; i++)
        if (shares[i].code)
            code = gw_fail(why, shares[i].code, "%s", shares[i].why.text);
    return code;
}

enum gw_err gw_hogwild_epoch(struct gw_hogwild *hogwild, uint64_t epoch,
                             unsigned threads, struct gw_sample_sums *sums,
                             uint64_t *elapsed_ns, struct gw_error *why)
{
    size_t rows = hogwild->task->rows;
    if (threads == 0 || threads > THREADS_MAX)
        return gw_fail(why, GW_EINVAL, "%u threads; use 1 to %d", threads,
                       THREADS_MAX);
    struct share *shares = calloc(threads, sizeof *shares);
    if (!shares)
        return gw_fail(why, GW_ENOMEM, "%u threads", threads);
    uint64_t began = gw_now_ns();
    for (unsigned i = 0; i < threads; i++) {
        shares[i].hogwild = hogwild;
        shares[i].epoch = epoch;
        shares[i].first = rows * i / threads;
        shares[i].end = rows * (i + 1) / threads;
    }
    enum gw_err code = run_all(shares, threads, why);
    *elapsed_ns = gw_now_ns() - began;
    *sums = (struct gw_sample_sums){0};
    for (unsigned i = 0; i < threads; i++) {
        shares[i].sums.rows = shares[i].end - shares[i].first;
        gw_sample_sums_add(sums, &shares[i].sums);
    }
    free(shares);
    return code;
}

static enum gw_err fetch(void *context, unsigned table, const uint64_t *keys,
                         size_t count, float *rows, struct gw_error *why)
{
    (void)why;
    const struct gw_hogwild *hogwild = context;
    const struct gw__vectors *vectors = &hogwild->vectors;
    const float *from = table == 0 ? vectors->in : vectors->out;
    size_t width = hogwild->task->config.words.dimension;
    for (size_t i = 0; i < count; i++)
        memcpy(rows + i * width, from + keys[i] * vectors->stride,
               width * sizeof *rows);
    return GW_OK;
}

struct gw_fetch gw_hogwild_fetch(struct gw_hogwild *hogwild)
{
    return (struct gw_fetch){.context = hogwild, .rows = fetch};
}
