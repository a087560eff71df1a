/* SPDX-License-Identifier: MIT
 *
 * Finds the step on which each step depends, and the send of each receive. The
 * n-th send from a gpu to another on a channel goes to the n-th receive there;
 * one thread block sends on a connection, and one receives.
 */
#include "msccl.h"

#include <stdlib.h>

/* One end of a connection: its key, and the thread block there. */
struct msccl_end {
    uint64_t key; /* sender, receiver, channel */
    uint32_t block;
};

static int compare_ends(const void *one, const void *other)
{
    const struct msccl_end *a = one, *b = other;
    if (a->key != b->key)
        return a->key > b->key ? 1 : -1;
    return (a->block > b->block) - (a->block < b->block);
}

/* ---- dependencies ---- */

static const struct gw__msccl_block *find_block(const struct gw__msccl *m,
                                                uint32_t gpu, int id)
{
    const struct gw__msccl_gpu *g = &m->gpus[gpu];
    for (uint32_t b = 0; b < g->block_count; b++)
        if (m->blocks[g->block_begin + b].id == (uint32_t)id)
            return &m->blocks[g->block_begin + b];
    return NULL;
}

/* A waiting thread block continues when a step that signals, the one that it
 * names or a later one, is done. */
static void find_signals(struct gw__msccl *m)
{
    for (uint32_t s = m->step_count; s-- > 0;) {
        struct gw__msccl_step *step = &m->steps[s];
        bool last =
            s + 1 == m->step_count || m->steps[s + 1].block != step->block;
        step->signal = step->signals ? s
                       : last        ? GW__MSCCL_NONE
                                     : m->steps[s + 1].signal;
    }
}

static enum gw_err link_dependency(struct gw__msccl *m, uint32_t step,
                                   struct gw_error *why)
{
    struct gw__msccl_step *s = &m->steps[step];
    if (s->dep_block < 0)
        return GW_OK;
    uint32_t gpu = m->blocks[s->block].gpu;
    const struct gw__msccl_block *on = find_block(m, gpu, s->dep_block);
    if (!on)
        return gw__msccl_refuse(m, step, why,
                                "depid=\"%d\": gpu %u has no such thread block",
                                s->dep_block, gpu);
    if (s->dep_step < 0 || (uint32_t)s->dep_step >= on->step_count)
        return gw__msccl_refuse(
            m, step, why,
            "depid=\"%d\" deps=\"%d\": tb %u has steps 0..%d, so the "
            "dependency does not exist",
            s->dep_block, s->dep_step, on->id, (int)on->step_count - 1);
    s->dependency = m->steps[on->step_begin + (uint32_t)s->dep_step].signal;
    if (s->dependency != GW__MSCCL_NONE)
        return GW_OK;
    return gw__msccl_refuse(
        m, step, why,
        "depends on step %d of tb %u, which has hasdep=\"0\" and never signals",
        s->dep_step, on->id);
}

/* ---- connections ---- */

static uint64_t connection_key(uint32_t src, uint32_t dst, unsigned channel)
{
    return ((uint64_t)src << 32 | dst) << 8 | channel;
}

static uint32_t count_steps(const struct gw__msccl *m, uint32_t block,
                            bool sends)
{
    const struct gw__msccl_block *b = &m->blocks[block];
    uint32_t count = 0;
    for (uint32_t s = 0; s < b->step_count; s++) {
        const struct gw__msccl_action *action =
            &gw__msccl_actions[m->steps[b->step_begin + s].type];
        count += sends ? action->sends : action->receives;
    }
    return count;
}

/* The ends of all connections that are used, sorted by key. */
static uint32_t list_ends(const struct gw__msccl *m, bool sends,
                          struct msccl_end *ends)
{
    uint32_t count = 0;
    for (uint32_t b = 0; b < m->block_count; b++) {
        const struct gw__msccl_block *block = &m->blocks[b];
        if (count_steps(m, b, sends) == 0)
            continue;
        uint32_t src = sends ? block->gpu : (uint32_t)block->recv;
        uint32_t dst = sends ? (uint32_t)block->send : block->gpu;
        ends[count++] =
            (struct msccl_end){connection_key(src, dst, block->channel), b};
    }
    qsort(ends, count, sizeof *ends, compare_ends);
    return count;
}

static uint32_t nth_step(const struct gw__msccl *m, uint32_t block, bool sends,
                         uint32_t n)
{
    const struct gw__msccl_block *b = &m->blocks[block];
    for (uint32_t s = b->step_begin; s < b->step_begin + b->step_count; s++) {
        const struct gw__msccl_action *action =
            &gw__msccl_actions[m->steps[s].type];
        if ((sends ? action->sends : action->receives) && n-- == 0)
            return s;
    }
    return GW__MSCCL_NONE;
}

static enum gw_err check_single(const struct gw__msccl *m,
                                const struct msccl_end *ends, uint32_t count,
                                bool sends, struct gw_error *why)
{
    for (uint32_t i = 1; i < count; i++) {
        if (ends[i].key != ends[i - 1].key)
            continue;
        const struct gw__msccl_block *block = &m->blocks[ends[i].block];
        return gw__msccl_refuse(m, nth_step(m, ends[i].block, sends, 0), why,
                                "tb %u already %s gpu %d on channel %u",
                                m->blocks[ends[i - 1].block].id,
                                sends ? "sends to" : "receives from",
                                sends ? block->send : block->recv,
                                block->channel);
    }
    return GW_OK;
}

/* A send without a receive, or a receive without a send. */
static enum gw_err refuse_unmatched(const struct gw__msccl *m, uint32_t block,
                                    bool sends, uint32_t n,
                                    struct gw_error *why)
{
    const struct gw__msccl_block *b = &m->blocks[block];
    return gw__msccl_refuse(
        m, nth_step(m, block, sends, n), why,
        sends ? "send without matching recv: gpu %d has no recv number %u from "
                "gpu %u on channel %u"
              : "recv without matching send: gpu %d has no send number %u to "
                "gpu %u on channel %u",
        sends ? b->send : b->recv, n, b->gpu, b->channel);
}

/* Walks both blocks of a connection; a finished one has no more such steps. */
static enum gw_err match_steps(struct gw__msccl *m, uint32_t sender,
                               uint32_t receiver, struct gw_error *why)
{
    const struct gw__msccl_block *from = &m->blocks[sender];
    const struct gw__msccl_block *to = &m->blocks[receiver];
    uint32_t at = from->step_begin, sent = 0;
    uint32_t end = at + from->step_count;
    for (uint32_t r = to->step_begin; r < to->step_begin + to->step_count;
         r++) {
        if (!gw__msccl_actions[m->steps[r].type].receives)
            continue;
        while (at < end && !gw__msccl_actions[m->steps[at].type].sends)
            at++;
        if (at == end)
            return refuse_unmatched(m, receiver, false, sent, why);
        if (m->steps[at].count != m->steps[r].count)
            return gw__msccl_refuse(
                m, r, why,
                "receives cnt=\"%u\", but step %u of tb %u on gpu %u sends "
                "cnt=\"%u\"",
                m->steps[r].count, m->steps[at].number, from->id, from->gpu,
                m->steps[at].count);
        m->steps[r].peer = at++;
        sent++;
    }
    return sent == count_steps(m, sender, true)
               ? GW_OK
               : refuse_unmatched(m, sender, true, sent, why);
}

static enum gw_err match_ends(struct gw__msccl *m, const struct msccl_end *out,
                              uint32_t outs, const struct msccl_end *in,
                              uint32_t ins, struct gw_error *why)
{
    enum gw_err err = check_single(m, out, outs, true, why);
    if (!err)
        err = check_single(m, in, ins, false, why);
    uint32_t o = 0, i = 0;
    while (!err && (o < outs || i < ins)) {
        if (i == ins || (o < outs && out[o].key < in[i].key))
            return refuse_unmatched(m, out[o].block, true, 0, why);
        if (o == outs || in[i].key < out[o].key)
            return refuse_unmatched(m, in[i].block, false, 0, why);
        err = match_steps(m, out[o++].block, in[i++].block, why);
    }
    return err;
}

enum gw_err gw__msccl_link(struct gw__msccl *m, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    find_signals(m);
    for (uint32_t s = 0; s < m->step_count && !err; s++)
        err = link_dependency(m, s, why);
    if (err)
        return err;
    struct msccl_end *out = calloc(m->block_count + 1, sizeof *out);
    struct msccl_end *in = calloc(m->block_count + 1, sizeof *in);
    if (out && in)
        err = match_ends(m, out, list_ends(m, true, out), in,
                         list_ends(m, false, in), why);
    else
        err = gw_fail(why, GW_ENOMEM, "%.200s", m->xml->name);
    free(in);
    free(out);
    return err;
}
