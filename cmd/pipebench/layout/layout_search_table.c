/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of --search: the best layout of each mesh and mode, and the
 * disadvantage of each but the first: the part of the step with the largest
 * increase, or the largest part of the memory.
 */
#include "common/command.h"
#include "layout_search.h"

#include <stdio.h>

static const struct field fields[] = {
    {"position", NULL, FIELD_INTEGER, 0, false},
    {"mesh", NULL, FIELD_TEXT, 0, false},
    {"mode", NULL, FIELD_TEXT, 0, false},
    {"order", NULL, FIELD_TEXT, 0, false},
    {"splits", NULL, FIELD_TEXT, 0, false},
    {"micro", NULL, FIELD_INTEGER, 0, false},
    {"schedule", NULL, FIELD_TEXT, 0, false},
    {"step_us", "step us", FIELD_REAL, 2, false},
    {"compute_us", "compute us", FIELD_REAL, 2, true},
    {"tensor_us", "tensor us", FIELD_REAL, 2, true},
    {"data_us", "data us", FIELD_REAL, 2, true},
    {"idle_us", "idle us", FIELD_REAL, 2, true},
    {"held_bytes", "held bytes", FIELD_INTEGER, 0, false},
    {"why", NULL, FIELD_TEXT, 0, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

struct part {
    const char *name;
    double amount;
};

static const struct part *largest(const struct part *parts, unsigned count)
{
    const struct part *most = parts;
    for (unsigned i = 1; i < count; i++)
        if (parts[i].amount > most->amount)
            most = &parts[i];
    return most;
}

static void explain(const struct search_row *row, const struct search_row *best,
                    char text[64])
{
    const struct part times[] = {
        {"compute", row->compute_us - best->compute_us},
        {"tensor", row->tensor_us - best->tensor_us},
        {"data", row->data_us - best->data_us},
        {"idle", row->idle_us - best->idle_us},
    };
    const struct part held[] = {
        {"weights", (double)row->weight_bytes},
        {"optimiser", (double)row->state_bytes},
        {"activations", (double)row->activation_bytes},
    };
    const struct part *most = row->fits ? largest(times, 4) : largest(held, 3);
    if (row == best && row->fits)
        snprintf(text, 64, "fastest");
    else if (row->fits)
        snprintf(text, 64, "%s +%.2f us", most->name, most->amount);
    else
        snprintf(text, 64, "memory: %s %.0f", most->name, most->amount);
}

static void put_layout(struct output *output, unsigned place,
                       const struct search_row *row,
                       const struct search_row *best)
{
    char mesh[40], why[64];
    const struct gw_mesh *m = &row->options.mesh;
    snprintf(mesh, sizeof mesh, "%ux%ux%u", m->data, m->tensor, m->pipe);
    explain(row, best, why);
    output_row(output,
               (union value[FIELD_COUNT]){
                   {.integer = place},
                   {.text = mesh},
                   {.text = gw_data_mode_name(row->options.mode)},
                   {.text = row->fits ? gw_mesh_order_name(row->order) : NULL},
                   {.text = row->splits},
                   {.integer = row->options.micros},
                   {.text = row->schedule},
                   {.real = row->step_us},
                   {.real = row->fits ? row->compute_us : row->step_us},
                   {.real = row->fits ? row->tensor_us : row->step_us},
                   {.real = row->fits ? row->data_us : row->step_us},
                   {.real = row->fits ? row->idle_us : row->step_us},
                   {.integer = (int64_t)row->held_bytes},
                   {.text = why},
               });
}

static void put_notes(struct output *output, const struct search_space *space,
                      const struct search_result *result)
{
    output_note_text(output, "network", space->network->name);
    output_note_integer(output, "batch", space->batch);
    output_note_integer(output, "memory", (int64_t)space->memory);
    output_note_integer(output, "timed", result->timed);
    output_note_integer(output, "too_large", result->too_large);
    output_note_integer(output, "impossible", result->impossible);
}

static enum gw_err print_layouts(const struct layout_cluster *cluster,
                                 const struct gw_topology *topology,
                                 const struct search_space *space,
                                 const struct search_result *result,
                                 unsigned rows, struct gw_error *why)
{
    struct output *output;
    struct gw_error none = {0};
    const struct search_row *best = result->rows;
    if (output_begin("pipebench layout", common.output, fields, FIELD_COUNT,
                     &output, why))
        return why->code;
    put_notes(output, space, result);
    layout_cluster_notes(cluster, topology, output);
    output_collect(output);
    output_spare(output, "held_bytes schedule mode");
    for (unsigned i = 0; i < result->row_count && i < rows; i++)
        put_layout(output, i + 1, &best[i], best);
    if (!best->fits)
        gw_fail(&none, GW_EWRONG,
                "no layout fits in %llu bytes per rank; increase --memory (the "
                "smallest needs %llu)",
                (unsigned long long)space->memory,
                (unsigned long long)best->held_bytes);
    output_end(&output, none.code ? &none : NULL, false);
    return none.code ? (*why = none).code : GW_OK;
}

enum gw_err search_show(const struct layout_cluster *cluster,
                        const struct search_space *space, unsigned rows,
                        struct gw_error *why)
{
    struct gw_topology *topology = NULL;
    struct gw_layout_timer *timer = NULL;
    struct search_result result = {0};
    struct search_space whole = *space;
    enum gw_err err = layout_cluster_get(cluster, &topology, &timer, why);
    if (!err) {
        whole.ranks = gw_topology_ranks(topology);
        err = search_run(timer, &whole, &result, why);
    }
    if (!err)
        err = print_layouts(cluster, topology, &whole, &result, rows, why);
    search_result_fini(&result);
    gw_layout_timer_destroy(&timer);
    gw_topology_destroy(&topology);
    return err;
}
