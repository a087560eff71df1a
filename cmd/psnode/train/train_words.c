/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model of word2vec or deepwalk, from a snapshot of the finished run: a
 * cluster in this process loads it, and the vectors are pulled as by any
 * worker. For comparison, the training of one process alone: Hogwild.
 */
#include "train.h"

#include "common/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 10, NEAREST = 6, NODES = 3, LONG_WORD = 4, NAME_ROOM = 80 };

/* Words of any text; others replace missing ones. */
static const char *const common_words[WORDS] = {
    "king", "war",    "city",    "water",   "music",
    "year", "france", "science", "english", "government"};

struct model {
    struct gw_task *task;
    struct gw_ps_cluster *cluster;
    struct gw_ps *ps;
    unsigned tables[GW_TASK_TABLES_MAX];
};

/* ---- the weights ---- */

static enum gw_err rows(void *context, unsigned table, const uint64_t *keys,
                        size_t count, float *values, struct gw_error *why)
{
    const struct model *model = context;
    return count ? gw_ps_pull(model->ps, model->tables[table], keys, count,
                              values, NULL, why)
                 : GW_OK;
}

static enum gw_err open_model(struct model *model,
                              const struct train_words *words,
                              struct gw_error *why)
{
    const struct gw_ps_server_config server = {.restore = words->snapshot};
    const struct gw_ps_cluster_config in_process = {
        .slots = words->spec->run.slots,
        .seed = words->spec->run.seed,
        .server = &server};
    struct gw_ps_config client;
    unsigned parts, count;
    enum gw_err code = train_task(words->spec, &model->task, &parts, why);
    if (!code)
        code = gw_ps_cluster_start(&in_process, &model->cluster, why);
    if (code)
        return code;
    gw_ps_cluster_client(model->cluster, &client);
    code = gw_ps_connect(&client, &model->ps, why);
    const struct gw_ps_table_config *tables =
        gw_task_tables(model->task, &count);
    for (unsigned t = 0; t < count && !code; t++)
        code = gw_ps_table(model->ps, &tables[t], &model->tables[t], why);
    return code;
}

static void close_model(struct model *model)
{
    gw_ps_close(&model->ps);
    gw_ps_cluster_stop(&model->cluster);
    gw_task_destroy(&model->task);
}

/* ---- neighbours ---- */

static enum gw_err put_nearest(const struct model *model,
                               const struct gw_embedding *embedding,
                               const char *word, char name[NAME_ROOM],
                               struct output *output, struct gw_error *why)
{
    struct gw_neighbour nearest[NEAREST];
    size_t count = NEAREST, used = 0;
    char text[400] = "";
    enum gw_err code =
        gw_embedding_nearest(embedding, word, nearest, &count, why);
    for (size_t i = 0; i < count && !code && used < sizeof text; i++) {
        size_t bytes;
        const char *neighbour =
            gw_words_word(model->task, nearest[i].number, &bytes);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s %.2f",
                                 i ? ", " : "", (int)(bytes < 40 ? bytes : 40),
                                 neighbour, nearest[i].cosine);
    }
    snprintf(name, NAME_ROOM, "nearest_%.60s", word);
    if (!code)
        output_note_text(output, name, text);
    return code;
}

static bool is_listed(const char *word)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (strcmp(common_words[i], word) == 0)
            return true;
    return false;
}

/* The next frequent word of this length, from number *at on. */
static bool find_frequent(const struct gw_task *task, size_t *at,
                          size_t least_bytes, char out[64])
{
    for (; *at < gw_words_count(task);) {
        size_t bytes;
        const char *word = gw_words_word(task, (*at)++, &bytes);
        if (bytes < least_bytes || bytes >= 64)
            continue;
        snprintf(out, 64, "%.*s", (int)bytes, word);
        if (!is_listed(out))
            return true;
    }
    return false;
}

static enum gw_err put_classes(const struct gw_embedding *embedding,
                               const char *labels, struct output *output,
                               struct gw_error *why)
{
    size_t labelled, right;
    enum gw_err code =
        gw_embedding_classes(embedding, labels, &labelled, &right, why);
    if (code)
        return code;
    double share = (double)right / (double)labelled;
    output_note_integer(output, "labelled", (int64_t)labelled);
    train_fact(output, "class_accuracy", share,
               "%.4f: %zu of %zu vectors are nearest to the mean of their "
               "class",
               share, right, labelled);
    return GW_OK;
}

static enum gw_err put_words(struct model *model, const char *labels,
                             struct output *output, struct gw_error *why)
{
    static char names[WORDS][NAME_ROOM]; /* the notes do not copy them */
    const struct gw_fetch fetch = {.context = model, .rows = rows};
    struct gw_embedding *embedding;
    struct gw_error none;
    size_t frequent = 0, number;
    bool nodes = gw_task_config(model->task)->kind == GW_TASK_DEEPWALK;
    unsigned count = nodes ? NODES : WORDS;
    enum gw_err code = gw_embedding_new(model->task, &fetch, &embedding, why);
    for (unsigned i = 0; i < count && !code; i++) {
        char word[64];
        snprintf(word, sizeof word, "%s", common_words[i]);
        if ((nodes || gw_words_find(model->task, word, &number, &none)) &&
            !find_frequent(model->task, &frequent, nodes ? 1 : LONG_WORD, word))
            continue;
        code = put_nearest(model, embedding, word, names[i], output, why);
    }
    if (!code && labels)
        code = put_classes(embedding, labels, output, why);
    gw_embedding_destroy(&embedding);
    return code;
}

/* ---- speed ---- */

static enum gw_err put_baseline(const struct model *model, unsigned threads,
                                double words_per_s, struct output *output,
                                struct gw_error *why)
{
    struct gw_hogwild *hogwild;
    struct gw_sample_sums sums;
    uint64_t epochs = gw_task_config(model->task)->epochs, total_ns = 0, ns;
    enum gw_err code = gw_hogwild_new(model->task, &hogwild, why);
    for (uint64_t e = 0; e < epochs && !code; e++) {
        if (interrupted)
            code = gw_fail(why, GW_EINTR, "interrupted");
        if (!code)
            code = gw_hogwild_epoch(hogwild, e, threads, &sums, &ns, why);
        if (!code && !isfinite(sums.loss))
            code = gw_fail(why, GW_EWRONG,
                           "Hogwild diverges in epoch %llu: the loss is %g",
                           (unsigned long long)e + 1, sums.loss);
        if (code)
            break;
        total_ns += ns;
        progress("Hogwild: epoch %llu/%llu", (unsigned long long)e + 1,
                 (unsigned long long)epochs);
    }
    progress("%s", "");
    if (!code && epochs) {
        double rate = (double)gw_task_rows(model->task) * (double)epochs /
                      (double)total_ns * 1e9;
        output_note_integer(output, "hogwild_threads", threads);
        train_fact(output, "hogwild_words_per_s", rate,
                   "%.0f in a single process; the servers reach %.2f of it",
                   rate, words_per_s / rate);
        output_note_real(output, "hogwild_loss",
                         gw_task_compute_score(model->task, &sums).loss);
    }
    gw_hogwild_destroy(&hogwild);
    return code;
}

enum gw_err train_words(const struct train_words *words, struct output *output,
                        struct gw_error *why)
{
    struct model model = {0};
    enum gw_err code = open_model(&model, words, why);
    if (!code) {
        double learnt = (double)gw_task_rows(model.task) *
                        (double)gw_task_config(model.task)->epochs;
        double rate = learnt / words->seconds;
        train_fact(output, "words_per_s", rate, "%.0f", rate);
        code = put_words(&model, words->labels, output, why);
        if (!code && words->baseline)
            code =
                put_baseline(&model, words->spec->run.ranks, rate, output, why);
    }
    close_model(&model);
    return code;
}
