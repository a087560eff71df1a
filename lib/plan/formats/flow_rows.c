/* SPDX-License-Identifier: MIT
 *
 * Finds a row for each value of a flow: the buffer of its rank, or scratch. As a
 * compiler allocates registers, it visits the values by level. A row is free
 * when its value has been read for the last time. A step reads before it
 * writes, so a row may be written in the step of its last read.
 *
 * Ranks that exchange several values in a step can then wait for each other in a
 * cycle. If the verifier finds one, all is done again in the strict way: a row is
 * written only after the step of its last read.
 *
 * A sum goes into the row of one of its operands, if nothing else reads that
 * later. Otherwise an operand is copied first. A result must end in the buffer;
 * one that found it in use is copied there at the end.
 */
#include "flow.h"

#include <stdlib.h>

/* A row of a rank and chunk. */
struct flow_row {
    uint32_t row;
    uint32_t value; /* the one that it has now, or none */
    uint32_t next;  /* the next row of this rank and chunk; 0: none */
};

struct flow_rows {
    struct gw__flow *flow;
    struct flow_row *rows; /* first the buffers: rank * chunks + chunk */
    size_t count, room;
    uint32_t *order; /* values by level */
};

static struct flow_row *buffer_of(const struct flow_rows *r,
                                  const struct gw__flow_value *v)
{
    return &r->rows[v->rank * (size_t)r->flow->shape.chunks + v->chunk];
}

/* May a value of this level be written here? */
static bool is_free(const struct flow_rows *r, const struct flow_row *row,
                    uint32_t level, uint32_t last_read)
{
    if (row->value == GW__NO_VALUE)
        return true;
    const struct gw__flow_value *now = &r->flow->values[row->value];
    bool over =
        r->flow->strict ? now->read < last_read : now->read <= last_read;
    return over && now->level < level && !now->continued;
}

static enum gw_err no_row(const struct flow_rows *r,
                          const struct gw__flow_value *v, struct gw_error *why)
{
    (void)r;
    return gw_fail(why, GW_EDATA,
                   "rank %u needs more than %d scratch for chunk %u", v->rank,
                   GW_SCRATCH_MAX, v->chunk);
}

/* Appends scratch to the rows of the value's rank and chunk. */
static enum gw_err add_scratch(struct flow_rows *r,
                               const struct gw__flow_value *v, uint32_t last,
                               uint32_t *made, struct gw_error *why)
{
    if (r->rows[last].row == GW_SCRATCH_MAX)
        return no_row(r, v, why);
    if (r->count == r->room) {
        void *moved = realloc(r->rows, 2 * r->room * sizeof *r->rows);
        if (!moved)
            return gw_fail(why, GW_ENOMEM, "rows of a schedule");
        r->rows = moved;
        r->room *= 2;
    }
    *made = (uint32_t)r->count++;
    r->rows[*made] =
        (struct flow_row){.row = r->rows[last].row + 1, .value = GW__NO_VALUE};
    r->rows[last].next = *made;
    return GW_OK;
}

/* A free row: the buffer first for results and for chunks that the rank does
 * not have to have, so that results find it free. */
static enum gw_err find_row(struct flow_rows *r, const struct gw__flow_value *v,
                            uint32_t last_read, uint32_t *found,
                            struct gw_error *why)
{
    uint32_t buffer = (uint32_t)(buffer_of(r, v) - r->rows), at = buffer;
    bool wanted = gw_plan_wants(&r->flow->shape, v->rank, v->chunk);
    if (v->output || !wanted)
        if (is_free(r, &r->rows[buffer], v->level, last_read)) {
            *found = buffer;
            return GW_OK;
        }
    while (r->rows[at].next) {
        at = r->rows[at].next;
        if (is_free(r, &r->rows[at], v->level, last_read)) {
            *found = at;
            return GW_OK;
        }
    }
    return add_scratch(r, v, at, found, why);
}

static uint16_t row_number(const struct gw__flow *flow, uint32_t value)
{
    return (uint16_t)flow->values[value].row;
}

/* The transfer of a value into a row of another's rank. */
static enum gw_err transfer_into(struct flow_rows *r, uint32_t half,
                                 uint32_t from, const struct gw__flow_value *to,
                                 enum gw_action action, struct gw_error *why)
{
    const struct gw__flow_value *source = &r->flow->values[from];
    bool local = source->rank == to->rank;
    struct gw_transfer transfer = {
        .src = (uint16_t)source->rank,
        .dst = (uint16_t)to->rank,
        .chunk = to->chunk & 0xffffff,
        .channel = local ? 0 : to->channel & 0x3fU,
        .action = (unsigned)action & 3U,
        .src_scratch = row_number(r->flow, from),
        .dst_scratch = (uint16_t)to->row,
    };
    return gw__flow_transfer(r->flow, half, &transfer, why);
}

static void occupy(struct flow_rows *r, uint32_t row, uint32_t value)
{
    r->flow->values[value].row = r->rows[row].row;
    r->rows[row].value = value;
}

static enum gw_err place_moved(struct flow_rows *r, uint32_t value,
                               struct gw_error *why)
{
    struct gw__flow_value *v = &r->flow->values[value];
    uint32_t row;
    enum gw_err err = find_row(r, v, v->level, &row, why);
    if (err)
        return err;
    occupy(r, row, value);
    return transfer_into(r, 2 * v->level, v->first, v, GW_REPLACE, why);
}

static uint32_t row_of(const struct flow_rows *r, uint32_t value)
{
    const struct gw__flow_value *v = &r->flow->values[value];
    uint32_t at = (uint32_t)(buffer_of(r, v) - r->rows);
    while (r->rows[at].row != v->row)
        at = r->rows[at].next;
    return at;
}

static enum gw_err place_sum(struct flow_rows *r, uint32_t value,
                             struct gw_error *why)
{
    struct gw__flow_value *v = &r->flow->values[value];
    uint32_t from = v->into == v->second ? v->first : v->second, row = 0;
    enum gw_err err = GW_OK;
    if (v->into != GW__NO_VALUE)
        row = row_of(r, v->into);
    else {
        err = find_row(r, v, v->level - 1, &row, why);
        v->row = err ? 0 : r->rows[row].row;
        if (!err)
            err = transfer_into(r, 2 * v->level - 1, v->first, v, GW_REPLACE,
                                why);
    }
    if (err)
        return err;
    occupy(r, row, value);
    return transfer_into(r, 2 * v->level, from, v, GW_ADD, why);
}

/* Copies a result to the buffer, when that is no longer read. */
static enum gw_err finish_result(struct flow_rows *r, uint32_t value,
                                 struct gw_error *why)
{
    const struct gw__flow *flow = r->flow;
    struct gw__flow_value to = flow->values[value];
    uint32_t before = buffer_of(r, &to)->value, level = to.level;
    if (to.row == 0)
        return GW_OK;
    if (before != GW__NO_VALUE && flow->values[before].read > level)
        level = flow->values[before].read;
    to.row = 0;
    return transfer_into(r, 2 * (level + 1), value, &to, GW_REPLACE, why);
}

/* Can a sum replace this operand in its row? Only one may. */
static bool may_replace(const struct gw__flow *flow,
                        const struct gw__flow_value *sum, uint32_t operand)
{
    const struct gw__flow_value *v = &flow->values[operand];
    bool alone = v->read < sum->level || !flow->strict || v->reads == 1;
    return v->rank == sum->rank && v->read <= sum->level && alone &&
           !v->continued;
}

/* A result rather replaces an input, which is in the buffer. */
static void choose_replaced(struct gw__flow *flow)
{
    for (size_t i = 0; i < flow->count; i++) {
        struct gw__flow_value *v = &flow->values[i];
        v->into = GW__NO_VALUE;
        v->row = 0;
        v->continued = false;
    }
    for (size_t i = 0; i < flow->count; i++) {
        struct gw__flow_value *v = &flow->values[i];
        if (v->second == GW__NO_VALUE)
            continue;
        bool first = may_replace(flow, v, v->first);
        bool second = may_replace(flow, v, v->second);
        bool input = v->output && flow->values[v->second].level == 0;
        if (!first && !second)
            continue;
        v->into = second && (!first || input) ? v->second : v->first;
        flow->values[v->into].continued = true;
    }
}

/* A counting sort; inputs come first, in their buffers. */
static bool sort_by_level(struct flow_rows *r)
{
    const struct gw__flow *flow = r->flow;
    uint32_t last = 0;
    for (size_t i = 0; i < flow->count; i++)
        last = flow->values[i].level > last ? flow->values[i].level : last;
    uint32_t *begin = calloc((size_t)last + 2, sizeof *begin);
    r->order = calloc(flow->count + 1, sizeof *r->order);
    for (size_t i = 0; begin && r->order && i < flow->count; i++)
        begin[flow->values[i].level + 1]++;
    for (uint32_t level = 0; begin && level < last; level++)
        begin[level + 1] += begin[level];
    for (size_t i = 0; begin && r->order && i < flow->count; i++)
        r->order[begin[flow->values[i].level]++] = (uint32_t)i;
    bool sorted = begin && r->order;
    free(begin);
    return sorted;
}

static enum gw_err place_all(struct flow_rows *r, struct gw_error *why)
{
    struct gw__flow *flow = r->flow;
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < flow->count && !err; i++) {
        uint32_t value = r->order[i];
        const struct gw__flow_value *v = &flow->values[value];
        if (v->first == GW__NO_VALUE)
            buffer_of(r, v)->value = value;
        else
            err = v->second == GW__NO_VALUE ? place_moved(r, value, why)
                                            : place_sum(r, value, why);
    }
    for (size_t i = 0; i < flow->count && !err; i++)
        if (flow->values[i].output)
            err = finish_result(r, (uint32_t)i, why);
    return err;
}

enum gw_err gw__flow_place(struct gw__flow *flow, struct gw_error *why)
{
    size_t cells = flow->shape.ranks * (size_t)flow->shape.chunks;
    struct flow_rows r = {.flow = flow,
                          .rows = malloc(cells * sizeof *r.rows),
                          .count = cells,
                          .room = cells};
    enum gw_err err = GW_ENOMEM;
    choose_replaced(flow);
    for (size_t i = 0; r.rows && i < cells; i++)
        r.rows[i] = (struct flow_row){.value = GW__NO_VALUE};
    if (r.rows && sort_by_level(&r))
        err = place_all(&r, why);
    else
        gw_fail(why, GW_ENOMEM, "rows of a schedule");
    free(r.order);
    free(r.rows);
    return err;
}
