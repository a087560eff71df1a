/* SPDX-License-Identifier: MIT
 *
 * The plan in MSCCL's XML that collrun export has written: the attribute `plan`
 * of <algo> is its header, that of a step its transfer (recall.h). The file has
 * been run and is right. If a transfer does not agree with its step, or one is
 * missing, the file was changed, and the attributes do not count.
 */
#include "msccl.h"

#include "recall.h"

#include <stdlib.h>
#include <string.h>

static bool has_note(const struct gw__msccl_step *s)
{
    return gw__msccl_actions[s->type].sends ||
           ((s->type == GW__MSCCL_COPY || s->type == GW__MSCCL_REDUCE) &&
            s->plan);
}

/* The steps that begin a transfer, in the order of `notes`. */
static bool list_notes(const struct gw__msccl *m, struct gw__note *notes,
                       size_t *count)
{
    *count = 0;
    for (uint32_t i = 0; i < m->step_count; i++) {
        const struct gw__msccl_step *s = &m->steps[i];
        if (!has_note(s))
            continue;
        if (!s->plan ||
            !gw__note_parse(s->plan, strlen(s->plan), &notes[*count]))
            return false;
        ++*count;
    }
    return true;
}

static bool agrees(const struct gw__msccl *m, const struct gw__msccl_step *s,
                   const struct gw_transfer *x)
{
    const struct gw__msccl_block *block = &m->blocks[s->block];
    bool sends = gw__msccl_actions[s->type].sends;
    unsigned peer = sends ? (unsigned)block->send : block->gpu;
    return x->src == block->gpu && x->dst == peer && s->count == 1 &&
           (!sends || x->channel == block->channel);
}

static bool all_agree(const struct gw__msccl *m, const struct gw_plan *plan)
{
    if (plan->ranks != m->shape.ranks || plan->chunks != m->shape.chunks ||
        plan->collective != m->shape.collective || plan->root != m->shape.root)
        return false;
    for (uint32_t i = 0; i < m->step_count; i++) {
        const struct gw__msccl_step *s = &m->steps[i];
        struct gw__note note;
        if (has_note(s) && (!gw__note_parse(s->plan, strlen(s->plan), &note) ||
                            note.index >= plan->transfer_count ||
                            !agrees(m, s, &plan->transfers[note.index])))
            return false;
    }
    return true;
}

enum gw_err gw__msccl_recall(const struct gw__msccl *m, struct gw_plan **plan,
                             struct gw_error *why)
{
    const char *header = gw__xml_value(m->xml, 0, "plan");
    size_t count;
    *plan = NULL;
    if (!header)
        return GW_OK;
    struct gw__note *notes = calloc(m->step_count + 1, sizeof *notes);
    if (!notes)
        return gw_fail(why, GW_ENOMEM, "%.200s", m->xml->name);
    enum gw_err err = GW_OK;
    if (list_notes(m, notes, &count))
        err = gw__recall(header, strlen(header), notes, count, m->xml->name,
                         plan, why);
    free(notes);
    if (*plan && !all_agree(m, *plan))
        gw_plan_destroy(plan);
    return err == GW_ENOMEM ? err : GW_OK;
}
