/* SPDX-License-Identifier: MIT
 *
 * Encoding of clock commands and round commits, for logs and messages.
 */
#include "clock_parts.h"

#include <math.h>
#include <string.h>

/* ---- round commits ---- */

static void put_f32(struct gw__writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    gw__put_u32(w, bits);
}

static float get_f32(struct gw__reader *r)
{
    uint32_t bits = gw__get_u32(r);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void gw__put_round_commit(struct gw__writer *w,
                          const struct gw__round_commit *commit)
{
    gw__put_u64(w, commit->number);
    gw__put_u64(w, commit->mark);
    put_f32(w, commit->scale);
    gw__put_u16(w, commit->apply);
    gw__put_u16(w, commit->drop);
    for (unsigned i = 0; i < commit->apply + commit->drop; i++) {
        gw__put_node(w, commit->items[i].node);
        gw__put_u64(w, commit->items[i].incarnation);
        gw__put_u64(w, commit->items[i].clock);
    }
}

void gw__get_round_commit(struct gw__reader *r, struct gw__round_commit *commit)
{
    commit->number = gw__get_u64(r);
    commit->mark = gw__get_u64(r);
    commit->scale = get_f32(r);
    commit->apply = gw__get_u16_below(r, GW_PS_NODES + 1);
    commit->drop = gw__get_u16_below(r, GW_PS_NODES + 1 - commit->apply);
    gw__reader_demand(r, commit->number > 0 && commit->scale >= 0);
    for (unsigned i = 0; i < commit->apply + commit->drop; i++) {
        commit->items[i].node = gw__get_node(r);
        commit->items[i].incarnation = gw__get_u64(r);
        commit->items[i].clock = gw__get_u64(r);
    }
}

void gw__round_commit_copy(struct gw__round_commit *to,
                           const struct gw__round_commit *from)
{
    memcpy(to, from,
           offsetof(struct gw__round_commit, items) +
               (from->apply + from->drop) * sizeof *from->items);
}

/* ---- commands ---- */

void gw__put_mode(struct gw__writer *w, const struct gw_ps_mode *mode)
{
    gw__put_u8(w, mode->kind);
    gw__put_u32(w, mode->bound);
    gw__put_u8(w, mode->drop);
}

void gw__get_mode(struct gw__reader *r, struct gw_ps_mode *mode)
{
    mode->kind = (enum gw_ps_mode_kind)gw__get_u8_below(r, GW_PS_MODES);
    mode->bound = gw__get_u32(r);
    mode->drop = gw__get_bool(r);
}

void gw__put_plan(struct gw__writer *w, const struct gw_ps_plan *plan)
{
    gw__put_u64(w, plan->epochs);
    gw__put_u64(w, plan->batches);
    gw__put_u32(w, plan->parts);
    gw__put_u32(w, plan->workers);
    gw__put_u8(w, plan->has_until);
    gw__put_f64(w, plan->until);
}

void gw__get_plan(struct gw__reader *r, struct gw_ps_plan *plan)
{
    plan->epochs = gw__get_u64(r);
    plan->batches = gw__get_u64(r);
    plan->parts = gw__get_u32(r);
    plan->workers = gw__get_u32(r);
    plan->has_until = gw__get_bool(r);
    plan->until = gw__get_f64(r);
}

static void put_alive(struct gw__writer *w, struct gw__alive who)
{
    gw__put_node(w, who.node);
    gw__put_u64(w, who.incarnation);
}

static struct gw__alive get_alive(struct gw__reader *r)
{
    unsigned node = gw__get_node(r);
    return (struct gw__alive){node, gw__get_u64(r)};
}

size_t gw__clock_encode(const struct gw__clock_command *command, void *out,
                        size_t room)
{
    struct gw__writer w = gw__writer_on(out, room);
    gw__put_u8(&w, command->kind);
    gw__put_u64(&w, command->number);
    gw__put_u16(&w, command->count);
    if (command->kind == GW__CLOCK_NEXT || command->kind == GW__CLOCK_BARRIER)
        put_alive(&w, command->who);
    if (command->kind == GW__CLOCK_NEXT) {
        gw__put_f64(&w, command->sum);
        gw__put_f64(&w, command->weight);
    }
    if (command->kind == GW__CLOCK_PLAN || command->kind == GW__CLOCK_MODE)
        gw__put_mode(&w, &command->mode);
    if (command->kind == GW__CLOCK_PLAN)
        gw__put_plan(&w, &command->plan);
    for (unsigned i = 0;
         command->kind == GW__CLOCK_WORKERS && i < command->count; i++)
        put_alive(&w, command->alive[i]);
    return gw__writer_fits(&w) ? w.used : 0;
}

enum gw_err gw__clock_decode(const void *data, size_t bytes,
                             struct gw__clock_command *command,
                             struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    memset(command, 0, offsetof(struct gw__clock_command, alive));
    command->kind = (enum gw__clock_kind)gw__get_u8_below(&r, GW__CLOCK_KINDS);
    gw__reader_demand(&r, command->kind != 0);
    command->number = gw__get_u64(&r);
    command->count = gw__get_u16_below(&r, GW_PS_NODES + 1);
    if (command->kind == GW__CLOCK_NEXT || command->kind == GW__CLOCK_BARRIER)
        command->who = get_alive(&r);
    if (command->kind == GW__CLOCK_NEXT) {
        command->sum = gw__get_f64(&r);
        command->weight = gw__get_f64(&r);
        gw__reader_demand(&r, isfinite(command->sum) && command->weight >= 0);
    }
    if (command->kind == GW__CLOCK_PLAN || command->kind == GW__CLOCK_MODE)
        gw__get_mode(&r, &command->mode);
    if (command->kind == GW__CLOCK_PLAN)
        gw__get_plan(&r, &command->plan);
    for (unsigned i = 0;
         command->kind == GW__CLOCK_WORKERS && i < command->count; i++)
        command->alive[i] = get_alive(&r);
    if (!gw__reader_done(&r))
        return gw_fail(why, GW_EDATA, "malformed clock command of %zu bytes",
                       bytes);
    return GW_OK;
}
