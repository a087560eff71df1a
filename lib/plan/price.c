/* SPDX-License-Identifier: MIT
 *
 * The cost of a plan. Counts are exact, from the extents of the chunks that
 * move (the executor divides its buffers with the same function), so that tests
 * can compare them with the counters of a wire. Time follows the
 * alpha-beta-gamma model: in each step a rank sends and receives at the same
 * time, one message after another, and the slowest rank ends the step:
 *
 *     sum over steps of max over ranks of
 *         alpha * max(messages sent, received)
 *       + beta  * max(bytes sent, received)
 *       + gamma * bytes reduced, or copied inside the rank
 *
 * A run that overlaps steps and slices can be faster; bound.c has the lower
 * bounds.
 */
#include "index.h"

#include <stdlib.h>

/* The load of a rank in a step. */
struct load {
    uint64_t messages_sent, messages_received;
    uint64_t bytes_sent, bytes_received;
    uint64_t bytes_reduced;
    uint64_t bytes_copied; /* inside the rank */
};

struct pricing {
    const struct gw_plan *plan;
    size_t count;
    size_t elem_bytes;
    uint32_t *link; /* of each transfer */
    uint32_t links;
    uint32_t *used_step;  /* of each link: the last step, counted from 1 */
    uint64_t *used;       /* and the channels that it has used there */
    uint64_t *link_bytes; /* of each link */
    struct load *step;    /* of each rank, in this step; else zero */
    struct load *all;     /* of each rank, in all steps */
};

static uint64_t chunk_bytes(const struct gw_plan *plan, unsigned chunk,
                            size_t count, size_t elem_bytes)
{
    size_t offset, length;
    if (plan->collective == GW_BARRIER)
        return 0;
    gw_plan_extent(plan, chunk, count, elem_bytes, &offset, &length);
    return length * elem_bytes;
}

/* The first transfer of a step on this link and channel. */
static bool begins_message(uint64_t *channels, uint32_t *last_step,
                           uint32_t step, unsigned channel)
{
    uint64_t bit = (uint64_t)1 << channel;
    uint64_t before = *last_step == step + 1 ? *channels : 0;
    *last_step = step + 1;
    *channels = before | bit;
    return !(before & bit);
}

static void add_transfer(struct pricing *p, uint32_t step, size_t t)
{
    const struct gw_transfer *x = &p->plan->transfers[t];
    struct load *src = &p->step[x->src], *dst = &p->step[x->dst];
    uint64_t bytes = chunk_bytes(p->plan, x->chunk, p->count, p->elem_bytes);
    dst->bytes_reduced += x->action == GW_ADD ? bytes : 0;
    if (gw__is_local(x)) {
        dst->bytes_copied += x->action == GW_ADD ? 0 : bytes;
        return;
    }
    uint64_t *channels = &p->used[p->link[t]];
    bool message =
        begins_message(channels, &p->used_step[p->link[t]], step, x->channel);
    p->link_bytes[p->link[t]] += bytes;
    src->messages_sent += message;
    dst->messages_received += message;
    src->bytes_sent += bytes;
    dst->bytes_received += bytes;
}

static uint64_t larger_count(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

double gw_cost_model_us(const struct gw_cost_model *model, double messages,
                        double sent, double reduced)
{
    return model->alpha_us * messages + model->beta_us_per_byte * sent +
           model->gamma_us_per_byte * reduced;
}

static double load_us(const struct load *load,
                      const struct gw_cost_model *model)
{
    uint64_t messages =
        larger_count(load->messages_sent, load->messages_received);
    uint64_t bytes = larger_count(load->bytes_sent, load->bytes_received);
    return gw_cost_model_us(model, (double)messages, (double)bytes,
                            (double)(load->bytes_reduced + load->bytes_copied));
}

/* Adds a rank's load of the step to its total and clears it. */
static void add_step_load(struct load *step, struct load *all)
{
    all->messages_sent += step->messages_sent;
    all->messages_received += step->messages_received;
    all->bytes_sent += step->bytes_sent;
    all->bytes_received += step->bytes_received;
    all->bytes_reduced += step->bytes_reduced;
    *step = (struct load){0};
}

static double price_step(struct pricing *p, uint32_t step,
                         const struct gw_cost_model *model)
{
    const struct gw_plan *plan = p->plan;
    size_t begin = plan->step_begin[step], end = plan->step_begin[step + 1];
    double slowest = 0;
    for (size_t t = begin; t < end; t++)
        add_transfer(p, step, t);
    for (size_t t = begin; t < end; t++) {
        unsigned pair[] = {plan->transfers[t].src, plan->transfers[t].dst};
        for (int i = 0; i < 2; i++) {
            struct load *load = &p->step[pair[i]];
            double us = load_us(load, model);
            slowest = us > slowest ? us : slowest;
            add_step_load(load, &p->all[pair[i]]);
        }
    }
    return slowest;
}

static void sum_up(const struct pricing *p, struct gw_price *price)
{
    for (unsigned rank = 0; rank < p->plan->ranks; rank++) {
        const struct load *all = &p->all[rank];
        price->messages += all->messages_sent;
        price->bytes += all->bytes_sent;
        price->rank_messages_max =
            larger_count(price->rank_messages_max, all->messages_sent);
        price->rank_bytes_max =
            larger_count(price->rank_bytes_max, all->bytes_sent);
        price->rank_received_max =
            larger_count(price->rank_received_max, all->bytes_received);
        price->rank_reduced_max =
            larger_count(price->rank_reduced_max, all->bytes_reduced);
    }
    for (uint32_t link = 0; link < p->links; link++)
        price->link_bytes_max =
            larger_count(price->link_bytes_max, p->link_bytes[link]);
}

static enum gw_err check_size(const struct gw_plan *plan, size_t count,
                              size_t elem_bytes, struct gw_error *why)
{
    enum { ELEM_BYTES_MAX = 64 };
    uint64_t bytes;
    if (elem_bytes == 0 || elem_bytes > ELEM_BYTES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "an element must have 1 to %d bytes, not %zu",
                       ELEM_BYTES_MAX, elem_bytes);
    if (__builtin_mul_overflow(count, elem_bytes, &bytes) ||
        __builtin_mul_overflow(bytes, plan->transfer_count + 1, &bytes))
        return gw_fail(why, GW_EINVAL,
                       "%zu elements are more than a vector can have", count);
    return GW_OK;
}

enum gw_err gw_plan_price(const struct gw_plan *plan, size_t count,
                          size_t elem_bytes, const struct gw_cost_model *model,
                          struct gw_price *price, struct gw_error *why)
{
    enum gw_err err = check_size(plan, count, elem_bytes, why);
    if (err)
        return err;
    struct pricing p = {
        .plan = plan,
        .count = count,
        .elem_bytes = elem_bytes,
        .link = malloc((plan->transfer_count + 1) * sizeof *p.link),
        .step = calloc(plan->ranks, sizeof *p.step),
        .all = calloc(plan->ranks, sizeof *p.all),
    };
    *price = (struct gw_price){.rounds = plan->steps};
    bool room =
        p.link && p.step && p.all && gw__links_number(plan, p.link, &p.links);
    p.used = calloc((size_t)p.links + 1, sizeof *p.used);
    p.used_step = calloc((size_t)p.links + 1, sizeof *p.used_step);
    p.link_bytes = calloc((size_t)p.links + 1, sizeof *p.link_bytes);
    room = room && p.used && p.used_step && p.link_bytes;
    for (uint32_t step = 0; room && step < plan->steps; step++)
        price->predicted_us += price_step(&p, step, model);
    if (room)
        sum_up(&p, price);
    price->bound_us = plan->collective == GW_CUSTOM
                          ? gw__custom_bound_us(plan, count, elem_bytes, model)
                          : gw_bound_us(plan->collective, plan->ranks, count,
                                        elem_bytes, model);
    free(p.link_bytes);
    free(p.used);
    free(p.used_step);
    free(p.all);
    free(p.step);
    free(p.link);
    return room ? GW_OK
                : gw_fail(why, GW_ENOMEM, "price of %zu transfers",
                          plan->transfer_count);
}

/* While counting, messages[peer] holds the number of messages in its upper half
 * and the last one's step, counted from 1, in its lower half: all chunks to one
 * peer in a step and on a channel are one message. */
static void count_messages(const struct gw_plan *plan, unsigned rank,
                           unsigned channel, uint64_t *messages)
{
    for (uint32_t step = 0; step < plan->steps; step++) {
        size_t end = plan->step_begin[step + 1];
        for (size_t t = plan->step_begin[step]; t < end; t++) {
            const struct gw_transfer *x = &plan->transfers[t];
            uint64_t before = messages[x->dst];
            if (x->src == rank && !gw__is_local(x) && x->channel == channel &&
                (uint32_t)before != step + 1)
                messages[x->dst] = ((before >> 32) + 1) << 32 | (step + 1);
        }
    }
    for (unsigned peer = 0; peer < plan->ranks; peer++)
        messages[peer] &= ~(uint64_t)UINT32_MAX;
}

void gw_plan_price_rank(const struct gw_plan *plan, size_t count,
                        size_t elem_bytes, unsigned rank, uint64_t *messages,
                        uint64_t *bytes)
{
    for (unsigned peer = 0; peer < plan->ranks; peer++)
        messages[peer] = bytes[peer] = 0;
    for (size_t t = 0; t < plan->transfer_count; t++) {
        const struct gw_transfer *x = &plan->transfers[t];
        if (x->src == rank && !gw__is_local(x))
            bytes[x->dst] += chunk_bytes(plan, x->chunk, count, elem_bytes);
    }
    unsigned channels = gw__channels(plan);
    for (unsigned channel = 0; channel < channels; channel++)
        count_messages(plan, rank, channel, messages);
    for (unsigned peer = 0; peer < plan->ranks; peer++)
        messages[peer] >>= 32;
}
