/* SPDX-License-Identifier: MIT
 *
 * Learning tasks whose parameters live elsewhere: rows of tables under 64-bit
 * keys, as a parameter server (gradwire/ps.h) has them. Pure computing: a task
 * says which rows it needs, is given them, and says how they should change.
 *
 *     gw_task_defaults("lr", &config, &why);  config.train =
 * "a9a.train.libsvm"; gw_task_new(&config, &task, &why);      gw_unit_new(task,
 * &unit, &why); tables = gw_task_tables(task, &count)   to be made at the
 * servers for each unit of work (epoch, batch, part of parts):
 *         gw_unit_prepare(unit, &place, &why)
 *         keys = gw_unit_keys(unit, table, &count)       to be pulled
 *         gw_unit_compute(unit, rows, gradients, &sums)  to be pushed
 *     gw_task_evaluate(task, GW_TASK_TEST, epochs, &fetch, &score, &why)
 *
 * Batches hold the same samples whatever the number of workers, and a batch's
 * parts have its samples between them. What a batch wants as a mean is divided
 * by the rows of the whole batch, so parts add up, and the servers need to know
 * nothing. What is random follows from the seed and the sample's own number.
 *
 *     lr        sparse binary logistic regression; table "w"
 *     linear    sparse regression by least squares; "w"
 *     mf        matrix factorisation of ratings, made up or from a file; "user"
 *               and "item"
 *     ctr       the same of clicks from a file, as a logistic model
 *     word2vec  skip-gram with negative sampling on a text; "in" and "out";
 *               good with parts of 500 to 2000 words, up to 8 of them
 *     deepwalk  the same on random walks over a graph: vectors of its nodes
 *     drift     linear regression on an endless stream whose truth moves; "w"
 *     net       a network from a file on LibSVM data; "net", and "embedding"
 *               where it begins with one
 *     cartpole  an agent that balances a pole learns from what it does; "agent"
 *
 * A task does not change once it is made: any number of threads may use it,
 * each with a gw_unit of its own.
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

/* Begin with gw_task_defaults: zero is a value like others. */
struct gw_task_config {
    enum gw_task_kind kind;
    const char *train; /* lr, linear, net: LibSVM; word2vec: text;
                          deepwalk: edges; ctr: clicks; mf: ratings, or NULL:
                          made up; else NULL */
    const char
        *test; /* of the form of train, or NULL; word2vec and those without
                          a file: NULL */
    const char *network; /* net: gradwire-network(5); else NULL */
    /* lr, linear: rows stay in the file, and each unit reads its own. So does a
     * file that is larger than what a process may read into memory. */
    bool on_demand;
    /* linear, when `train` is a folder: a stream of rows, which come once and in
     * order, as many an epoch, with features from 1 to `features`. */
    struct {
        uint32_t features;
        size_t rows;
    } stream;
    uint64_t seed;
    uint64_t epochs; /* as planned; word2vec's rate falls to nothing by then */
    size_t batch;    /* rows of a batch; 0: all */
    unsigned group;  /* of the tables */
    /* How pushes change rows. word2vec pushes steps, made with its `rate`, to
     * be added; it knows GW_PS_ADD only. The others know any updater that takes
     * a gradient, mf not FTRL, which would begin at zero and stay there. `l2`
     * of mf is per rating, in the gradient. */
    enum gw_ps_updater updater;
    float rate, momentum, beta1, beta2, epsilon, beta, l1, l2;
    struct {
        uint32_t users, items, rank; /* of the truth, and what is learnt */
        size_t ratings;              /* a tenth of them more is held out */
        double noise;                /* standard deviation */
    } mf;
    struct {
        uint32_t dimension, window, negatives;
        uint64_t min_count; /* rarer words are left out */
        double subsample;   /* word2vec.c's -sample; 0: none */
        /* Negatives of each thousand words of the text are taken from so many
         * that are drawn first, which leaves less to pull and to push; 0: from
         * all words, as word2vec.c does. */
        uint32_t pool;
        /* deepwalk: walks that begin at each node, and the nodes of each. */
        uint32_t walks, length;
    } words; /* of deepwalk, too, whose words are nodes */
    struct {
        uint32_t features;
        size_t rows;   /* of an epoch; the stream goes on with the next one */
        double noise;  /* standard deviation */
        double period; /* rows after which the true weights are as before */
    } drift;
    struct {
        uint32_t hidden; /* units of the agent's trunk */
        size_t episodes; /* rows of an epoch */
        uint32_t limit;  /* steps of an episode, at most */
        uint32_t unroll; /* n of the n-step returns */
        double discount, value_weight, entropy_weight;
    } cartpole;
    struct {
        bool scale; /* values are divided by the largest of the training file */
    } net;
};

/* "lr", "linear", "mf", "ctr", "word2vec", "deepwalk", "drift", "cartpole", "net" */
GW_API const char *gw_task_name(enum gw_task_kind kind);
/* A good beginning for that model; GW_EINVAL: there is no such model. */
GW_API GW_MUST_CHECK enum gw_err gw_task_defaults(const char *name,
                                                  struct gw_task_config *config,
                                                  struct gw_error *why);
/* Sets another updater, and a rate that suits the model with it. GW_EINVAL,
 * nothing changed: the model cannot learn with it. */
GW_API GW_MUST_CHECK enum gw_err
gw_task_choose_updater(struct gw_task_config *config,
                       enum gw_ps_updater updater, struct gw_error *why);

struct gw_task;

/* Reads or makes the data. The config is copied, its strings are not needed
 * later. GW_EDATA: a file cannot be read or is wrong, with its name; the labels
 * are not two; no word is left. GW_EINVAL: the config makes no sense. */
GW_API GW_MUST_CHECK enum gw_err
gw_task_new(const struct gw_task_config *config, struct gw_task **task,
            struct gw_error *why);
GW_API void gw_task_destroy(struct gw_task **task);

/* As given, but that train, test and network are NULL. */
GW_API const struct gw_task_config *gw_task_config(const struct gw_task *task);
/* What it needs; a table's number below is its place here. */
GW_API const struct gw_ps_table_config *
gw_task_tables(const struct gw_task *task, unsigned *count);
/* Samples of an epoch: rows of the file, ratings, words of the text. */
GW_API size_t gw_task_rows(const struct gw_task *task);
GW_API size_t gw_task_batches(const struct gw_task *task); /* of an epoch */
/* Bytes of training rows that were read from the file so far, by this process:
 * all of it at once, or those of its units; an index that is made is not
 * counted. 0: not lr and not linear. */
GW_API uint64_t gw_task_bytes_read(const struct gw_task *task);
GW_API size_t gw_task_batch_rows(const struct gw_task *task, size_t batch);

/* ---- units of work ---- */

struct gw_unit_place {
    uint64_t epoch, batch;
    unsigned part, parts; /* part p of P has rows floor(pn/P) to
                             floor((p+1)n/P) of the batch's n */
};

/* Sums over samples. word2vec's and deepwalk's samples are pairs of words; those of the others
 * are rows. */
struct gw_unit_sums {
    uint64_t rows, samples;
    double loss; /* log loss; half the squared error; cartpole: what the
                       agent minimises, the mean of an episode's steps */
    uint64_t
        right; /* lr: rows told right; word2vec, deepwalk: pairs whose word scores
                       above all that were drawn against it; cartpole: steps */
    /* cartpole: what the loss consists of, sums over steps */
    double policy_loss, value_loss, entropy;
    /* With gw_unit_threads: updates of rows that the threads made, and those of
     * them that another thread's update has overwritten. */
    uint64_t row_writes, row_writes_lost;
};

struct gw_unit; /* one worker's scratch; one thread at a time */

/* `task` must outlive it. */
GW_API GW_MUST_CHECK enum gw_err gw_unit_new(const struct gw_task *task,
                                             struct gw_unit **unit,
                                             struct gw_error *why);
GW_API void gw_unit_destroy(struct gw_unit **unit);

/* Are there rows that several threads may write without locks (lr,
 * linear, mf, ctr, word2vec)? */
GW_API bool gw_task_shares_rows(enum gw_task_kind kind);
/* From the next gw_unit_prepare on, `threads` threads, the caller's among them,
 * share a unit's samples and write the same rows without locks, as those of a
 * worker do in Project Adam: into the gradients, or, of word2vec, into the rows
 * that move. An update may be lost; the sums count how many were. 1: the caller
 * alone. GW_ENOTSUP: the task shares no rows; GW_EINVAL: more than 64. */
GW_API GW_MUST_CHECK enum gw_err
gw_unit_threads(struct gw_unit *unit, unsigned threads, struct gw_error *why);

/* Goes to a unit of work and finds the keys that it needs. GW_EINVAL: there is
 * no such batch or part. */
GW_API GW_MUST_CHECK enum gw_err
gw_unit_prepare(struct gw_unit *unit, const struct gw_unit_place *place,
                struct gw_error *why);
/* They are distinct and ascend; valid until the next gw_unit_prepare. There may
 * be none, when a batch has fewer rows than parts. */
GW_API const uint64_t *gw_unit_keys(const struct gw_unit *unit, unsigned table,
                                    size_t *count);
/* rows[table]: the rows of those keys, one behind the other, as pulled.
 * gradients[table], of the same size, is set to what is to be pushed; NULL
 * instead of `gradients`: the sums only. Memory is the caller's. May be called
 * again with other rows: what it does to them follows from them alone. */
GW_API void gw_unit_compute(struct gw_unit *unit, const float *const *rows,
                            float *const *gradients, struct gw_unit_sums *sums);
/* sums += more */
GW_API void gw_unit_add(struct gw_unit_sums *sums,
                        const struct gw_unit_sums *more);

/* ---- how good it is ---- */

/* Where parameters come from: sets `rows` to those of `count` keys, which
 * ascend. */
struct gw_fetch {
    void *context;
    enum gw_err (*rows)(void *context, unsigned table, const uint64_t *keys,
                        size_t count, float *rows, struct gw_error *why);
};

enum gw_task_set { GW_TASK_TRAIN, GW_TASK_TEST };

struct gw_task_score {
    uint64_t samples;
    double loss;    /* mean */
    double quality; /* what gw_task_quality names */
};

/* "accuracy" (lr, net, ctr), "rmse" (linear, mf, drift), "first" (word2vec, deepwalk: the share of pairs
 * whose word scores above all that were drawn against it), "return" (cartpole:
 * the mean number of steps of an episode) */
GW_API const char *gw_task_quality(const struct gw_task *task);
/* The same from sums of units. */
GW_API struct gw_task_score gw_task_judge(const struct gw_task *task,
                                          const struct gw_unit_sums *sums);
/* Over a whole set, in chunks. Of drift, whose stream goes on, the train set is
 * the last thousand rows of the epoch before `epochs`, and the test set the
 * thousand that come then; of cartpole likewise a hundred episodes. word2vec's
 * train set is the text, with pairs and negatives of its own that are always
 * the same. GW_ENOTSUP: there is no test set (lr, linear and net without a file, word2vec and deepwalk);
 * else what `fetch` says. */
GW_API GW_MUST_CHECK enum gw_err
gw_task_evaluate(const struct gw_task *task, enum gw_task_set set,
                 uint64_t epochs, const struct gw_fetch *fetch,
                 struct gw_task_score *score, struct gw_error *why);

/* ---- tables in this process ---- */

/* What a run over servers is compared with: the same tables and updaters in
 * plain memory. Pushes of a batch are added up, in f32 and in the order in
 * which they come; gw_local_step then updates each row once. With the parts of
 * a batch pushed in their order that is what servers do under bsp, bit by bit.
 */
struct gw_local;

GW_API GW_MUST_CHECK enum gw_err
gw_local_new(const struct gw_ps_table_config *tables, unsigned count,
             struct gw_local **local, struct gw_error *why);
GW_API void gw_local_destroy(struct gw_local **local);
/* A row that was never updated has its initial value. Safe from several threads
 * while nobody pushes or steps. */
GW_API void gw_local_pull(const struct gw_local *local, unsigned table,
                          const uint64_t *keys, size_t count, float *rows);
/* Keys of one push are distinct. GW_ENOMEM: nothing was pushed. */
GW_API GW_MUST_CHECK enum gw_err
gw_local_push(struct gw_local *local, unsigned table, const uint64_t *keys,
              size_t count, const float *values, struct gw_error *why);
/* Rows become these, with the state of rows that were never updated. GW_ENOMEM:
 * nothing was changed. */
GW_API GW_MUST_CHECK enum gw_err
gw_local_assign(struct gw_local *local, unsigned table, const uint64_t *keys,
                size_t count, const float *values, struct gw_error *why);
GW_API void gw_local_step(struct gw_local *local);
/* gw_local_pull, for gw_task_evaluate. */
GW_API struct gw_fetch gw_local_fetch(struct gw_local *local);
/* Rows that were updated. */
GW_API size_t gw_local_rows(const struct gw_local *local, unsigned table);
/* Equal for tables with the same values, bit by bit. */
GW_API uint64_t gw_local_digest(const struct gw_local *local);
/* A whole batch of the unit's task in `parts` parts: pull, compute, push of
 * each, then the step. *sums is set to those of the batch. */
GW_API GW_MUST_CHECK enum gw_err
gw_local_batch(struct gw_local *local, struct gw_unit *unit, uint64_t epoch,
               uint64_t batch, unsigned parts, struct gw_unit_sums *sums,
               struct gw_error *why);

/* ---- words ---- */

/* The vocabulary of a word2vec task, or the nodes of a deepwalk task; a word's
 * number is its key in both tables. Ordered by frequency, the most frequent
 * first; nodes by their edges. */
GW_API size_t gw_words_count(const struct gw_task *task);
/* Not terminated: *bytes is set. */
GW_API const char *gw_words_word(const struct gw_task *task, size_t number,
                                 size_t *bytes);
GW_API uint64_t gw_words_frequency(const struct gw_task *task, size_t number);
/* GW_EDATA: the text does not have it, or not often enough. */
GW_API GW_MUST_CHECK enum gw_err gw_words_find(const struct gw_task *task,
                                               const char *word, size_t *number,
                                               struct gw_error *why);

/* The "in" vectors of all words, scaled to length 1. */
struct gw_embedding;

GW_API GW_MUST_CHECK enum gw_err gw_embedding_new(const struct gw_task *task,
                                                  const struct gw_fetch *fetch,
                                                  struct gw_embedding **words,
                                                  struct gw_error *why);
GW_API void gw_embedding_destroy(struct gw_embedding **words);

struct gw_neighbour {
    size_t number;
    double cosine;
};

/* The `*count` words nearest to `word`, nearest first, without itself; *count
 * becomes less when there are fewer. GW_EDATA: as gw_words_find. */
GW_API GW_MUST_CHECK enum gw_err
gw_embedding_nearest(const struct gw_embedding *words, const char *word,
                     struct gw_neighbour *nearest, size_t *count,
                     struct gw_error *why);
/* Mikolov et al. 2013's questions "A B C D": is D the word nearest to
 * B - A + C, the three left out? Lines that begin with ':' are skipped, and
 * questions with a word that the text does not have; upper case is lowered.
 * GW_EDATA: the file cannot be read, or a line has other than four words. */
GW_API GW_MUST_CHECK enum gw_err
gw_embedding_analogies(const struct gw_embedding *words, const char *path,
                       size_t *asked, size_t *right, struct gw_error *why);

/* How well the vectors tell classes apart. A file has lines "WORD CLASS", empty
 * ones and those that begin with '#' aside. Each word is given to the class
 * whose other words' mean is nearest to it: *right of *asked so, those of words
 * that there are. GW_EDATA: the file cannot be read, or a line has other than
 * two words. */
GW_API GW_MUST_CHECK enum gw_err
gw_embedding_classes(const struct gw_embedding *words, const char *path,
                     size_t *asked, size_t *right, struct gw_error *why);

/* What a parameter server has to beat: the same word2vec in one process, whose
 * threads change one memory without locks (Niu et al. 2011, as word2vec.c). */
struct gw_hogwild;

GW_API GW_MUST_CHECK enum gw_err gw_hogwild_new(const struct gw_task *task,
                                                struct gw_hogwild **hogwild,
                                                struct gw_error *why);
GW_API void gw_hogwild_destroy(struct gw_hogwild **hogwild);
/* One pass over the text, a contiguous share a thread. With one thread the
 * result follows from the seed. GW_EINVAL: no thread, or more than 256. */
GW_API GW_MUST_CHECK enum gw_err
gw_hogwild_epoch(struct gw_hogwild *hogwild, uint64_t epoch, unsigned threads,
                 struct gw_unit_sums *sums, uint64_t *elapsed_ns,
                 struct gw_error *why);
GW_API struct gw_fetch gw_hogwild_fetch(struct gw_hogwild *hogwild);

#ifdef __cplusplus
}
#endif
#endif
