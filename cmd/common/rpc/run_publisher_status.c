/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of an announced run and its status (run_publisher_parts.h).
 */
#include "run_publisher_parts.h"

static void on_stage(struct published_pipeline *p, const struct gw_event *e)
{
    if (e->step == 0 || e->step > PUBLISHED_STAGES_MAX || e->peer >= e->step)
        return;
    if (p->stages != e->step) { /* another pipeline */
        p->step = GW_NONE;
        for (unsigned s = 0; s < PUBLISHED_STAGES_MAX; s++)
            p->ranks[s] = GW_NONE;
    }
    p->stages = e->step;
    p->micros = e->op;
    p->chunks = e->chunk;
    p->predicted_ns = e->value;
    p->ranks[e->peer] = e->rank;
}

void published_run_event(struct published_run *published,
                         const struct gw_event *event)
{
    struct published_pipeline *p = &published->pipeline;
    if (event->kind == GW_EV_STAGE)
        on_stage(p, event);
    else if (event->kind == GW_EV_PASS_BEGIN && p->stages > 0 &&
             (p->step == GW_NONE || event->step > p->step))
        p->step = event->step;
}

static json_t *pipeline_json(const struct published_pipeline *p)
{
    json_t *ranks = json_array();
    if (p->stages == 0) {
        json_decref(ranks);
        return json_null();
    }
    for (unsigned s = 0; s < p->stages; s++)
        json_array_append_new(ranks, p->ranks[s] == GW_NONE
                                         ? json_null()
                                         : json_integer(p->ranks[s]));
    return json_pack("{s:i, s:i, s:i, s:I, s:o}", "stages", (int)p->stages,
                     "micros", (int)p->micros, "chunks", (int)p->chunks,
                     "predicted_ns", (json_int_t)p->predicted_ns, "ranks",
                     ranks);
}

json_t *published_run_json(const struct published_run *a, const char *state)
{
    const struct published_pipeline *p = &a->pipeline;
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:[s, s], s:o, s:i, s:I, "
        "s:[]}",
        "run", a->run, "tool", a->tool, "state", state, "command",
        json_string_nocheck(a->command), "version", GW_VERSION, "seed",
        (json_int_t)a->seed, "pid", (json_int_t)a->pid, "step",
        (json_int_t)(p->step == GW_NONE ? 0 : p->step), "verbs", "hello",
        "status", "pipeline", pipeline_json(p), "alive", (int)p->stages,
        "events_dropped", (json_int_t)a->dropped, "nodes");
}
