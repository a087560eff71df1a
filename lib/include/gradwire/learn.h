/* SPDX-License-Identifier: MIT
 *
 * Models and data readers that the runs train: pure computing on one rank's
 * rows. What the ranks add up between them is for the caller to move; so the
 * mathematics is tested without a wire, and any wire can carry it.
 *
 * One step of data-parallel training, the same batches whatever P is:
 *
 *     gw_order_shuffle(&order, epoch)              the same on all ranks
 *     rows  = gw_order_share(&order, batch, rank, P)
 *     gw_model_gradient(model, data, rows, ...)    sums over this rank's share
 *     all-reduce (sum) of gradient, loss           gradwire-coll(3)
 *     gw_model_step(model, sums, rows in the batch)
 *
 * Nothing here is shared between threads; a data set that nobody changes may
 * be read by many.
 */
#ifndef GRADWIRE_LEARN_H
#define GRADWIRE_LEARN_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- data ---- */

/* Limits, so that a file cannot exhaust memory other than by its own size. */
enum {
    GW_FEATURES_MAX = 1 << 30,   /* the largest index */
    GW_CLASSES_MAX = 1 << 16,    /* distinct labels */
    GW_LINE_BYTES_MAX = 1 << 28, /* of a text file */
    GW_PARAMETERS_MAX = 1 << 26  /* of a model */
};

/* Labelled sparse rows (CSR): row i has the entries row_begin[i] to
 * row_begin[i + 1] of `index` and `value`, in the order of the file, and the
 * class label[i], whose label in the file is classes[label[i]]. */
struct gw_dataset {
    size_t rows;
    size_t features; /* indices are below this */
    size_t nonzeros;
    size_t *row_begin; /* rows + 1 entries */
    uint32_t *index;   /* counted from 0, whatever the file does */
    float *value;
    uint32_t *label;
    unsigned class_count;
    double *classes;     /* distinct labels, ascending */
    double *target;      /* of rows whose labels are numbers, not classes; else
                            NULL, and then `label` and `classes` are not */
    unsigned index_base; /* what the file counts from: 0 or 1 */
};

/* How a file counts its features. AUTO: from 0 if index 0 occurs, else from
 * 1. A test set is read with the base of its training set. */
enum gw_index_base { GW_BASE_AUTO = -1, GW_BASE_0 = 0, GW_BASE_1 = 1 };

/* Reads LibSVM text: "LABEL INDEX:VALUE INDEX:VALUE ...", a row a line. Labels
 * are any numbers; indices need not ascend, but none may occur twice in a row;
 * "qid:N" after the label is skipped; "#" begins a comment; blank lines and
 * CR LF are fine. The file is read in blocks, so a pipe will do.
 *
 * GW_EDATA: the text is wrong, and the sentence begins "NAME:LINE:COLUMN: "
 * (both counted from 1, columns in bytes); it has no row at all; or it has more
 * than GW_CLASSES_MAX labels; or it cannot be opened or read. GW_EINTR: a
 * signal came while it waited for a pipe. On failure *data is NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_libsvm_load(const char *path,
                                                enum gw_index_base base,
                                                struct gw_dataset **data,
                                                struct gw_error *why);
/* The same for regression: the labels are any numbers, data->target, and there
 * are no classes. */
GW_API GW_MUST_CHECK enum gw_err
gw_libsvm_load_targets(const char *path, enum gw_index_base base,
                       struct gw_dataset **data, struct gw_error *why);
/* gw_libsvm_load from memory; `name` is for the sentences. */
GW_API GW_MUST_CHECK enum gw_err gw_libsvm_parse(const void *text, size_t bytes,
                                                 const char *name,
                                                 enum gw_index_base base,
                                                 struct gw_dataset **data,
                                                 struct gw_error *why);
GW_API void gw_dataset_destroy(struct gw_dataset **data);

/* The largest |value|; 0 when there is none. */
GW_API float gw_dataset_largest(const struct gw_dataset *data);
/* Multiplies every value by `factor`. */
GW_API void gw_dataset_scale(struct gw_dataset *data, float factor);
/* Makes `test` speak of the classes and features of `train`: labels are
 * renumbered, entries of features that `train` does not have are removed and
 * counted in *ignored. Targets stay as they are. GW_EDATA, `test` unchanged: a
 * label that `train` does not have. */
GW_API GW_MUST_CHECK enum gw_err
gw_dataset_match(struct gw_dataset *test, const struct gw_dataset *train,
                 size_t *ignored, struct gw_error *why);

/* ---- models ---- */

enum gw_model_kind {
    GW_MODEL_LR,     /* binary logistic regression: one score a row */
    GW_MODEL_SOFTMAX /* multinomial: a score a class */
};

/* Linear scores z = W x + b, log loss. Parameters are dense: the weights of
 * feature j are parameters[j * outputs ... + outputs), the biases come last.
 * For lr a positive score means class 1. */
struct gw_model {
    enum gw_model_kind kind;
    size_t features;
    unsigned outputs; /* 1 for lr, the number of classes for softmax */
    size_t parameter_count;
    float *parameters; /* zero at first */
    float *velocity;   /* of the momentum */
};

/* "lr", "softmax" */
GW_API const char *gw_model_name(enum gw_model_kind kind);
GW_API GW_MUST_CHECK enum gw_err gw_model_parse(const char *name,
                                                enum gw_model_kind *kind,
                                                struct gw_error *why);

/* A model for such data, all zeros. GW_EDATA: the labels do not fit the kind
 * (lr wants two, softmax at least two); GW_EINVAL: more than GW_PARAMETERS_MAX
 * parameters. */
GW_API GW_MUST_CHECK enum gw_err gw_model_new(enum gw_model_kind kind,
                                              const struct gw_dataset *data,
                                              struct gw_model **model,
                                              struct gw_error *why);
GW_API void gw_model_destroy(struct gw_model **model);
/* The same for equal parameters, bit by bit. */
GW_API uint64_t gw_model_digest(const struct gw_model *model);
/* The sum of the squared weights, biases left out. */
GW_API double gw_model_norm2(const struct gw_model *model);

/* Sums over some rows, to be added up over the ranks. They are kept in f64, so
 * that how a batch is shared changes the result by rounding of f32 only. */
struct gw_sums {
    double *gradient; /* of the loss: parameter_count entries */
    double *scores;   /* scratch: one entry an output */
    double loss;
    uint64_t right; /* rows whose largest score is that of their class */
};

GW_API GW_MUST_CHECK enum gw_err gw_sums_init(struct gw_sums *sums,
                                              const struct gw_model *model,
                                              struct gw_error *why);
GW_API void gw_sums_fini(struct gw_sums *sums);

/* Sets *sums to the gradient, loss and right answers over the rows
 * rows[0..row_count) of `data`, or over its first ones if `rows` is NULL. The regularisation is not in it: it belongs to
 * the step, once, not to the shares. */
GW_API void gw_model_gradient(const struct gw_model *model,
                              const struct gw_dataset *data,
                              const uint32_t *rows, size_t row_count,
                              struct gw_sums *sums);
/* The loss and right answers only, over the rows [begin, end). */
GW_API void gw_model_evaluate(const struct gw_model *model,
                              const struct gw_dataset *data, size_t begin,
                              size_t end, struct gw_sums *sums);

struct gw_sgd {
    double rate;     /* of this step */
    double momentum; /* 0: plain SGD */
    double l2;       /* the objective has l2/2 |w|^2; biases go free */
};

/* v = momentum v + gradient / row_count + l2 w;  w = w - rate v.
 * `gradient` has parameter_count sums over a batch of `row_count` rows. False:
 * a parameter is NaN or infinite now; the training has diverged. */
GW_API bool gw_model_step(struct gw_model *model, const struct gw_sgd *sgd,
                          const float *gradient, size_t row_count);

/* ---- order ---- */

/* In which order the rows are seen, cut into batches. */
struct gw_order {
    size_t rows;
    size_t batch; /* rows of a batch; the last one may have fewer */
    uint64_t seed;
    uint32_t *row; /* the order */
};

/* In the order of the file. `batch` 0 or too large: all rows. */
GW_API GW_MUST_CHECK enum gw_err gw_order_init(struct gw_order *order,
                                               size_t rows, size_t batch,
                                               uint64_t seed,
                                               struct gw_error *why);
GW_API void gw_order_fini(struct gw_order *order);
/* The order of `epoch`: a permutation that depends on seed and epoch only
 * (Fisher and Yates, as in Knuth 3.4.2 P). */
GW_API void gw_order_shuffle(struct gw_order *order, unsigned epoch);
/* How many batches an epoch has. */
GW_API size_t gw_order_batches(const struct gw_order *order);
/* How many rows batch b has. */
GW_API size_t gw_order_batch_rows(const struct gw_order *order, size_t b);
/* The rows of batch b that are `rank`'s: its contiguous share of `ranks`, which
 * differ by at most one row. */
GW_API const uint32_t *gw_order_share(const struct gw_order *order, size_t b,
                                      unsigned rank, unsigned ranks,
                                      size_t *row_count);

#ifdef __cplusplus
}
#endif
#endif
