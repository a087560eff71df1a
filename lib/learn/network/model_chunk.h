/* SPDX-License-Identifier: MIT
 *
 * One rank's part of a section of a network (a virtual stage): its operators
 * with the shapes of the layout, forward and backward passes of one
 * micro-batch, and conversions along the tensor axis. The shards (shards.h)
 * hold weights and gradients; the caller (parallel.c) transfers messages
 * between sections.
 *
 * A gw__tape has the values of a forward pass that its backward passes need,
 * one tape per micro-batch under way.
 */
#ifndef GW__MODEL_CHUNK_H
#define GW__MODEL_CHUNK_H

#include "image.h"
#include "learn/parallel/shards.h"
#include "tensor.h"

#include <gradwire/pipe.h>

/* Weights and gradients, by operator, of a part without shards. The caller may
 * change the pointers between two passes. */
struct gw__weights {
    const float *const *values;
    float *const *gradients;
};

struct gw__model_chunk_config {
    const struct gw_layout *layout;
    unsigned virtual_stage;
    struct gw_comm *tensor;    /* not owned; NULL: the axis has one rank */
    unsigned place;            /* coordinate of this rank on it */
    struct gw__shards *shards; /* NULL: use `weights` */
    const struct gw__weights *weights; /* not owned */
    unsigned first_shard; /* index of its first operator in the shards */
    double scale;         /* of the gradient of one row's loss */
    const char *algo;     /* of all-reduces along the tensor axis; or NULL */
};

/* The f32 values of one micro-batch. */
struct gw__tape {
    struct gw__tape *next; /* in the list of idle tapes */
    const float *in;       /* the message at its begin; or NULL */
    float *values;
};

struct gw__model_chunk {
    struct gw__model_chunk_config config;
    unsigned ranks; /* of the tensor axis */
    const struct gw_operator_layout
        *op_layouts;                     /* of the first operator here */
    const struct gw_operator *operators; /* likewise */
    unsigned count;
    bool first, last; /* it has the network's first or last section */
    /* Offsets on a tape of operator i's input (if it differs from the previous
     * output), output, and the output's gradient. */
    size_t *in_at, *out_at, *slope_at;
    /* the gradient that a later `add` contributes; 0: none */
    size_t *branch_at;
    size_t tape_elements;
    float *scratch;       /* for conversions */
    float *raw;           /* a gradient before its conversion */
    float *spread;        /* an expanded row, for convolutions */
    uint64_t collectives; /* number of conversions with communication */
    struct gw__tape *idle;
    struct gw__message_buffers *values; /* memory of all tapes */
};

GW_MUST_CHECK enum gw_err
gw__model_chunk_new(const struct gw__model_chunk_config *config,
                    struct gw__model_chunk **chunk, struct gw_error *why);
/* All tapes must have been given back. */
void gw__model_chunk_destroy(struct gw__model_chunk **chunk);

GW_MUST_CHECK enum gw_err gw__tape_acquire(struct gw__model_chunk *chunk,
                                           struct gw__tape **tape,
                                           struct gw_error *why);
void gw__tape_release(struct gw__model_chunk *chunk, struct gw__tape **tape);

/* One pass of one micro-batch. A message is an activation or a gradient. The
 * first section receives no activation, and the last one no gradient. */
struct gw__model_chunk_pass {
    enum gw_pass_kind kind;
    const struct gw__rows *rows; /* all rows of this data coordinate */
    /* F: the activation; otherwise the gradient of this part's output. The
     * activation must stay unchanged until B or W; the gradient of I until W,
     * which gets it again */
    const float *in;
    float *out; /* F: the activation; B, I: the gradient of `in` */
    /* F of the last section adds the rows that this rank evaluates */
    struct gw__loss_sum *loss_sum;
    bool complete; /* B, W: the last one of the step that adds to gradients */
};
GW_MUST_CHECK enum gw_err
gw__model_chunk_forward(struct gw__model_chunk *chunk, struct gw__tape *tape,
                        const struct gw__model_chunk_pass *pass,
                        struct gw_error *why);
GW_MUST_CHECK enum gw_err
gw__model_chunk_backward(struct gw__model_chunk *chunk, struct gw__tape *tape,
                         const struct gw__model_chunk_pass *pass,
                         struct gw_error *why);

/* The elements of this rank's share of the message from section `after` to the
 * next one, and of the gradient in the other direction. */
size_t gw__model_chunk_message(const struct gw_layout *layout, unsigned after);
size_t gw__model_chunk_grad_message(const struct gw_layout *layout,
                                    unsigned after);

/* Sets the initial weights of operator `index` of the network; `values` has
 * parameters_local elements. They depend on the seed and their position in the
 * whole operator. */
void gw__weights_begin(const struct gw_layout *layout, unsigned index,
                       unsigned place, uint64_t seed, float *values);

/* ---- between model_chunk.c, model_chunk_forward.c and model_chunk_backward.c
 * ---- */

/* For operator i with parameters: gets its weights until gw__weights_release,
 * its gradient, and lets communication progress meanwhile. */
GW_MUST_CHECK enum gw_err
gw__weights_acquire(const struct gw__model_chunk *chunk, unsigned i,
                    const float **values, struct gw_error *why);
void gw__weights_release(const struct gw__model_chunk *chunk, unsigned i);
float *gw__model_chunk_gradient(const struct gw__model_chunk *chunk,
                                unsigned i);
GW_MUST_CHECK enum gw_err
gw__model_chunk_complete(const struct gw__model_chunk *chunk, unsigned i,
                         struct gw_error *why);
GW_MUST_CHECK enum gw_err
gw__model_chunk_poll(const struct gw__model_chunk *chunk, struct gw_error *why);
/* The input of operator i. */
const float *gw__model_chunk_input(const struct gw__model_chunk *chunk,
                                   const struct gw__tape *tape, unsigned i);
/* The rows of the micro-batch that this rank has of a tensor with this
 * sharding. */
struct gw__rows gw__model_chunk_rows(const struct gw__model_chunk *chunk,
                                     const struct gw__rows *rows,
                                     enum gw_sharding sharding);
/* The part of an embedding's vocabulary on this rank. */
struct gw__vocabulary gw__model_chunk_words(const struct gw__model_chunk *chunk,
                                            unsigned i);
struct gw__dense gw__model_chunk_dense(const struct gw__model_chunk *chunk,
                                       unsigned i);
/* This rank's part of operator i's input and output images. */
struct gw__image_shape
gw__model_chunk_image(const struct gw__model_chunk *chunk, unsigned i);
/* The index in this part of the operator whose output `add` i uses. */
unsigned gw__model_chunk_source(const struct gw__model_chunk *chunk,
                                unsigned i);
/* The number of elements of an element-wise operator. */
size_t gw__model_chunk_elements(const struct gw__model_chunk *chunk,
                                unsigned i);
/* Converts a tensor of `features` according to `conversion`, or copies it. */
GW_MUST_CHECK enum gw_err
gw__model_chunk_convert(struct gw__model_chunk *chunk,
                        const struct gw_conversion *conversion, size_t features,
                        const float *in, float *out, size_t copied,
                        struct gw_error *why);
/* Prepends the operator to the error: "operator 3, dense: ...". */
enum gw_err gw__model_chunk_wrap(const struct gw__model_chunk *chunk,
                                 unsigned i, enum gw_err code,
                                 struct gw_error *why);

#endif
