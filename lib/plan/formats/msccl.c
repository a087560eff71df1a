/* SPDX-License-Identifier: MIT
 *
 * From MSCCL's XML to a plan. A file that may be called both in place and out of
 * place is run both ways, and must be right both ways.
 */
#include "msccl.h"

#include "formats.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum gw_err run_flow(struct gw__msccl *m, bool in_place,
                            struct gw_plan **plan, struct gw_error *why)
{
    struct gw__flow flow;
    struct gw_error reason = {0};
    enum gw_err err = gw__flow_init(&flow, &m->shape, &reason);
    if (err)
        gw_wrap(&reason, err, "%.200s", m->xml->name);
    else
        err = gw__msccl_run(m, in_place, &flow, &reason);
    if (!err) {
        err = gw__flow_plan(&flow, m->name, plan, &reason);
        if (err)
            gw_wrap(&reason, err, "%.200s", m->xml->name);
    }
    gw__flow_fini(&flow);
    return err ? gw_fail(why, err, "%s", reason.text) : GW_OK;
}

/* A right file of ours keeps its plan. */
static enum gw_err prefer_own(const struct gw__msccl *m, struct gw_plan **plan,
                              struct gw_error *why)
{
    struct gw_plan *own;
    enum gw_err err = gw__msccl_recall(m, &own, why);
    if (err || own)
        gw_plan_destroy(plan);
    if (own)
        *plan = own;
    return err;
}

static enum gw_err run_both(struct gw__msccl *m, struct gw_plan **plan,
                            struct gw_error *why)
{
    if (m->shape.collective == GW_CUSTOM)
        return run_flow(m, m->one_buffer, plan, why);
    enum gw_err err = run_flow(m, m->in_place, plan, why);
    if (err || !m->in_place || !m->out_of_place)
        return err;
    struct gw_plan *other;
    err = run_flow(m, false, &other, why);
    if (err)
        gw_plan_destroy(plan);
    else
        gw_plan_destroy(&other);
    return err;
}

enum gw_err gw__msccl_import(const struct gw__xml *xml, struct gw_plan **plan,
                             struct gw_error *why)
{
    struct gw__msccl m = {.xml = xml};
    *plan = NULL;
    enum gw_err err = gw__msccl_read(xml, &m, why);
    if (!err)
        err = gw__msccl_link(&m, why);
    if (!err)
        err = gw__msccl_order(&m, why);
    if (!err && m.shape.collective == GW_CUSTOM)
        err = gw__msccl_custom(&m, why);
    if (!err)
        err = run_both(&m, plan, why);
    if (!err)
        err = prefer_own(&m, plan, why);
    gw__msccl_fini(&m);
    return err;
}

void gw__msccl_fini(struct gw__msccl *m)
{
    free(m->gpus);
    free(m->blocks);
    free(m->steps);
    free(m->order);
    free(m->ticks);
    free(m->custom_chunks);
    free(m->shape.conditions);
    *m = (struct gw__msccl){0};
}

enum gw_err gw__msccl_refuse(const struct gw__msccl *m, uint32_t step,
                             struct gw_error *why, const char *format, ...)
{
    const struct gw__msccl_step *s = &m->steps[step];
    const struct gw__msccl_block *block = &m->blocks[s->block];
    char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return gw_fail(why, GW_EDATA, "%.200s:%u: gpu %u, tb %u, step %u: %s",
                   m->xml->name, s->line, block->gpu, block->id, s->number,
                   reason);
}
