/* SPDX-License-Identifier: MIT
 *
 * The gradients of a rank that tests of gw_reducer reduce. Values are small
 * whole numbers, so that sums and means are exact.
 */
#ifndef REDUCER_MODEL_H
#define REDUCER_MODEL_H

#include "edge.h"

enum { TENSORS = 7 };
extern const size_t reducer_counts[TENSORS];

struct reducer_model {
    unsigned rank, ranks;
    float *memory;
    struct gw_reducer_tensor tensors[TENSORS];
};

/* `adjacent`: one array; else there are gaps between the tensors. */
void reducer_model_init(struct reducer_model *model, struct gw_comm *comm,
                        bool adjacent);
/* Frees the reducer first. */
void reducer_model_fini(struct reducer_model *model,
                        struct gw_reducer **reducer);
/* The first bucket is closed at 100 bytes. */
struct gw_reducer *reducer_model_reducer(struct gw_comm *comm,
                                         const struct reducer_model *model,
                                         enum gw_redop op, size_t bucket_bytes);
/* The rank's own gradient of a step. */
void reducer_model_compute(const struct reducer_model *model, unsigned step,
                           unsigned tensor);
/* The same, and reports it. */
void reducer_model_ready(struct gw_comm *comm, struct gw_reducer *reducer,
                         const struct reducer_model *model, unsigned step,
                         unsigned tensor);
bool reducer_model_is_reduced(const struct reducer_model *model, unsigned step,
                              bool mean);

#endif
