/* SPDX-License-Identifier: MIT
 *
 * Models and data readers for training: pure computation on the rows of one
 * rank. The caller adds the sums up over the ranks. So the mathematics is
 * tested without a wire, and any wire can be used.
 *
 * One step of data-parallel training, with the same batches for any P:
 *
 *     gw_order_shuffle(&order, epoch)              the same on all ranks
 *     rows  = gw_order_share(&order, batch, rank, P)
 *     gw_model_gradient(model, data, rows, ...)    sums over this rank's share
 *     all-reduce (sum) of gradient, loss           gradwire-coll(3)
 *     gw_model_step(model, sums, rows in the batch)
 *
 * These objects belong to one thread, but several threads may read the same
 * data set.
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
    uint32_t *index;   /* from 0, whatever the base of the file is */
    float *value;
    uint32_t *label;
    unsigned class_count;
    double *classes; /* distinct labels, ascending */
    /* The labels as numbers, for regression; then `label` and `classes`
     * are NULL. With classes it is NULL. */
    double *target;
    unsigned index_base; /* of the file: 0 or 1 */
};

/* The smallest index of a file's features. AUTO: 0 if index 0 occurs, otherwise
 * 1. A test set is read with the base of its training set. */
enum gw_index_base { GW_BASE_AUTO = -1, GW_BASE_0 = 0, GW_BASE_1 = 1 };

/* Reads LibSVM text for classification: "LABEL INDEX:VALUE INDEX:VALUE ...",
 * one row per line. Labels are any numbers. Indices need not ascend, but each
 * may occur only once in a row. "qid:N" after the label is ignored. "#" begins
 * a comment. Blank lines and CR LF are allowed. The file is read in blocks, so
 * it may be a pipe. The caller frees *data with gw_dataset_destroy.
 *
 * GW_EDATA: the text is wrong, and the sentence begins with "NAME:LINE:COLUMN:
 * " (both from 1, columns in bytes); or the file has no row or more than
 * GW_CLASSES_MAX labels, or cannot be opened or read. GW_EINTR: a signal
 * arrived while it waited for a pipe. On failure *data is NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_libsvm_load(const char *path,
                                                enum gw_index_base base,
                                                struct gw_dataset **data,
                                                struct gw_error *why);
/* Reads LibSVM text for regression: the labels are numbers in data->target, and
 * there are no classes. Errors as in gw_libsvm_load. */
GW_API GW_MUST_CHECK enum gw_err
gw_libsvm_load_targets(const char *path, enum gw_index_base base,
                       struct gw_dataset **data, struct gw_error *why);
/* Reads LibSVM text from memory, as gw_libsvm_load; `name` is for the
 * sentences. */
GW_API GW_MUST_CHECK enum gw_err gw_libsvm_parse(const void *text, size_t bytes,
                                                 const char *name,
                                                 enum gw_index_base base,
                                                 struct gw_dataset **data,
                                                 struct gw_error *why);
/* Frees a data set and sets the pointer to NULL. */
GW_API void gw_dataset_destroy(struct gw_dataset **data);

/* Returns the largest absolute value; 0 without entries. */
GW_API float gw_dataset_largest(const struct gw_dataset *data);
/* Multiplies every value by `factor`. */
GW_API void gw_dataset_scale(struct gw_dataset *data, float factor);
/* Adapts `test` to the classes and features of `train`: labels are renumbered,
 * entries of features that `train` does not have are removed and counted in
 * *ignored. Targets are unchanged. GW_EDATA: `test` has a label that `train`
 * does not have; `test` is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_dataset_match(struct gw_dataset *test, const struct gw_dataset *train,
                 size_t *ignored, struct gw_error *why);

/* ---- models ---- */

/* The kinds of linear models. */
enum gw_model_kind {
    GW_MODEL_LR,     /* binary logistic regression: one score per row */
    GW_MODEL_SOFTMAX /* multinomial: one score per class */
};

/* A linear model: scores z = W x + b, log loss. Parameters are dense: the
 * weights of feature j are parameters[j * outputs ... + outputs), the biases
 * come last. For lr a positive score means class 1. */
struct gw_model {
    enum gw_model_kind kind;
    size_t features;
    unsigned outputs; /* lr: 1; softmax: the number of classes */
    size_t parameter_count;
    float *parameters; /* initially 0 */
    float *velocity;   /* of the momentum */
};

/* Returns the name of a kind: "lr", "softmax". */
GW_API const char *gw_model_name(enum gw_model_kind kind);
/* Finds the kind of a name. GW_EINVAL: an unknown name; *kind is unchanged. */
GW_API GW_MUST_CHECK enum gw_err gw_model_parse(const char *name,
                                                enum gw_model_kind *kind,
                                                struct gw_error *why);

/* Creates a model for a data set, with all parameters 0. The caller frees it
 * with gw_model_destroy. GW_EDATA: the labels do not fit the kind (lr needs
 * two, softmax at least two). GW_EINVAL: more than GW_PARAMETERS_MAX
 * parameters. On failure *model is NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_model_new(enum gw_model_kind kind,
                                              const struct gw_dataset *data,
                                              struct gw_model **model,
                                              struct gw_error *why);
/* Frees a model and sets the pointer to NULL. */
GW_API void gw_model_destroy(struct gw_model **model);
/* Returns a hash of the parameters, the same for equal bits. */
GW_API uint64_t gw_model_digest(const struct gw_model *model);
/* Returns the sum of the squared weights, without the biases. */
GW_API double gw_model_norm2(const struct gw_model *model);

/* Sums over some rows, which the caller adds up over the ranks. They are kept
 * in f64, so that the number of shares changes the result only by the rounding
 * of f32. */
struct gw_sums {
    double *gradient; /* of the loss: parameter_count entries */
    double *scores;   /* working memory: one entry per output */
    double loss;
    uint64_t right; /* rows whose largest score is that of their class */
};

/* Allocates sums for a model; gw_sums_fini frees them. */
GW_API GW_MUST_CHECK enum gw_err gw_sums_init(struct gw_sums *sums,
                                              const struct gw_model *model,
                                              struct gw_error *why);
/* Frees the memory of sums. */
GW_API void gw_sums_fini(struct gw_sums *sums);

/* Sets *sums to the gradient, the loss and the number of right answers over the
 * rows rows[0..row_count) of `data`, or over the first row_count rows if `rows`
 * is NULL. The regularisation is not included: gw_model_step adds it once. */
GW_API void gw_model_gradient(const struct gw_model *model,
                              const struct gw_dataset *data,
                              const uint32_t *rows, size_t row_count,
                              struct gw_sums *sums);
/* Sets the loss and the number of right answers over the rows [begin, end); the
 * gradient is unchanged. */
GW_API void gw_model_evaluate(const struct gw_model *model,
                              const struct gw_dataset *data, size_t begin,
                              size_t end, struct gw_sums *sums);

/* A step of stochastic gradient descent. */
struct gw_sgd {
    double rate;     /* of this step */
    double momentum; /* 0: plain SGD */
    double l2;       /* the objective has l2/2 |w|^2, without biases */
};

/* Applies one step: v = momentum v + gradient / row_count + l2 w;
 * w = w - rate v. `gradient` has parameter_count sums over a batch of
 * `row_count` rows. Returns false if a parameter is now NaN or infinite: the
 * training has diverged. */
GW_API bool gw_model_step(struct gw_model *model, const struct gw_sgd *sgd,
                          const float *gradient, size_t row_count);

/* ---- order ---- */

/* The order of the rows in an epoch, cut into batches. */
struct gw_order {
    size_t rows;
    size_t batch; /* rows per batch; the last one may have fewer */
    uint64_t seed;
    uint32_t *row; /* the order */
};

/* Creates the order of the file; gw_order_fini frees it. A `batch` that is 0 or
 * too large means all rows. */
GW_API GW_MUST_CHECK enum gw_err gw_order_init(struct gw_order *order,
                                               size_t rows, size_t batch,
                                               uint64_t seed,
                                               struct gw_error *why);
/* Frees the memory of an order. */
GW_API void gw_order_fini(struct gw_order *order);
/* Sets the order of `epoch`: a permutation that depends only on seed and epoch
 * (Fisher and Yates, as in Knuth 3.4.2 P). */
GW_API void gw_order_shuffle(struct gw_order *order, unsigned epoch);
/* Returns the number of batches per epoch. */
GW_API size_t gw_order_batches(const struct gw_order *order);
/* Returns the number of rows of batch b. */
GW_API size_t gw_order_batch_rows(const struct gw_order *order, size_t b);
/* Returns the rows of batch b for `rank`, and their number in *row_count: one
 * of `ranks` contiguous shares, which differ by at most one row. */
GW_API const uint32_t *gw_order_share(const struct gw_order *order, size_t b,
                                      unsigned rank, unsigned ranks,
                                      size_t *row_count);

#ifdef __cplusplus
}
#endif
#endif
