/* SPDX-License-Identifier: MIT
 *
 * One rank's part of one piece of a network (a virtual stage): its operators
 * with the shapes that the layout gives them, forward and backward of one
 * micro-batch, with the conversions along the tensor axis between them. Weights
 * and their gradients belong to the shards (shards.h); messages between pieces
 * to whoever calls this (parallel.c).
 *
 * What a backward pass needs of its forward one is in a gw__tape: one of them a
 * micro-batch that is under way.
 */
#ifndef GW__PART_H
#define GW__PART_H

#include "image.h"
#include "learn/parallel/shards.h"
#include "tensor.h"

#include <gradwire/pipe.h>

/* Weights and gradients of a part alone on its rank, by operator: whoever gave
 * them may point them elsewhere between two passes. */
struct gw__weights {
    const float *const *values;
    float *const *gradients;
};

struct gw__part_config {
    const struct gw_layout *layout;
    unsigned piece;
    struct gw_comm *tensor;    /* not owned; NULL: the axis has one rank */
    unsigned place;            /* of this rank on it */
    struct gw__shards *shards; /* or NULL: */
    const struct gw__weights *weights; /* not owned */
    unsigned first_shard; /* what the shards call its first operator */
    double scale;         /* of the gradient of one row's loss */
    const char *algo;     /* of all-reduces along the tensor axis; or NULL */
};

/* The f32 of one micro-batch, and who else's it needs. */
struct gw__tape {
    struct gw__tape *next; /* idle ones */
    const float *in;       /* the message that began it; or NULL */
    float *values;
};

struct gw__part {
    struct gw__part_config config;
    unsigned ranks;                      /* of the tensor axis */
    const struct gw_placed *placed;      /* of the first operator */
    const struct gw_operator *operators; /* likewise */
    unsigned count;
    bool first, last; /* piece of the network */
    /* Where the tensors of operator i begin on a tape: its input (where it is
     * not what the one before yields), its output, the gradient of that. */
    size_t *in_at, *out_at, *slope_at;
    size_t *branch_at; /* the gradient of what adds take of it; 0: none do */
    size_t tape_elements;
    float *scratch;       /* of conversions */
    float *raw;           /* a gradient before its conversion */
    float *spread;        /* a row of images, of convolutions */
    uint64_t collectives; /* conversions that moved something, so far */
    struct gw__tape *idle;
    struct gw__message_buffers *values; /* of all tapes */
};

GW_MUST_CHECK enum gw_err gw__part_new(const struct gw__part_config *config,
                                       struct gw__part **part,
                                       struct gw_error *why);
/* All tapes have been given back. */
void gw__part_destroy(struct gw__part **part);

GW_MUST_CHECK enum gw_err gw__part_take(struct gw__part *part,
                                        struct gw__tape **tape,
                                        struct gw_error *why);
void gw__part_give(struct gw__part *part, struct gw__tape **tape);

/* One pass of one micro-batch. A message is an activation or a gradient; there
 * is none before the first piece and behind the last one. */
struct gw__part_pass {
    enum gw_pass_kind kind;
    const struct gw__rows *rows; /* of this data coordinate, all of them */
    const float *in; /* F: the activation; else the gradient of what this part
                        put out. The former stays as it is until B or W, the
                        latter of I until W, which is given it again */
    float *out;      /* F: the activation; B, I: the gradient of `in` */
    struct gw__judged *judged; /* F of the last piece adds the rows that are
                                  this rank's to judge */
    bool complete; /* B, W: the last one of the step that adds to gradients */
};
GW_MUST_CHECK enum gw_err gw__part_forward(struct gw__part *part,
                                           struct gw__tape *tape,
                                           const struct gw__part_pass *pass,
                                           struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__part_backward(struct gw__part *part,
                                            struct gw__tape *tape,
                                            const struct gw__part_pass *pass,
                                            struct gw_error *why);

/* Elements of the message from piece `after` to the next one, and of the
 * gradient that comes back: of this rank's share. */
size_t gw__part_message(const struct gw_layout *layout, unsigned after);
size_t gw__part_gradient_message(const struct gw_layout *layout,
                                 unsigned after);

/* Weights at first, of the operator `index` of the network: values has
 * parameters_local elements. They follow from the seed and their place in the
 * whole operator. */
void gw__weights_begin(const struct gw_layout *layout, unsigned index,
                       unsigned place, uint64_t seed, float *values);

/* ---- between part.c, part_forward.c and part_backward.c ---- */

/* The weights of operator i, which has some, until gw__part_drop; its gradient;
 * and a moment for what moves meanwhile. */
GW_MUST_CHECK enum gw_err gw__part_use(const struct gw__part *part, unsigned i,
                                       const float **values,
                                       struct gw_error *why);
void gw__part_drop(const struct gw__part *part, unsigned i);
float *gw__part_gradient(const struct gw__part *part, unsigned i);
GW_MUST_CHECK enum gw_err gw__part_complete(const struct gw__part *part,
                                            unsigned i, struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__part_poll(const struct gw__part *part,
                                        struct gw_error *why);
/* What operator i took in. */
const float *gw__part_input(const struct gw__part *part,
                            const struct gw__tape *tape, unsigned i);
/* The rows of the micro-batch that this rank has of a tensor that lies so. */
struct gw__rows gw__part_rows(const struct gw__part *part,
                              const struct gw__rows *rows,
                              enum gw_sharding sharding);
/* The words of an embedding that this rank has. */
struct gw__vocabulary gw__part_words(const struct gw__part *part, unsigned i);
struct gw__dense gw__part_dense(const struct gw__part *part, unsigned i);
/* What goes in and comes out, of which this rank has its part. */
struct gw__image_shape gw__part_image(const struct gw__part *part, unsigned i);
/* The operator whose output `add` i takes, as a number of this part. */
unsigned gw__part_source(const struct gw__part *part, unsigned i);
/* Elements that an element-wise operator goes through. */
size_t gw__part_elements(const struct gw__part *part, unsigned i);
/* A tensor of `features` from one place to another, changed as `conversion`
 * says, or copied. */
GW_MUST_CHECK enum gw_err
gw__part_convert(struct gw__part *part, const struct gw_conversion *conversion,
                 size_t features, const float *in, float *out, size_t copied,
                 struct gw_error *why);
/* "operator 3, dense: ..." */
enum gw_err gw__part_wrap(const struct gw__part *part, unsigned i,
                          enum gw_err code, struct gw_error *why);

#endif
