/* SPDX-License-Identifier: MIT
 *
 * See reducer_model.h.
 */
#include "reducer_model.h"

const size_t reducer_counts[TENSORS] = {5, 300, 17, 64, 1, 1000, 33};
static const char *const names[TENSORS] = {"w1", "b1", "w2", "b2",
                                           "w3", "b3", "w4"};

void reducer_model_init(struct reducer_model *model, struct gw_comm *comm,
                        bool adjacent)
{
    size_t used = 0, gap = adjacent ? 0 : 3;
    *model = (struct reducer_model){.rank = gw_comm_rank(comm),
                                    .ranks = gw_comm_size(comm)};
    for (unsigned i = 0; i < TENSORS; i++)
        used += reducer_counts[i] + gap;
    model->memory = gw_alloc(used * sizeof(float), NULL);
    MUST(model->memory);
    used = 0;
    for (unsigned i = 0; i < TENSORS; i++) {
        model->tensors[i] = (struct gw_reducer_tensor){
            names[i], model->memory + used, reducer_counts[i]};
        used += reducer_counts[i] + gap;
    }
}

/* Divisible by the number of ranks, so that means are whole, too. */
static float value(const struct reducer_model *model, unsigned rank,
                   unsigned step, unsigned tensor, size_t k)
{
    return (float)(model->ranks *
                   ((rank + 1) * (tensor + 2) + (unsigned)(k % 7) + step));
}

void reducer_model_compute(const struct reducer_model *model, unsigned step,
                           unsigned tensor)
{
    float *data = model->tensors[tensor].data;
    for (size_t k = 0; k < reducer_counts[tensor]; k++)
        data[k] = value(model, model->rank, step, tensor, k);
}

bool reducer_model_is_reduced(const struct reducer_model *model, unsigned step,
                              bool mean)
{
    for (unsigned i = 0; i < TENSORS; i++)
        for (size_t k = 0; k < reducer_counts[i]; k++) {
            const float *data = model->tensors[i].data;
            float sum = 0;
            for (unsigned r = 0; r < model->ranks; r++)
                sum += value(model, r, step, i, k);
            if (data[k] != (mean ? sum / (float)model->ranks : sum))
                return false;
        }
    return true;
}

struct gw_reducer *reducer_model_reducer(struct gw_comm *comm,
                                         const struct reducer_model *model,
                                         enum gw_redop op, size_t bucket_bytes)
{
    const struct gw_reducer_config config = {.tensors = model->tensors,
                                             .tensor_count = TENSORS,
                                             .type = GW_F32,
                                             .op = op,
                                             .bucket_bytes = bucket_bytes,
                                             .first_bucket_bytes = 100};
    struct gw_reducer *reducer;
    struct gw_error why;
    MUST(gw_reducer_new(comm, &config, &reducer, &why) == GW_OK);
    return reducer;
}

void reducer_model_ready(struct gw_comm *comm, struct gw_reducer *reducer,
                         const struct reducer_model *model, unsigned step,
                         unsigned tensor)
{
    struct gw_error why;
    reducer_model_compute(model, step, tensor);
    MUST(gw_reducer_ready(reducer, tensor, &why) == GW_OK);
}

void reducer_model_fini(struct reducer_model *model,
                        struct gw_reducer **reducer)
{
    gw_reducer_free(reducer);
    gw_free(model->memory);
}
