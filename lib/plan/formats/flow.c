/* SPDX-License-Identifier: MIT
 *
 * The values of a flow; see flow.h.
 */
#include "flow.h"

#include "plan/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 1 << 22, SET_WORDS_MAX = 1 << 24 };

static enum gw_err no_room(const struct gw__flow *flow, struct gw_error *why)
{
    return gw_fail(why, GW_ENOMEM, "a schedule of %u ranks", flow->shape.ranks);
}

static uint32_t *cell_at(const struct gw__flow *flow, uint32_t *cells,
                         unsigned rank, unsigned chunk)
{
    return &cells[rank * (size_t)flow->shape.chunks + chunk];
}

static uint64_t *set_of(const struct gw__flow *flow, uint32_t value)
{
    return &flow->sets[value * (size_t)flow->words];
}

static bool grow_values(struct gw__flow *flow)
{
    if (flow->count < flow->room)
        return true;
    size_t room = flow->room ? 2 * flow->room : 1024;
    void *values = realloc(flow->values, room * sizeof *flow->values);
    if (!values)
        return false;
    flow->values = values;
    void *sets =
        realloc(flow->sets, (room * flow->words + 1) * sizeof *flow->sets);
    if (!sets)
        return false;
    flow->sets = sets;
    flow->room = room;
    return true;
}

static enum gw_err new_value(struct gw__flow *flow,
                             const struct gw__flow_value *value, uint32_t *made,
                             struct gw_error *why)
{
    bool many = flow->count == GW__FLOW_VALUES_MAX ||
                (flow->count + 1) * flow->words > SET_WORDS_MAX;
    if (many)
        return gw_fail(why, GW_EDATA, "the schedule moves too many chunks");
    if (!grow_values(flow))
        return no_room(flow, why);
    *made = (uint32_t)flow->count++;
    flow->values[*made] = *value;
    flow->values[*made].read = value->level;
    flow->values[*made].into = GW__NO_VALUE;
    memset(set_of(flow, *made), 0, flow->words * sizeof *flow->sets);
    return GW_OK;
}

static enum gw_err add_inputs(struct gw__flow *flow, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned rank = 0; rank < flow->shape.ranks && !err; rank++)
        for (unsigned chunk = 0; chunk < flow->shape.chunks && !err; chunk++) {
            uint32_t *input = cell_at(flow, flow->inputs, rank, chunk);
            if (!gw_plan_holds(&flow->shape, rank, chunk))
                continue;
            struct gw__flow_value value = {.rank = rank,
                                           .chunk = chunk,
                                           .first = GW__NO_VALUE,
                                           .second = GW__NO_VALUE};
            err = new_value(flow, &value, input, why);
            if (!err && flow->words)
                set_of(flow, *input)[rank / 64] |= (uint64_t)1 << rank % 64;
        }
    return err;
}

enum gw_err gw__flow_init(struct gw__flow *flow, const struct gw_plan *shape,
                          struct gw_error *why)
{
    *flow = (struct gw__flow){.shape = *shape};
    if (!gw__chunks_fit(shape))
        return gw_fail(why, GW_EDATA, "%u chunks do not suit %s of %u ranks",
                       shape->chunks, gw_collective_name(shape->collective),
                       shape->ranks);
    size_t cells = shape->ranks * (size_t)shape->chunks;
    if (cells > CELLS_MAX)
        return gw_fail(why, GW_EDATA, "%u chunks on %u ranks are too many",
                       shape->chunks, shape->ranks);
    if (gw_collective_reduces(shape->collective))
        flow->words = (shape->ranks + 63) / 64;
    flow->inputs = malloc(cells * sizeof *flow->inputs);
    flow->outputs = malloc(cells * sizeof *flow->outputs);
    if (!flow->inputs || !flow->outputs)
        return no_room(flow, why);
    memset(flow->inputs, 0xff, cells * sizeof *flow->inputs);
    memset(flow->outputs, 0xff, cells * sizeof *flow->outputs);
    return add_inputs(flow, why);
}

void gw__flow_fini(struct gw__flow *flow)
{
    free(flow->values);
    free(flow->sets);
    free(flow->inputs);
    free(flow->outputs);
    free(flow->transfers);
    free(flow->levels);
    *flow = (struct gw__flow){0};
}

uint32_t gw__flow_input(const struct gw__flow *flow, unsigned rank,
                        unsigned chunk)
{
    return *cell_at(flow, flow->inputs, rank, chunk);
}

static void note_read(struct gw__flow *flow, uint32_t value, uint32_t level)
{
    struct gw__flow_value *v = &flow->values[value];
    assert(level > v->level);
    v->reads = level > v->read ? 1 : v->reads + (level == v->read);
    v->read = level > v->read ? level : v->read;
}

enum gw_err gw__flow_move(struct gw__flow *flow, uint32_t value, unsigned rank,
                          unsigned channel, uint32_t level, uint32_t *made,
                          struct gw_error *why)
{
    struct gw__flow_value moved = {.rank = rank,
                                   .chunk = flow->values[value].chunk,
                                   .first = value,
                                   .second = GW__NO_VALUE,
                                   .level = level,
                                   .channel = (uint8_t)channel};
    enum gw_err err = new_value(flow, &moved, made, why);
    if (err)
        return err;
    note_read(flow, value, level);
    memcpy(set_of(flow, *made), set_of(flow, value),
           flow->words * sizeof *flow->sets);
    return GW_OK;
}

enum gw_err gw__flow_add(struct gw__flow *flow, uint32_t first, uint32_t second,
                         unsigned channel, uint32_t level, uint32_t *made,
                         struct gw_error *why)
{
    struct gw__flow_value sum = {.rank = flow->values[first].rank,
                                 .chunk = flow->values[first].chunk,
                                 .first = first,
                                 .second = second,
                                 .level = level,
                                 .channel = (uint8_t)channel};
    assert(gw__flow_shared(flow, first, second) < 0);
    enum gw_err err = new_value(flow, &sum, made, why);
    if (err)
        return err;
    note_read(flow, first, level);
    note_read(flow, second, level);
    for (unsigned w = 0; w < flow->words; w++)
        set_of(flow, *made)[w] =
            set_of(flow, first)[w] | set_of(flow, second)[w];
    return GW_OK;
}

int gw__flow_shared(const struct gw__flow *flow, uint32_t a, uint32_t b)
{
    for (unsigned w = 0; w < flow->words; w++) {
        uint64_t shared = set_of(flow, a)[w] & set_of(flow, b)[w];
        if (shared)
            return (int)(w * 64) + __builtin_ctzll(shared);
    }
    return -1;
}

int gw__flow_lacking(const struct gw__flow *flow, uint32_t value)
{
    for (unsigned rank = 0; flow->words && rank < flow->shape.ranks; rank++)
        if (!(set_of(flow, value)[rank / 64] >> rank % 64 & 1) &&
            gw_plan_holds(&flow->shape, rank, flow->values[value].chunk))
            return (int)rank;
    return -1;
}

void gw__flow_output(struct gw__flow *flow, uint32_t value)
{
    struct gw__flow_value *v = &flow->values[value];
    v->output = true;
    v->read = UINT32_MAX;
    *cell_at(flow, flow->outputs, v->rank, v->chunk) = value;
}
