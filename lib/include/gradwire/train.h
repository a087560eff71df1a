/* SPDX-License-Identifier: MIT
 *
 * Training tasks whose parameters are stored elsewhere: rows of tables under
 * 64-bit keys, as on a parameter server (gradwire/ps.h). Pure computation: a
 * task names the rows that it needs, receives them, and returns their updates.
 *
 *     gw_task_defaults("lr", &config, &why);
 *     config.train = "a9a.train.libsvm";
 *     gw_task_new(&config, &task, &why);
 *     gw_work_item_new(task, &item, &why);
 *     tables = gw_task_tables(task, &count)        to create on the servers
 *     for each work item (epoch, batch, part of parts):
 *         gw_work_item_prepare(item, &place, &why)
 *         keys = gw_work_item_keys(item, table, &count)       to pull
 *         gw_work_item_compute(item, rows, gradients, &sums)  to push
 *     gw_task_evaluate(task, GW_TASK_TEST, epochs, &fetch, &score, &why)
 *
 * Batches have the same samples for any number of workers, and the parts of a
 * batch divide its samples. A mean is divided by the rows of the whole batch,
 * so parts add up, and the servers need no knowledge of it. Random numbers
 * follow from the seed and the number of the sample.
 *
 *     lr        sparse binary logistic regression; table "w"
 *     linear    sparse regression by least squares; "w"
 *     mf        matrix factorisation of ratings, synthetic or from a file;
 *               "user" and "item"
 *     ctr       the same for clicks from a file, as a logistic model
 *     word2vec  skip-gram with negative sampling on a text; "in" and "out";
 *               good with parts of 500 to 2000 words, up to 8 of them
 *     deepwalk  the same on random walks over a graph: vectors of its nodes
 *     drift     linear regression on an endless stream with moving weights; "w"
 *     net       a network from a file on LibSVM data; "net", and "embedding"
 *               if it begins with one
 *     cartpole  an agent that balances a pole learns from its actions; "agent"
 *
 * A task does not change after its creation: any number of threads may use it,
 * each with its own gw_work_item.
 */
#ifndef GRADWIRE_TRAIN_H
#define GRADWIRE_TRAIN_H

#include <gradwire/base.h>
#include <gradwire/learn.h>
#include <gradwire/ps.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GW_TASK_TABLES_MAX = 2 };

/* ---- tasks ---- */

enum gw_task_kind {
    GW_TASK_LR,
    GW_TASK_LINEAR,
    GW_TASK_MF,
    GW_TASK_CTR,
    GW_TASK_WORD2VEC,
    GW_TASK_DEEPWALK,
    GW_TASK_DRIFT,
    GW_TASK_CARTPOLE,
    GW_TASK_NET,
    GW_TASK_KINDS
};

/* The configuration of a task. Begin with gw_task_defaults: 0 is a value, not a
 * default. */
struct gw_task_config {
    enum gw_task_kind kind;
    /* A file of LibSVM rows (lr, linear, net), text (word2vec), edges
     * (deepwalk), clicks (ctr) or ratings (mf, NULL for synthetic ones);
     * otherwise NULL. */
    const char *train;
    /* A file of the same form, or NULL; NULL for word2vec and tasks
     * without a file. */
    const char *test;
    const char *network; /* net: gradwire-network(5); otherwise NULL */
    /* lr, linear: rows stay in the file, and each work item reads its own.
     * A file that is larger than the memory limit is always read so. */
    bool on_demand;
    /* linear, when `train` is a folder: a stream of rows, which arrive
     * once and in order; rows per epoch, and features from 1 to
     * `features`. */
    struct {
        uint32_t features;
        size_t rows;
    } stream;
    uint64_t seed;
    uint64_t epochs; /* planned; word2vec's rate falls to 0 until then */
    size_t batch;    /* rows per batch; 0: all */
    unsigned group;  /* of the tables */
    /* The updater. word2vec pushes steps, made with its `rate`, and
     * supports only GW_PS_ADD. The others support any updater that applies
     * a gradient, mf not FTRL, which would begin and stay at 0. `l2` of mf
     * is per rating, in the gradient. */
    enum gw_ps_updater updater;
    float rate, momentum, beta1, beta2, epsilon, beta, l1, l2;
    struct {
        uint32_t users, items, rank; /* of data and model */
        size_t ratings;              /* the test set has a tenth more */
        double noise;                /* standard deviation */
    } mf;
    struct {
        uint32_t dimension, window, negatives;
        uint64_t min_count; /* rarer words are left out */
        double subsample;   /* word2vec.c's -sample; 0: none */
        /* The negatives of each thousand words of the text come from a
         * pool of this size that is drawn first, which reduces pulls and
         * pushes; 0: from all words, as in word2vec.c. */
        uint32_t pool;
        /* deepwalk: walks from each node, and the nodes of each. */
        uint32_t walks, length;
    } words; /* also of deepwalk, whose words are nodes */
    struct {
        uint32_t features;
        size_t rows;   /* per epoch; the next epoch continues the stream */
        double noise;  /* standard deviation */
        double period; /* of the true weights, in rows */
    } drift;
    struct {
        uint32_t hidden; /* units of the agent's trunk */
        size_t episodes; /* rows per epoch */
        uint32_t limit;  /* largest number of steps of an episode */
        uint32_t unroll; /* n of the n-step returns */
        double discount, value_weight, entropy_weight;
    } cartpole;
    struct {
        bool scale; /* divide values by the largest of the training file */
    } net;
};

/* Returns the name of a kind: "lr", "linear", "mf", "ctr", "word2vec",
 * "deepwalk", "drift", "cartpole", "net". */
GW_API const char *gw_task_name(enum gw_task_kind kind);
/* Sets good defaults for the model of that name. GW_EINVAL: an unknown name. */
GW_API GW_MUST_CHECK enum gw_err gw_task_defaults(const char *name,
                                                  struct gw_task_config *config,
                                                  struct gw_error *why);
/* Sets another updater, and a suitable rate for it. GW_EINVAL: the model does
 * not support it; *config is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_task_choose_updater(struct gw_task_config *config,
                       enum gw_ps_updater updater, struct gw_error *why);

struct gw_task;

/* Creates a task: reads or generates the data. The configuration is copied; its
 * strings are not needed later. The caller frees *task with gw_task_destroy.
 * GW_EDATA: a file cannot be read or is wrong (the sentence names it), there
 * are not two labels, or no word is left. GW_EINVAL: the configuration is
 * invalid. On failure *task is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_task_new(const struct gw_task_config *config, struct gw_task **task,
            struct gw_error *why);
/* Frees a task and sets the pointer to NULL. */
GW_API void gw_task_destroy(struct gw_task **task);

/* Returns the configuration of a task, with train, test and network NULL. */
GW_API const struct gw_task_config *gw_task_config(const struct gw_task *task);
/* Returns the tables of a task and their number in *count. A table's number
 * below is its index in this array. */
GW_API const struct gw_ps_table_config *
gw_task_tables(const struct gw_task *task, unsigned *count);
/* Returns the samples per epoch: rows of the file, ratings, words of the
 * text. */
GW_API size_t gw_task_rows(const struct gw_task *task);
/* Returns the number of batches per epoch. */
GW_API size_t gw_task_batches(const struct gw_task *task);
/* Returns the bytes of training rows that this process has read from the file
 * so far: the whole file, or the rows of its work items; a new index does not
 * count. 0 for all models except lr and linear. */
GW_API uint64_t gw_task_bytes_read(const struct gw_task *task);
/* Returns the number of samples of a batch. */
GW_API size_t gw_task_batch_rows(const struct gw_task *task, size_t batch);

/* ---- work items ---- */

/* A work item: part p of P has the rows floor(pn/P) to floor((p+1)n/P) of the
 * batch's n. */
struct gw_work_item_id {
    uint64_t epoch, batch;
    unsigned part, parts;
};

/* Sums over samples. Samples of word2vec and deepwalk are pairs of words,
 * otherwise rows. */
struct gw_sample_sums {
    uint64_t rows, samples;
    /* Log loss, or half the squared error. cartpole: the objective of the
     * agent, the mean over the steps of an episode. */
    double loss;
    /* Rows with the right answer (lr), pairs whose word scores above all
     * its negatives (word2vec, deepwalk), steps (cartpole). */
    uint64_t right;
    /* cartpole: the parts of the loss, sums over steps */
    double policy_loss, value_loss, entropy;
    /* With gw_work_item_set_threads: updates of rows by the threads, and those
     * that another thread's update has overwritten. */
    uint64_t row_writes, row_writes_lost;
};

struct gw_work_item; /* one worker's scratch; one thread at a time */

/* Creates a worker's working memory for a task, which must outlive it. */
GW_API GW_MUST_CHECK enum gw_err gw_work_item_new(const struct gw_task *task,
                                                  struct gw_work_item **item,
                                                  struct gw_error *why);
/* Frees it and sets the pointer to NULL. */
GW_API void gw_work_item_destroy(struct gw_work_item **item);

/* Returns whether several threads may write the rows of such a task without
 * locks: true for lr, linear, mf, ctr and word2vec. */
GW_API bool gw_task_shares_rows(enum gw_task_kind kind);
/* Sets the number of threads, including the caller's, that share the samples of
 * a work item, from the next gw_work_item_prepare on. They write the same rows
 * without locks, as the threads of a worker in Project Adam: the gradients, or
 * for word2vec the rows themselves. An update may be lost; the sums count the
 * lost ones. 1: only the caller. GW_ENOTSUP: threads cannot share the rows of
 * this task. GW_EINVAL: 0, or more than 64. */
GW_API GW_MUST_CHECK enum gw_err
gw_work_item_set_threads(struct gw_work_item *item, unsigned threads,
                         struct gw_error *why);

/* Selects a work item and finds its keys. GW_EINVAL: no such batch or part.
 * GW_PENDING: the rows of a stream have not arrived yet. */
GW_API GW_MUST_CHECK enum gw_err
gw_work_item_prepare(struct gw_work_item *item,
                     const struct gw_work_item_id *id, struct gw_error *why);
/* Returns the keys of a table and their number in *count. They are distinct and
 * ascending, and valid until the next gw_work_item_prepare. There may be none,
 * if a batch has fewer rows than parts. */
GW_API const uint64_t *gw_work_item_keys(const struct gw_work_item *item,
                                         unsigned table, size_t *count);
/* Computes the gradients and sums of a work item. rows[table] has the pulled
 * rows of its keys, one after another. gradients[table], of the same size,
 * receives the values to push; with `gradients` NULL only the sums are
 * computed. The memory belongs to the caller. It may be called again with other
 * rows: the result depends only on them. */
GW_API void gw_work_item_compute(struct gw_work_item *item,
                                 const float *const *rows,
                                 float *const *gradients,
                                 struct gw_sample_sums *sums);
/* Adds sums: sums += more. */
GW_API void gw_sample_sums_add(struct gw_sample_sums *sums,
                               const struct gw_sample_sums *more);

/* ---- evaluation ---- */

/* A source of parameters: its function sets `rows` to the rows of `count` keys,
 * which ascend. */
struct gw_fetch {
    void *context;
    enum gw_err (*rows)(void *context, unsigned table, const uint64_t *keys,
                        size_t count, float *rows, struct gw_error *why);
};

enum gw_task_set { GW_TASK_TRAIN, GW_TASK_TEST };

/* The result of an evaluation. */
struct gw_task_score {
    uint64_t samples;
    double loss;    /* mean */
    double quality; /* the measure of gw_task_quality */
};

/* Returns the name of a task's measure of quality: "accuracy" (lr, net, ctr),
 * "rmse" (linear, mf, drift), "first" (word2vec, deepwalk: the share of pairs
 * whose word scores above all its negatives), "return" (cartpole: the mean
 * number of steps of an episode). */
GW_API const char *gw_task_quality(const struct gw_task *task);
/* Computes loss and quality from the sums of work items. */
GW_API struct gw_task_score
gw_task_compute_score(const struct gw_task *task,
                      const struct gw_sample_sums *sums);
/* Evaluates parameters on a whole set, in chunks. For drift, an endless stream,
 * the training set is the last thousand rows of the epoch before `epochs`, and
 * the test set the thousand after it; for cartpole likewise a hundred episodes.
 * word2vec's training set is the text, always with the same pairs and
 * negatives. GW_ENOTSUP: there is no test set (lr, linear and net without a
 * file, word2vec and deepwalk). It also returns the errors of `fetch`. */
GW_API GW_MUST_CHECK enum gw_err
gw_task_evaluate(const struct gw_task *task, enum gw_task_set set,
                 uint64_t epochs, const struct gw_fetch *fetch,
                 struct gw_task_score *score, struct gw_error *why);

/* ---- tables in this process ---- */

/* The reference for a run over servers: the same tables and updaters in plain
 * memory. Pushes of a batch are added up, in f32 and in the order of their
 * arrival; gw_table_store_step then updates each row once. If the parts of a
 * batch are pushed in order, servers under bsp compute the same, bit by bit. */
struct gw_table_store;

/* Creates the tables; gw_table_store_destroy frees them. */
GW_API GW_MUST_CHECK enum gw_err
gw_table_store_new(const struct gw_ps_table_config *tables, unsigned count,
                   struct gw_table_store **store, struct gw_error *why);
/* Frees the tables and sets the pointer to NULL. */
GW_API void gw_table_store_destroy(struct gw_table_store **store);
/* Copies the rows of `keys`. A row that was never updated has its initial
 * value. Several threads may call it while no thread pushes or steps. */
GW_API void gw_table_store_pull(const struct gw_table_store *store,
                                unsigned table, const uint64_t *keys,
                                size_t count, float *rows);
/* Adds rows to the sums of the batch. The keys of one push are distinct.
 * GW_ENOMEM: nothing was pushed. */
GW_API GW_MUST_CHECK enum gw_err
gw_table_store_push(struct gw_table_store *store, unsigned table,
                    const uint64_t *keys, size_t count, const float *values,
                    struct gw_error *why);
/* Replaces the values of rows; their state is that of rows that were never
 * updated. GW_ENOMEM: nothing was changed. */
GW_API GW_MUST_CHECK enum gw_err
gw_table_store_assign(struct gw_table_store *store, unsigned table,
                      const uint64_t *keys, size_t count, const float *values,
                      struct gw_error *why);
/* Updates each row that has a sum, once. */
GW_API void gw_table_store_step(struct gw_table_store *store);
/* Returns gw_table_store_pull as a source for gw_task_evaluate. */
GW_API struct gw_fetch gw_table_store_fetch(struct gw_table_store *store);
/* Returns the number of rows that were updated. */
GW_API size_t gw_table_store_rows(const struct gw_table_store *store,
                                  unsigned table);
/* Returns a hash of the tables, the same for equal bits. */
GW_API uint64_t gw_table_store_digest(const struct gw_table_store *store);
/* Runs a whole batch of the item's task in `parts` parts: pull, compute and
 * push of each, then the step. *sums receives the sums of the batch. */
GW_API GW_MUST_CHECK enum gw_err
gw_table_store_run_batch(struct gw_table_store *store,
                         struct gw_work_item *item, uint64_t epoch,
                         uint64_t batch, unsigned parts,
                         struct gw_sample_sums *sums, struct gw_error *why);

/* ---- words ---- */

/* Returns the size of the vocabulary of a word2vec task, or the number of nodes
 * of a deepwalk task. A word's number is its key in both tables. Words are
 * ordered by frequency, the most frequent first; nodes by their number of
 * edges. */
GW_API size_t gw_words_count(const struct gw_task *task);
/* Returns the letters of a word, without a final 0, and their number in
 * *bytes. */
GW_API const char *gw_words_word(const struct gw_task *task, size_t number,
                                 size_t *bytes);
/* Returns the number of occurrences of a word. */
GW_API uint64_t gw_words_frequency(const struct gw_task *task, size_t number);
/* Finds the number of a word. GW_EDATA: it is not in the text, or not often
 * enough. */
GW_API GW_MUST_CHECK enum gw_err gw_words_find(const struct gw_task *task,
                                               const char *word, size_t *number,
                                               struct gw_error *why);

struct gw_embedding;

/* Fetches the "in" vectors of all words and scales them to length 1.
 * gw_embedding_destroy frees them. It also returns the errors of `fetch`. */
GW_API GW_MUST_CHECK enum gw_err gw_embedding_new(const struct gw_task *task,
                                                  const struct gw_fetch *fetch,
                                                  struct gw_embedding **words,
                                                  struct gw_error *why);
/* Frees the vectors and sets the pointer to NULL. */
GW_API void gw_embedding_destroy(struct gw_embedding **words);

/* A word and its similarity. */
struct gw_neighbour {
    size_t number;
    double cosine;
};

/* Finds the `*count` words nearest to `word`, nearest first, without `word`
 * itself. *count is reduced if there are fewer. GW_EDATA: as in
 * gw_words_find. */
GW_API GW_MUST_CHECK enum gw_err
gw_embedding_nearest(const struct gw_embedding *words, const char *word,
                     struct gw_neighbour *nearest, size_t *count,
                     struct gw_error *why);
/* Answers the questions "A B C D" of Mikolov et al. 2013: is D the word nearest
 * to B - A + C, except these three? It ignores lines that begin with ':' and
 * questions with a word that the text does not have, and reads upper case as
 * lower case. GW_EDATA: the file cannot be read, or a line does not have four
 * words. */
GW_API GW_MUST_CHECK enum gw_err
gw_embedding_analogies(const struct gw_embedding *words, const char *path,
                       size_t *total, size_t *right, struct gw_error *why);

/* Measures how well the vectors separate classes. A file has lines "WORD
 * CLASS", empty lines, and comments that begin with '#'. Each word is assigned
 * to the class whose other words have the nearest mean: *right of the *asked
 * known words are assigned correctly. GW_EDATA: the file cannot be read, or a
 * line does not have two words. */
GW_API GW_MUST_CHECK enum gw_err
gw_embedding_classes(const struct gw_embedding *words, const char *path,
                     size_t *total, size_t *right, struct gw_error *why);

/* The baseline for a parameter server: the same word2vec in one process, whose
 * threads change one memory without locks (Niu et al. 2011, as in
 * word2vec.c). */
struct gw_hogwild;

/* Creates the baseline for a word2vec task; gw_hogwild_destroy frees it. */
GW_API GW_MUST_CHECK enum gw_err gw_hogwild_new(const struct gw_task *task,
                                                struct gw_hogwild **hogwild,
                                                struct gw_error *why);
/* Frees it and sets the pointer to NULL. */
GW_API void gw_hogwild_destroy(struct gw_hogwild **hogwild);
/* Runs one pass over the text, with one contiguous share per thread. With one
 * thread the result follows from the seed. GW_EINVAL: 0 threads, or more than
 * 256. */
GW_API GW_MUST_CHECK enum gw_err
gw_hogwild_epoch(struct gw_hogwild *hogwild, uint64_t epoch, unsigned threads,
                 struct gw_sample_sums *sums, uint64_t *elapsed_ns,
                 struct gw_error *why);
/* Returns its rows as a source for gw_task_evaluate and gw_embedding_new. */
GW_API struct gw_fetch gw_hogwild_fetch(struct gw_hogwild *hogwild);

#ifdef __cplusplus
}
#endif
#endif
