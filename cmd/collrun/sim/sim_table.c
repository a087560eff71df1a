/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of collrun sim: the algorithms in one table, the fastest first; or
 * the traffic of each link; or the routes. If the topology names kinds of
 * links, each kind has a column: the traffic of its busiest link in one
 * direction.
 */
#include "sim.h"

#include "common/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS_SHOWN = 8, KINDS_MAX = 16 };

static int faster(const void *a, const void *b)
{
    const struct sim_row *x = a, *y = b;
    double by = x->result->time_us - y->result->time_us;
    if (by != 0)
        return by < 0 ? -1 : 1;
    int algo = strcmp(x->algo, y->algo);
    return algo                   ? algo
           : x->order != y->order ? (int)x->order - (int)y->order
                                  : (x->without != NULL) - (y->without != NULL);
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

/* ---- a row per algorithm and order ---- */

static const struct field fields[] = {
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"order", NULL, FIELD_TEXT, 0, false},
    {"without", NULL, FIELD_TEXT, 0, false},
    {"rounds", NULL, FIELD_INTEGER, 0, false},
    {"messages", NULL, FIELD_INTEGER, 0, true},
    {"total_bytes", NULL, FIELD_INTEGER, 0, true},
    {"uplink_bytes", "uplink", FIELD_INTEGER, 0, false},
    {"uplink_buffers", "of buffer", FIELD_REAL, 4, false},
    {"uplink_percent", "% used", FIELD_REAL, 1, false},
    {"uplinks_bytes", "all uplinks", FIELD_INTEGER, 0, true},
    {"time_us", "time us", FIELD_REAL, 2, false},
    {"times_best", "x best", FIELD_REAL, 2, false},
    {"optimum_us", "optimum us", FIELD_REAL, 2, true},
    {"optimum_percent", "% of optimum", FIELD_REAL, 1, false},
};

enum {
    FIELDS = sizeof fields / sizeof *fields,
    FIELD_WITHOUT = 2,
    FIELD_UPLINK = 6,
    FIELD_UPLINK_END = 10
};

/* The columns of this table: those of uplinks, or of each kind of links. */
static unsigned columns(const struct sim_table *table,
                        struct field out[FIELDS + KINDS_MAX],
                        char names[KINDS_MAX][32])
{
    const char *kind;
    unsigned kinds = 0, count = FIELDS;
    memcpy(out, fields, sizeof fields);
    out[FIELD_WITHOUT].hidden = !table->without;
    for (; kinds < KINDS_MAX &&
           (kind = gw_topology_link_word(table->topology, kinds));
         kinds++) {
        snprintf(names[kinds], sizeof names[kinds], "%s_buffers", kind);
        out[count++] = (struct field){names[kinds], kind, FIELD_REAL, 4, false};
    }
    for (unsigned i = FIELD_UPLINK; kinds > 0 && i < FIELD_UPLINK_END; i++)
        out[i].hidden = true;
    return count;
}

/* Over the busiest link of the kind, one direction. */
static uint64_t kind_bytes(const struct sim_table *table,
                           const struct gw_topology_result *result,
                           const char *kind)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < result->links; i++) {
        struct gw_topology_link link;
        gw_topology_link(table->topology, i, &link);
        if (link.word && strcmp(link.word, kind) == 0 &&
            result->link_bytes[i] > most)
            most = result->link_bytes[i];
    }
    return most;
}

/* For the uplink that is used most. */
static double uplink_percent(const struct sim_table *table,
                             const struct gw_topology_result *result)
{
    double most = 0;
    for (unsigned i = 0; i < result->links; i++) {
        struct gw_topology_link link;
        gw_topology_link(table->topology, i, &link);
        double utilisation =
            gw_topology_utilisation(table->topology, result, i);
        if (gw_topology_is_shared(&link) && utilisation > most)
            most = utilisation;
    }
    return 100 * most;
}

static void print_row(struct output *output, const struct sim_table *table,
                      const struct sim_row *row)
{
    const struct gw_topology_result *r = row->result;
    double best = table->rows[0].result->time_us;
    const char *kind;
    union value values[FIELDS + KINDS_MAX] = {
        {.text = row->algo},
        {.text = gw_rank_order_name(row->order)},
        {.text = row->without ? row->without : "-"},
        {.integer = r->rounds},
        {.integer = (int64_t)r->messages},
        {.integer = (int64_t)r->bytes},
        {.integer = (int64_t)r->uplink_bytes_max},
        {.real = buffers(table, r->uplink_bytes_max)},
        {.real = uplink_percent(table, r)},
        {.integer = (int64_t)r->uplink_bytes},
        {.real = r->time_us},
        {.real = best > 0 ? r->time_us / best : 1},
        {.real = row->optimum_us},
        {.real = r->time_us > 0 ? 100 * row->optimum_us / r->time_us : 100},
    };
    for (unsigned k = 0;
         k < KINDS_MAX && (kind = gw_topology_link_word(table->topology, k));
         k++)
        values[FIELDS + k].real = buffers(table, kind_bytes(table, r, kind));
    output_row(output, values);
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

static int end_table(struct output *output)
{
    output_end(&output, complaint(), interrupted != 0);
    return interrupted ? gw_err_exit(GW_EINTR) : complaint_status();
}

int sim_print(struct sim_table *table)
{
    struct gw_error why;
    struct output *output;
    struct field shown[FIELDS + KINDS_MAX];
    char names[KINDS_MAX][32];
    unsigned count = columns(table, shown, names);
    if (output_begin("collrun sim", common.output, shown, count, &output, &why))
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
    return end_table(output);
}

/* ---- one row per link ---- */

static const struct field link_fields[] = {
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"order", NULL, FIELD_TEXT, 0, false},
    {"without", NULL, FIELD_TEXT, 0, true},
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
    double utilisation =
        gw_topology_utilisation(table->topology, row->result, index);
    output_row(output, (union value[]){
                           {.text = row->algo},
                           {.text = gw_rank_order_name(row->order)},
                           {.text = row->without ? row->without : "-"},
                           {.text = name},
                           {.integer = (int64_t)link.rate},
                           {.real = (double)link.latency_ns / 1e3},
                           {.integer = (int64_t)bytes},
                           {.real = buffers(table, bytes)},
                           {.real = 100 * utilisation},
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
    return end_table(output);
}

/* ---- one row per pair of ranks ---- */

static const struct field route_fields[] = {
    {"from", NULL, FIELD_TEXT, 0, false},
    {"to", NULL, FIELD_TEXT, 0, false},
    {"src", NULL, FIELD_INTEGER, 0, true},
    {"dst", NULL, FIELD_INTEGER, 0, true},
    {"hops", NULL, FIELD_INTEGER, 0, false},
    {"rate", "bytes/s", FIELD_INTEGER, 0, false},
    {"latency_us", "latency us", FIELD_REAL, 2, false},
    {"route", NULL, FIELD_TEXT, 0, false},
};

/* The names of the links on the path, as many as fit. */
static unsigned name_route(const struct gw_topology *t, unsigned src,
                           unsigned dst, char *text, size_t size)
{
    unsigned links[GW_PATH_LINKS_MAX];
    unsigned count = gw_topology_path(t, src, dst, links);
    size_t used = 0;
    *text = 0;
    for (unsigned i = 0; i < count && used < size; i++) {
        char name[64];
        struct gw_topology_link link;
        gw_topology_link(t, links[i], &link);
        gw_topology_link_name(t, links[i], name);
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0      ? ""
                                 : link.word ? " "
                                             : ", ",
                                 link.word ? link.word : name);
    }
    return count;
}

static void print_route(struct output *output, const struct gw_topology *t,
                        unsigned src, unsigned dst)
{
    char route[512];
    uint64_t rate, latency_ns;
    unsigned hops = name_route(t, src, dst, route, sizeof route);
    gw_topology_path_sum(t, src, dst, &rate, &latency_ns);
    output_row(output, (union value[]){
                           {.text = gw_topology_host(t, src)},
                           {.text = gw_topology_host(t, dst)},
                           {.integer = src},
                           {.integer = dst},
                           {.integer = hops},
                           {.integer = (int64_t)rate},
                           {.real = (double)latency_ns / 1e3},
                           {.text = route},
                       });
}

int sim_print_routes(const struct sim_table *table)
{
    struct gw_error why;
    struct output *output;
    const struct gw_topology *t = table->topology;
    if (output_begin("collrun sim routes", common.output, route_fields,
                     sizeof route_fields / sizeof *route_fields, &output, &why))
        return complain(&why);
    output_note_text(output, "topology", gw_topology_name(t));
    output_note_text(output, "without", table->without ? table->without : "-");
    unsigned ranks = gw_topology_ranks(t);
    for (unsigned src = 0; src < ranks && src < table->ranks; src++)
        for (unsigned dst = 0; dst < ranks && dst < table->ranks; dst++)
            if (src != dst)
                print_route(output, t, src, dst);
    return end_table(output);
}
