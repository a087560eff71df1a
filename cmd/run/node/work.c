/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions common to all kinds of work (work.h).
 */
#include "work.h"

#include <base/mix.h>

#include <stdlib.h>
#include <string.h>

enum gw_err work_load(const struct work_order *order, uint64_t seed,
                      struct work **out, struct gw_error *why)
{
    struct work *work = calloc(1, sizeof *work);
    enum gw_err code = GW_OK;
    *out = NULL;
    if (!work)
        return gw_fail(why, GW_ENOMEM, "no memory for the work");
    work->order = *order;
    work->state_bytes = sizeof(struct work_head);
    if (order->kind == WORK_TRAIN)
        code = work_train_load(work, seed, why);
    else if (work_is_whole(work))
        code = work_collective_load(work, why);
    else if (order->kind == WORK_OPS)
        code = work_ops_load(work, why);
    if (code)
        work_destroy(&work);
    *out = work;
    return code;
}

void work_destroy(struct work **work)
{
    struct work *w = *work;
    if (!w)
        return;
    gw_free(w->mine);
    gw_free(w->result);
    gw_sums_fini(&w->sums);
    gw_order_fini(&w->rows);
    gw_model_destroy(&w->model);
    gw__row_source_close(&w->train);
    gw_dataset_destroy(&w->test);
    free(w);
    *work = NULL;
}

void work_begin(const struct work *work, void *state)
{
    struct work_head *head = state;
    memset(state, 0, work->state_bytes);
    head->id = work->order.id;
    head->done = work->order.kind == WORK_NONE;
    if (work->order.kind == WORK_TRAIN)
        work_train_begin(work, state);
}

enum work_next work_next(const void *state)
{
    const struct work_head *head = state;
    if (head->step != head->checked && head->step % WORK_CHECK_STEPS == 0)
        return WORK_CHECK;
    return head->done ? WORK_TICK : WORK_STEP;
}

/* The least of x and of ~x: the least and the largest at once. */
static void contribute_digest(struct work *work, const void *state,
                              struct gw_ring_call *call)
{
    work->check[0] = gw_hash(state, work->state_bytes, 0);
    work->check[1] = ~work->check[0];
    *call = (struct gw_ring_call){.in = work->check,
                                  .count = 2,
                                  .type = GW_U64,
                                  .op = GW_MIN,
                                  .tag = WORK_CHECK};
}

/* Set by work_collective_evaluate. */
static void contribute_hash(const struct work *work, struct gw_ring_call *call)
{
    *call = (struct gw_ring_call){.in = work->check,
                                  .count = 1,
                                  .type = GW_U64,
                                  .op = GW_SUM,
                                  .tag = WORK_STEP};
}

enum gw_err work_contribute(struct work *work, const void *state, unsigned node,
                            unsigned place, struct gw_ring_call *call,
                            struct gw_error *why)
{
    enum gw_err code = GW_OK;
    if (work_next(state) == WORK_CHECK) {
        contribute_digest(work, state, call);
        return GW_OK;
    }
    if (work_is_whole(work)) {
        contribute_hash(work, call);
        return GW_OK;
    }
    if (work->order.kind == WORK_TRAIN)
        code = work_train_contribute(work, state, place, why);
    else
        work_ops_contribute(work, node);
    *call = (struct gw_ring_call){.in = work->mine,
                                  .count = work->count,
                                  .type = work->type,
                                  .op = GW_SUM,
                                  .tag = WORK_STEP};
    return code;
}

static void apply_check(struct work_head *head,
                        const struct gw_ring_result *result)
{
    const uint64_t *least = result->data;
    head->checked = head->step;
    head->unequal += least[0] != ~least[1];
}

static void apply_ops(const struct work *work, struct work_head *head,
                      const struct gw_ring_result *result)
{
    head->done = work->order.count != 0 && head->step >= work->order.count;
    if (work_is_whole(work))
        head->results =
            gw__mix_words(head->results, *(const uint64_t *)result->data, 0);
}

void work_apply(struct work *work, void *state,
                const struct gw_ring_result *result)
{
    struct work_head *head = state;
    if (result->tag == WORK_CHECK) {
        apply_check(head, result);
        return;
    }
    head->step++;
    if (work->order.kind == WORK_TRAIN)
        work_train_apply(work, state, result);
    else
        apply_ops(work, head, result);
}

void work_audit(const struct work *work, const void *state,
                struct node_status *status)
{
    status->data_bytes = work->data_bytes;
    status->sums_lost = work->sums_lost;
    status->sums_doubled = work->sums_doubled;
    status->wrong = work->wrong;
    status->data_epoch = status->samples_lost = status->samples_doubled = 0;
    if (work->order.kind != WORK_TRAIN)
        return;
    const struct gw_shards *shards = work_train_shards(work, state);
    status->data_epoch = shards->epoch;
    status->samples_lost = shards->lost * work->rows.batch;
    status->samples_doubled = shards->doubled * work->rows.batch;
}
