/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench layout --topo: a step on a cluster in virtual time, for both orders
 * of the mesh (gw_layout_simulate has the model). First each collective and
 * message, then the times of the step, then the memory of the largest rank,
 * then the busiest link of each kind.
 */
#include "common/cluster.h"
#include "common/command.h"
#include "layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A multiplication comes with an addition. */
enum { FLOPS_OF_WORK = 2, ORDERS = 2 };

static const struct field fields[] = {
    {"kind", NULL, FIELD_TEXT, 0, false},
    {"what", NULL, FIELD_TEXT, 0, false},
    {"stage", NULL, FIELD_REAL, 0, false},
    {"line", NULL, FIELD_REAL, 0, true},
    {"along", NULL, FIELD_TEXT, 0, true},
    {"calls", NULL, FIELD_REAL, 0, false},
    {"model_algo", NULL, FIELD_TEXT, 0, true},
    {"model_bytes", "model bytes", FIELD_REAL, 0, false},
    {"model_us", "model us", FIELD_REAL, 2, false},
    {"data_algo", NULL, FIELD_TEXT, 0, true},
    {"data_bytes", "data bytes", FIELD_REAL, 0, false},
    {"data_us", "data us", FIELD_REAL, 2, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

struct row {
    const char *kind, *what, *along, *algo[ORDERS];
    double stage, line, calls, bytes[ORDERS], us[ORDERS]; /* NAN: none */
};

struct both {
    struct output *output;
    const struct gw_topology *topology;
    const struct gw_layout *layout;
    struct gw_layout_time *time[ORDERS];
};

enum gw_err layout_cluster_get(const struct layout_cluster *cluster,
                               struct gw_topology **topology,
                               struct gw_layout_timer **timer,
                               struct gw_error *why)
{
    struct gw_layout_costs costs = {
        .work_per_us = cluster->tflops * 1e6 / FLOPS_OF_WORK,
        .message_us = (double)cluster->alpha_ns / 1e3,
        .reduce_us_per_byte =
            cluster->reduce_rate ? 1e6 / (double)cluster->reduce_rate : 0,
    };
    *timer = NULL;
    enum gw_err err = cluster_get(cluster->topo, 0, topology, why);
    if (!err && cluster->without)
        err = gw_topology_leave_out(*topology, cluster->without, why);
    if (!err)
        err = layout_algo(cluster->algo,
                          cluster->ranks ? cluster->ranks
                                         : gw_topology_ranks(*topology),
                          &costs.allreduce, why);
    return err ? err : gw_layout_timer_new(*topology, &costs, timer, why);
}

void layout_cluster_notes(const struct layout_cluster *cluster,
                          const struct gw_topology *topology,
                          struct output *output)
{
    output_note_text(output, "topology", gw_topology_name(topology));
    if (cluster->without)
        output_note_text(output, "without", cluster->without);
    output_note_integer(output, "ranks", gw_topology_ranks(topology));
    output_note_real(output, "tflops", cluster->tflops);
    output_note_real(output, "alpha_us", (double)cluster->alpha_ns / 1e3);
    output_note_integer(output, "reduce_rate", (int64_t)cluster->reduce_rate);
    if (cluster->algo)
        output_note_text(output, "algo", cluster->algo);
}

/* ---- rows ---- */

static struct row topology_row(const char *kind, const char *what)
{
    const double none = (double)NAN;
    return (struct row){.kind = kind,
                        .what = what,
                        .stage = none,
                        .line = none,
                        .calls = none,
                        .bytes = {none, none},
                        .us = {none, none}};
}

static void put_layout_row(const struct both *both, const struct row *row)
{
    output_row(both->output, (union value[FIELD_COUNT]){
                                 {.text = row->kind},
                                 {.text = row->what},
                                 {.real = row->stage},
                                 {.real = row->line},
                                 {.text = row->along},
                                 {.real = row->calls},
                                 {.text = row->algo[0]},
                                 {.real = row->bytes[0]},
                                 {.real = row->us[0]},
                                 {.text = row->algo[1]},
                                 {.real = row->bytes[1]},
                                 {.real = row->us[1]},
                             });
}

/* Both orders make the same calls, one after the other. */
static void put_calls(const struct both *both)
{
    for (unsigned i = 0; i < both->time[0]->call_count; i++) {
        const struct gw_layout_call *call = &both->time[0]->calls[i];
        struct row row = topology_row(call->kind, call->what);
        row.along = call->axis == 'T'   ? "tensor"
                    : call->axis == 'D' ? "data"
                                        : "pipe";
        if (call->stage != GW_NONE)
            row.stage = call->stage;
        if (call->index != GW_NONE)
            row.line = both->layout->network->operators[call->index].line;
        row.calls = call->calls;
        for (unsigned o = 0; o < ORDERS; o++) {
            const struct gw_layout_call *one = &both->time[o]->calls[i];
            row.algo[o] = layout_algo_label(one);
            row.bytes[o] = (double)one->bytes;
            row.us[o] = one->time_us;
        }
        put_layout_row(both, &row);
    }
}

static void put_times(const struct both *both)
{
    const struct gw_layout_time *model = both->time[0], *data = both->time[1];
    const struct {
        const char *what;
        double us[ORDERS];
    } parts[] = {
        {"compute", {model->compute_us, data->compute_us}},
        {"tensor", {model->tensor_us, data->tensor_us}},
        {"data", {model->data_us, data->data_us}},
        {"idle", {model->idle_us, data->idle_us}},
        {"whole", {model->step_us, data->step_us}},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct row row = topology_row("step", parts[i].what);
        memcpy(row.us, parts[i].us, sizeof row.us);
        put_layout_row(both, &row);
    }
}

static void put_held(const struct both *both,
                     const struct gw_schedule *schedule)
{
    const struct gw_layout_time *time = both->time[0];
    struct layout_held held;
    layout_held(both->layout, schedule, time->held_stage, &held);
    for (unsigned i = 0; i <= LAYOUT_HELD_PARTS; i++) {
        bool part = i < LAYOUT_HELD_PARTS;
        struct row row =
            topology_row("held", part ? held.parts[i].what : "whole");
        row.stage = time->held_stage;
        row.bytes[0] = row.bytes[1] =
            (double)(part ? held.parts[i].bytes : held.bytes);
        put_layout_row(both, &row);
    }
}

/* ---- links ---- */

static const char *kind_of(const struct gw_topology_link *link)
{
    static const char *const kinds[] = {"nic", "inner", "uplink", "trunk"};
    return link->word ? link->word : kinds[link->kind];
}

/* A row for the busiest link of each kind, at the first link of that kind. */
static void put_busiest(const struct both *both, unsigned index)
{
    struct gw_topology_link first, link;
    uint64_t most[ORDERS] = {0};
    gw_topology_link(both->topology, index, &first);
    for (unsigned i = 0; i < both->time[0]->links; i++) {
        gw_topology_link(both->topology, i, &link);
        if (strcmp(kind_of(&link), kind_of(&first)) != 0)
            continue;
        if (i < index)
            return;
        for (unsigned o = 0; o < ORDERS; o++)
            if (both->time[o]->link_bytes[i] > most[o])
                most[o] = both->time[o]->link_bytes[i];
    }
    struct row row = topology_row("link", kind_of(&first));
    for (unsigned o = 0; o < ORDERS; o++)
        row.bytes[o] = (double)most[o];
    if (first.word || row.bytes[0] + row.bytes[1] > 0)
        put_layout_row(both, &row);
}

static void put_links(const struct both *both, bool each)
{
    char name[64];
    for (unsigned i = 0; i < both->time[0]->links; i++) {
        if (!each) {
            put_busiest(both, i);
            continue;
        }
        gw_topology_link_name(both->topology, i, name);
        struct row row = topology_row("link", name);
        for (unsigned o = 0; o < ORDERS; o++)
            row.bytes[o] = (double)both->time[o]->link_bytes[i];
        if (row.bytes[0] + row.bytes[1] > 0)
            put_layout_row(both, &row);
    }
}

/* ---- the document ---- */

static void note_better(const struct both *both)
{
    double model = both->time[0]->step_us, data = both->time[1]->step_us;
    bool alike = fabs(model - data) <= 1e-6 * model;
    output_note_text(both->output, "faster_order",
                     alike          ? "neither"
                     : model < data ? "model"
                                    : "data");
    output_note_real(both->output, "times_faster",
                     model < data ? data / model : model / data);
}

static enum gw_err print_rows(struct both *both,
                              const struct layout_cluster *cluster,
                              const struct gw_schedule *schedule,
                              struct gw_error *why)
{
    if (output_begin("pipebench layout", common.output, fields, FIELD_COUNT,
                     &both->output, why))
        return why->code;
    layout_notes(both->output, both->layout);
    output_note_text(both->output, "schedule", schedule->name);
    layout_cluster_notes(cluster, both->topology, both->output);
    output_collect(both->output);
    put_calls(both);
    put_times(both);
    put_held(both, schedule);
    put_links(both, cluster->links);
    note_better(both);
    output_end(&both->output, NULL, false);
    return GW_OK;
}

enum gw_err layout_time_show(const struct layout_cluster *cluster,
                             const struct gw_layout *layout,
                             const struct gw_schedule *schedule,
                             struct gw_error *why)
{
    struct gw_topology *topology = NULL;
    struct gw_layout_timer *timer = NULL;
    struct both both = {.layout = layout};
    enum gw_err err = layout_cluster_get(cluster, &topology, &timer, why);
    both.topology = topology;
    for (unsigned o = 0; o < ORDERS && !err; o++)
        err = gw_layout_simulate(timer, layout, schedule, (enum gw_mesh_order)o,
                                 &both.time[o], why);
    if (!err)
        err = print_rows(&both, cluster, schedule, why);
    for (unsigned o = 0; o < ORDERS; o++)
        gw_layout_time_destroy(&both.time[o]);
    gw_layout_timer_destroy(&timer);
    gw_topology_destroy(&topology);
    return err;
}
