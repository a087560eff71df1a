/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fastest layout of a network on a cluster, after MindSpore's automatic
 * parallelism: every mesh of the cluster's ranks, every mode of the data axis,
 * micro-batch and schedule, both orders, and every split of each operator with
 * parameters whose split the file leaves open. The search is exhaustive: a
 * layout that does not fit into the memory is not timed, and all others are
 * (gw_layout_simulate), which is cheap since few of their collectives differ.
 * The element-wise operators follow the tensors that they get.
 *
 * The best of each mesh and mode is kept: runners-up that differ only in a
 * micro-batch are not interesting.
 */
#include "layout_search.h"

#include "common/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct search {
    struct gw_layout_timer *timer;
    const struct search_space *space;
    struct search_result *result;
    struct gw_network network; /* with its own splits */
    unsigned row_room;
    struct search_row *row; /* of this mesh and mode */
    bool row_there;
};

/* ---- splits ---- */

static bool is_open(const struct gw_network *network, unsigned i)
{
    const struct gw_operator *op = &network->operators[i];
    return op->split == GW_SPLIT_AUTO && gw_operator_parameters(op) > 0;
}

static const enum gw_split splits[] = {GW_SPLIT_COLUMNS, GW_SPLIT_ROWS,
                                       GW_SPLIT_BATCH, GW_SPLIT_NONE};
enum { SPLITS = sizeof splits / sizeof *splits };

/* Assignment number `n` of splits, with one digit per open operator; false:
 * there are no more. Without a tensor axis there is one. */
static bool set_splits(struct search *s, unsigned tensor, unsigned n)
{
    const struct gw_network *network = s->space->network;
    for (unsigned i = 0; i < network->operator_count; i++) {
        if (!is_open(network, i) || tensor == 1)
            continue;
        s->network.operators[i].split = splits[n % SPLITS];
        n /= SPLITS;
    }
    return n == 0;
}

static void name_splits(const struct gw_layout *layout,
                        char text[SEARCH_SPLITS_TEXT])
{
    size_t used = 0;
    *text = 0;
    for (unsigned i = 0; i < layout->operator_count; i++) {
        const char *name = gw_split_name(layout->op_layouts[i].split);
        size_t length = strlen(name);
        if (layout->op_layouts[i].parameters == 0)
            continue;
        if (used + length + 2 > SEARCH_SPLITS_TEXT)
            return;
        if (used > 0)
            text[used++] = ',';
        memcpy(text + used, name, length + 1);
        used += length;
    }
}

/* ---- one layout ---- */

/* Better than the kept one: faster by more than rounding, so that of equal ones
 * the first stays, which has fewest micro-batches; or smaller, if neither fits.
 */
static bool is_better(const struct search_row *a, const struct search_row *b)
{
    if (a->fits != b->fits)
        return a->fits;
    return a->fits ? a->step_us < b->step_us * (1 - 1e-9)
                   : a->held_bytes < b->held_bytes;
}

static void keep_best(struct search *s, const struct search_row *row)
{
    if (!s->row_there || is_better(row, s->row))
        *s->row = *row;
    s->row_there = true;
}

/* The memory of the largest stage. */
static void weigh(const struct gw_layout *layout,
                  const struct gw_schedule *schedule, struct search_row *row)
{
    for (unsigned p = 0; p < layout->options.mesh.pipe; p++) {
        struct gw_layout_price price;
        gw_layout_price(layout, p, &price);
        uint64_t weights =
            price.parameter_bytes + price.gradient_bytes + price.gathered_bytes;
        uint64_t activations = gw_layout_peak_bytes(layout, schedule, p);
        uint64_t held = weights + price.optimiser_bytes + activations;
        if (held <= row->held_bytes)
            continue;
        row->held_bytes = held;
        row->weight_bytes = weights;
        row->state_bytes = price.optimiser_bytes;
        row->activation_bytes = activations;
    }
}

static enum gw_err time_order(struct search *s, const struct gw_layout *layout,
                              const struct gw_schedule *schedule,
                              struct search_row row, struct gw_error *why)
{
    struct gw_layout_time *time;
    if (gw_layout_simulate(s->timer, layout, schedule, row.order, &time, why))
        return why->code;
    row.step_us = time->step_us;
    row.compute_us = time->compute_us;
    row.tensor_us = time->tensor_us;
    row.data_us = time->data_us;
    row.idle_us = time->idle_us;
    gw_layout_time_destroy(&time);
    s->result->timed++;
    keep_best(s, &row);
    return GW_OK;
}

/* In both orders, unless they are equal. */
static enum gw_err evaluate_layout(struct search *s,
                                   const struct gw_layout *layout,
                                   const struct gw_schedule *schedule,
                                   struct gw_error *why)
{
    const struct gw_mesh *mesh = &layout->options.mesh;
    struct search_row row = {.options = layout->options,
                             .schedule = gw_schedule_find(schedule->name)->name,
                             .step_us = (double)NAN};
    name_splits(layout, row.splits);
    weigh(layout, schedule, &row);
    row.fits = s->space->memory == 0 || row.held_bytes <= s->space->memory;
    if (!row.fits) {
        s->result->too_large++;
        keep_best(s, &row);
        return GW_OK;
    }
    enum gw_err err = time_order(s, layout, schedule, row, why);
    row.order = GW_MESH_DATA;
    if (!err && mesh->data > 1 && mesh->tensor * mesh->pipe > 1)
        err = time_order(s, layout, schedule, row, why);
    return err;
}

static enum gw_err check_count(const struct search_result *result,
                               struct gw_error *why)
{
    if (result->timed + result->too_large + result->impossible <
        SEARCH_LAYOUTS_MAX)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "--search: more than %d layouts; set --mesh, --mode, "
                   "--micro or --schedule, or splits in the network's file",
                   SEARCH_LAYOUTS_MAX);
}

/* ---- the search ---- */

static enum gw_err search_splits(struct search *s,
                                 const struct gw_layout_options *options,
                                 const struct gw_schedule *schedule,
                                 struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned n = 0;
         !err && !interrupted && set_splits(s, options->mesh.tensor, n); n++) {
        struct gw_layout *layout;
        err = check_count(s->result, why);
        if (err)
            return err;
        err = gw_layout_new(&s->network, options, &layout, why);
        if (!err)
            err = evaluate_layout(s, layout, schedule, why);
        else if (err == GW_EINVAL)
            err = (s->result->impossible++, GW_OK);
        gw_layout_destroy(&layout);
    }
    return err;
}

/* One stage needs no choice of schedules: 1f1b has the least memory. */
static enum gw_err search_schedules(struct search *s,
                                    struct gw_layout_options options,
                                    struct gw_error *why)
{
    unsigned stages = options.mesh.pipe;
    const char *only = s->space->schedule ? s->space->schedule
                       : stages == 1      ? "1f1b"
                                          : NULL;
    enum gw_err err = GW_OK;
    for (const struct gw_schedule_kind *const *kind = gw_schedule_kinds();
         *kind && !err; kind++) {
        struct gw_schedule *schedule;
        if (only && strcmp((*kind)->name, only) != 0)
            continue;
        if (gw_schedule_make((*kind)->name, stages, options.micros,
                             (*kind)->chunks ? s->space->chunks : 0, &schedule,
                             why)) {
            s->result->impossible++;
            continue;
        }
        options.chunks = schedule->chunks;
        err = search_splits(s, &options, schedule, why);
        gw_schedule_destroy(&schedule);
    }
    return err;
}

static enum gw_err search_micros(struct search *s,
                                 struct gw_layout_options options,
                                 struct gw_error *why)
{
    unsigned rows = options.batch / options.mesh.data;
    enum gw_err err = GW_OK;
    for (unsigned m = 1; m <= rows && m <= GW_MICROS_MAX && !err; m++) {
        if (rows % m != 0 || (s->space->micros && m != s->space->micros))
            continue;
        options.micros = m;
        err = search_schedules(s, options, why);
    }
    return err;
}

static bool add_row(struct search *s)
{
    struct search_result *result = s->result;
    if (result->row_count == s->row_room) {
        unsigned room = s->row_room ? 2 * s->row_room : 16;
        void *moved = realloc(result->rows, room * sizeof *result->rows);
        if (!moved)
            return false;
        result->rows = moved;
        s->row_room = room;
    }
    s->row = &result->rows[result->row_count];
    s->row_there = false;
    return true;
}

/* With one data rank, all modes are replicated. */
static enum gw_err search_modes(struct search *s, struct gw_mesh mesh,
                                struct gw_error *why)
{
    const struct search_space *space = s->space;
    enum gw_err err = GW_OK;
    for (unsigned m = 0; m <= GW_DATA_SHARDED && !err; m++) {
        enum gw_data_mode mode = (enum gw_data_mode)m;
        if (space->mode ? strcmp(space->mode, gw_data_mode_name(mode)) != 0
                        : mesh.data == 1 && mode != GW_DATA_REPLICATED)
            continue;
        struct gw_layout_options options = {
            .mesh = mesh,
            .mode = mode,
            .shard_group = mode == GW_DATA_REPLICATED ? 0 : space->group,
            .batch = space->batch,
            .optimiser_words = space->optimiser_words,
        };
        if (!add_row(s))
            return gw_fail(why, GW_ENOMEM, "%u layouts", s->row_room);
        err = search_micros(s, options, why);
        s->row->found = s->result->row_count;
        s->result->row_count += s->row_there;
    }
    return err;
}

static enum gw_err search_meshes(struct search *s, struct gw_error *why)
{
    const struct search_space *space = s->space;
    enum gw_err err = GW_OK;
    if (space->mesh)
        return search_modes(s, *space->mesh, why);
    for (unsigned d = 1; d <= space->ranks; d++)
        for (unsigned t = 1; space->ranks % d == 0 && t <= space->ranks / d;
             t++) {
            unsigned pipe = space->ranks / d / t;
            if (space->ranks / d % t != 0 || err || interrupted)
                continue;
            progress("%ux%ux%u", d, t, pipe);
            err = search_modes(s, (struct gw_mesh){d, t, pipe}, why);
        }
    progress("%s", "");
    return err;
}

static int by_time(const void *a, const void *b)
{
    const struct search_row *x = a, *y = b;
    double by = x->fits != y->fits ? x->fits ? -1 : 1
                : x->fits          ? x->step_us - y->step_us
                          : (double)x->held_bytes - (double)y->held_bytes;
    if (by == 0)
        by = x->found - (double)y->found;
    return (by > 0) - (by < 0);
}

enum gw_err search_run(struct gw_layout_timer *timer,
                       const struct search_space *space,
                       struct search_result *result, struct gw_error *why)
{
    size_t bytes =
        space->network->operator_count * sizeof *space->network->operators;
    struct search s = {.timer = timer,
                       .space = space,
                       .result = result,
                       .network = *space->network};
    *result = (struct search_result){0};
    s.network.operators = malloc(bytes);
    if (!s.network.operators)
        return gw_fail(why, GW_ENOMEM, "a network");
    memcpy(s.network.operators, space->network->operators, bytes);
    enum gw_err err = search_meshes(&s, why);
    free(s.network.operators);
    if (!err && interrupted)
        err = gw_fail(why, GW_EINTR, "--search");
    if (!err && result->row_count == 0)
        err = gw_fail(why, GW_EINVAL,
                      "no layout of %u ranks is possible; use --mesh to see "
                      "the reason for one layout",
                      space->ranks);
    if (result->row_count > 0)
        qsort(result->rows, result->row_count, sizeof *result->rows, by_time);
    return err;
}

void search_result_fini(struct search_result *result)
{
    free(result->rows);
    *result = (struct search_result){0};
}
