/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What collrun sim prints: the algorithms side by side, the fastest first; or
 * what each link has carried.
 */
#include "sim.h"

#include "common/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS_SHOWN = 8 };

static int faster(const void *a, const void *b)
{
    const struct sim_row *x = a, *y = b;
    double by = x->result->time_us - y->result->time_us;
    if (by != 0)
        return by < 0 ? -1 : 1;
    int algo = strcmp(x->algo, y->algo);
    return algo ? algo : (int)x->order - (int)y->order;
}

static void sort(struct sim_table *table)
{
    if (table->row_count > 0)
        qsort(table->rows, table->row_count, sizeof *table->rows, faster);
}

static void notes(struct output *output, const struct sim_table *table)
{
    const struct gw_topology *t = table->topology;
    output_note_text(output, "op", gw_collective_name(table->collective));
    output_note_text(output, "topology", gw_topology_name(t));
    output_note_integer(output, "racks", gw_topology_racks(t));
    output_note_integer(output, "hosts", gw_topology_hosts(t));
    output_note_text(output, "dtype", table->dtype);
    output_note_integer(output, "ranks", table->ranks);
    output_note_integer(
        output, "bytes",
        table->collective == GW_BARRIER ? 0 : (int64_t)table->bytes);
    output_note_integer(output, "count", (int64_t)table->count);
    output_note_real(output, "alpha_us", table->message_us);
    output_note_integer(output, "reduce_rate", (int64_t)table->reduce_rate);
}

/* As a multiple of a rank's buffer. */
static double buffers(const struct sim_table *table, uint64_t bytes)
{
    return table->bytes ? (double)bytes / (double)table->bytes : 0;
}

/* ---- a row an algorithm and order ---- */

static const struct field fields[] = {
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"order", NULL, FIELD_TEXT, 0, false},
    {"rounds", NULL, FIELD_INTEGER, 0, false},
    {"messages", NULL, FIELD_INTEGER, 0, true},
    {"total_bytes", NULL, FIELD_INTEGER, 0, true},
    {"uplink_bytes", "uplink", FIELD_INTEGER, 0, false},
    {"uplink_buffers", "of buffer", FIELD_REAL, 4, false},
    {"uplink_percent", "% used", FIELD_REAL, 1, false},
    {"uplinks_bytes", "all uplinks", FIELD_INTEGER, 0, true},
    {"time_us", "time us", FIELD_REAL, 2, false},
    {"times_best", "x best", FIELD_REAL, 2, false},
};

/* Of the uplink that is used most. */
static double uplink_percent(const struct sim_table *table,
                             const struct gw_topology_result *result)
{
    double most = 0;
    for (unsigned i = 0; i < result->links; i++) {
        struct gw_topology_link link;
        gw_topology_link(table->topology, i, &link);
        double use = gw_topology_use(table->topology, result, i);
        if (gw_topology_is_shared(&link) && use > most)
            most = use;
    }
    return 100 * most;
}

static void print_row(struct output *output, const struct sim_table *table,
                      const struct sim_row *row)
{
    const struct gw_topology_result *r = row->result;
    double best = table->rows[0].result->time_us;
    output_row(output, (union value[]){
                           {.text = row->algo},
                           {.text = gw_rank_order_name(row->order)},
                           {.integer = r->rounds},
                           {.integer = (int64_t)r->messages},
                           {.integer = (int64_t)r->bytes},
                           {.integer = (int64_t)r->uplink_bytes_max},
                           {.real = buffers(table, r->uplink_bytes_max)},
                           {.real = uplink_percent(table, r)},
                           {.integer = (int64_t)r->uplink_bytes},
                           {.real = r->time_us},
                           {.real = best > 0 ? r->time_us / best : 1},
                       });
}

/* The last messages that waited for each other, in the order of time. */
static void note_path(struct output *output,
                      const struct gw_topology_result *result)
{
    char text[512];
    unsigned hops = result->hops < HOPS_SHOWN ? result->hops : HOPS_SHOWN;
    int used = snprintf(text, sizeof text, "%s",
                        result->hops > HOPS_SHOWN ? "..., " : "");
    for (unsigned i = hops; i-- > 0;) {
        const struct gw_topology_hop *hop = &result->hop[i];
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "step %u %u>%u%s",
                     hop->step, hop->src, hop->dst, i ? ", " : "");
    }
    if (hops > 0)
        output_note_text(output, "critical_path", text);
}

static int end(struct output *output)
{
    output_end(&output, NULL, interrupted != 0);
    return interrupted ? gw_err_exit(GW_EINTR) : 0;
}

int sim_print(struct sim_table *table)
{
    struct gw_error why;
    struct output *output;
    if (output_begin("collrun sim", common.output, fields,
                     sizeof fields / sizeof *fields, &output, &why))
        return complain(&why);
    sort(table);
    notes(output, table);
    output_collect(output);
    output_spare(output, "rounds uplink_buffers times_best uplink_percent "
                         "uplink_bytes");
    for (size_t i = 0; i < table->row_count; i++)
        print_row(output, table, &table->rows[i]);
    if (table->row_count == 1)
        note_path(output, table->rows[0].result);
    return end(output);
}

/* ---- a row a link ---- */

static const struct field link_fields[] = {
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"order", NULL, FIELD_TEXT, 0, false},
    {"link", NULL, FIELD_TEXT, 0, false},
    {"rate", "bytes/s", FIELD_INTEGER, 0, false},
    {"latency_us", "latency us", FIELD_REAL, 2, true},
    {"link_bytes", "bytes", FIELD_INTEGER, 0, false},
    {"link_buffers", "of buffer", FIELD_REAL, 4, false},
    {"link_percent", "% used", FIELD_REAL, 1, false},
};

static void print_link(struct output *output, const struct sim_table *table,
                       const struct sim_row *row, unsigned index)
{
    char name[64];
    struct gw_topology_link link;
    uint64_t bytes = row->result->link_bytes[index];
    gw_topology_link(table->topology, index, &link);
    gw_topology_link_name(table->topology, index, name);
    if (!gw_topology_is_shared(&link) && (bytes == 0 || !common.verbose))
        return;
    double use = gw_topology_use(table->topology, row->result, index);
    output_row(output, (union value[]){
                           {.text = row->algo},
                           {.text = gw_rank_order_name(row->order)},
                           {.text = name},
                           {.integer = (int64_t)link.rate},
                           {.real = (double)link.latency_ns / 1e3},
                           {.integer = (int64_t)bytes},
                           {.real = buffers(table, bytes)},
                           {.real = 100 * use},
                       });
}

int sim_print_links(struct sim_table *table)
{
    struct gw_error why;
    struct output *output;
    if (output_begin("collrun sim links", common.output, link_fields,
                     sizeof link_fields / sizeof *link_fields, &output, &why))
        return complain(&why);
    sort(table);
    notes(output, table);
    output_collect(output);
    for (size_t i = 0; i < table->row_count; i++)
        for (unsigned l = 0; l < table->rows[i].result->links; l++)
            print_link(output, table, &table->rows[i], l);
    return end(output);
}
