/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun sim: plans on a simulated cluster, or on a calibrated model of this
 * machine (sim_machine.c). Every algorithm runs on the topology
 * (gradwire-topology(5)) in virtual time (gradwire-topology(3)), in rack order
 * and in the worst one, the hierarchical one with the racks as its groups. The
 * table has the traffic of the uplinks and the times. Nothing is measured, so
 * the same words give the same numbers everywhere.
 */
#include "sim.h"

#include "collrun/collrun.h"
#include "collrun/plan/plan_list.h"
#include "collrun/plan/plan_source.h"
#include "common/cluster.h"
#include "common/plan/plan_file.h"
#include "common/plan/plan_plugin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BY_CHUNK_RANKS = 64 };

static struct plan_source source;
static struct sim_machine machine;
static const char *topo, *order_word, *without, *dtype = "f32", *events;
static uint64_t bytes = 1 << 20, alpha_ns = 1000, reduce_rate;
static bool show_links, show_routes;

static const struct option_spec options[] = {
    PLAN_SOURCE_OPTIONS(source),
    {"topo", 't', OPTION_TEXT, &topo, "FILE",
     "Topology file of the cluster, or torus:8x8, fat-tree:k=8. Default: one "
     "rack.",
     NULL},
    {"wire", 'w', OPTION_CHOICE, &machine.wire, "WIRE",
     "Simulate this machine with its calibrated costs instead of a cluster.",
     "shm|ipc|tcp"},
    {"order", 0, OPTION_CHOICE, &order_word, "ORDER",
     "Placement of the ranks. Default: that of the file; with all algorithms, "
     "several.",
     "racks|interleaved|ring|file|all"},
    {"without", 0, OPTION_TEXT, &without, "KIND",
     "Add each row again without the links of this kind, such as direct.",
     NULL},
    {"bytes", 'b', OPTION_BYTES, &bytes, "SIZE",
     "Size of a rank's whole buffer with all its blocks (64, 1K, 4M).", NULL},
    {"dtype", 'd', OPTION_CHOICE, &dtype, "TYPE", "Element type.",
     "i8|i16|i32|i64|u8|u16|u32|u64|f16|bf16|f32|f64"},
    {"alpha", 0, OPTION_DURATION, &alpha_ns, "TIME",
     "Cost of a message for its sender.", NULL},
    {"reduce", 0, OPTION_BYTES, &reduce_rate, "SIZE",
     "Bytes per second that a rank reduces. 0: no limit. Default: 0.", NULL},
    {"links", 0, OPTION_FLAG, &show_links, NULL,
     "Print one row per uplink; with -v, one row per link.", NULL},
    {"routes", 0, OPTION_FLAG, &show_routes, NULL,
     "Print only the routes, one row per pair of ranks.", NULL},
    {"events", 0, OPTION_TEXT, &events, "FILE.jsonl",
     "Write the events of the run to FILE, for ringtop.", NULL},
    {0},
};

/* ---- the cluster ---- */

/* The number of ranks of a given file; 0: there is no file, or it supports any
 * number. */
static unsigned ranks_of_file(const char *operand)
{
    bool is_file;
    enum gw_collective collective;
    struct gw_error ignored;
    if (plan_operand(operand, &is_file, &collective, &ignored))
        return 0;
    return plan_list_ranks(is_file ? operand : source.algo);
}

static enum gw_err load_topology(const char *operand,
                                 struct gw_topology **topology,
                                 struct gw_error *why)
{
    unsigned own = source.ranks ? source.ranks : ranks_of_file(operand);
    machine.ranks = own ? own : PLAN_RANKS_DEFAULT;
    if (machine.wire && (topo || source.segments || source.group))
        return gw_fail(why, GW_EINVAL,
                       "--wire simulates this machine; remove --topo, "
                       "--segments and --group");
    if (machine.wire)
        return sim_machine_topology(&machine, topology, why);
    return cluster_get(topo, !topo && own ? own : PLAN_RANKS_DEFAULT, topology,
                       why);
}

/* ---- one row ---- */

static enum gw_err open_events(FILE **file, struct gw_sink **sink,
                               struct gw_error *why)
{
    *file = NULL;
    *sink = NULL;
    if (!events)
        return GW_OK;
    *file = fopen(events, "we");
    if (!*file)
        return gw_fail_errno(why, "%.200s", events);
    return gw_sink_jsonl(*file, 0, sink, why);
}

static enum gw_err close_events(FILE *file, struct gw_sink *sink,
                                enum gw_err err, struct gw_error *why)
{
    gw_sink_close(&sink);
    bool failed = file && ferror(file) != 0;
    failed = (file && fclose(file) != 0) || failed;
    return failed && !err ? gw_fail_errno(why, "writing %.200s", events) : err;
}

/* `job` is a plan or an algorithm. */
static enum gw_err simulate(const struct sim_table *table,
                            struct gw_topology_run run,
                            const struct gw_algo *algo,
                            struct gw_topology_result **result,
                            struct gw_error *why)
{
    FILE *file;
    run.count = table->count;
    run.elem_bytes = table->elem_bytes;
    run.message_us = table->message_us;
    run.reduce_us_per_byte =
        table->reduce_rate ? 1e6 / (double)table->reduce_rate : 0;
    *result = NULL;
    enum gw_err err = open_events(&file, &run.events, why);
    if (!err)
        err = machine.wire
                  ? sim_machine_run(&machine, algo, &run, result, why)
                  : gw_topology_simulate(table->topology, &run, result, why);
    return close_events(file, run.events, err, why);
}

static struct sim_row *new_row(struct sim_table *table, struct gw_error *why)
{
    if (table->row_count == table->row_room) {
        size_t room = table->row_room ? 2 * table->row_room : 32;
        struct sim_row *moved = realloc(table->rows, room * sizeof *moved);
        if (!moved) {
            gw_fail(why, GW_ENOMEM, "%zu rows", room);
            return NULL;
        }
        table->rows = moved;
        table->row_room = room;
    }
    return &table->rows[table->row_count];
}

static enum gw_err add_row(struct sim_table *table, struct gw_topology_run run,
                           const struct gw_algo *algo, enum gw_rank_order order,
                           struct gw_error *why)
{
    const char *name = plan_algo_label(algo);
    struct sim_row *row = new_row(table, why);
    if (!row)
        return GW_ENOMEM;
    *row = (struct sim_row){.order = order,
                            .without = table->without,
                            .optimum_us = table->optimum_us};
    snprintf(row->algo, sizeof row->algo, "%s", name);
    gw_topology_order(table->topology, order);
    progress("%s, %s", name, gw_rank_order_name(order));
    enum gw_err err = simulate(table, run, algo, &row->result, why);
    table->row_count += !err;
    return err;
}

/* A plan of few ranks, and that of a file, runs chunk by chunk. Otherwise the
 * plan is never expanded, and the unit is a message. */
static enum gw_err add_plan(struct sim_table *table, const struct gw_algo *algo,
                            const struct gw_algo_args *args,
                            enum gw_rank_order order, struct gw_error *why)
{
    struct gw_plan *plan;
    if (plan_make(algo, args, &plan, why))
        return why->code;
    struct gw_topology_run run = {.plan = plan};
    enum gw_err err = add_row(table, run, algo, order, why);
    gw_plan_destroy(&plan);
    return err;
}

/* An algorithm of a plug-in or a file may be wrong. If verification would take
 * longer than the simulation, a note reports that. */
static enum gw_err prove(const struct gw_algo *algo,
                         const struct gw_algo_args *args, struct gw_error *why)
{
    enum { CELLS_MAX = 1 << 20 };
    struct gw_algo_args proved = *args;
    if (!plan_algo_is_added(algo) || !algo->valid(args->ranks))
        return GW_OK; /* making it reports the error */
    uint64_t cells = (uint64_t)args->ranks * algo->chunks(args);
    if (plan_file_path(algo) ||
        (args->ranks <= GW_RANKS_MAX && cells <= CELLS_MAX))
        return plan_prove(algo, &proved, why);
    fprintf(stderr, "collrun: %s: not verified for %u ranks\n",
            plan_algo_word(algo), args->ranks);
    return GW_OK;
}

/* The racks are the groups of the hierarchical algorithm, and of those of
 * plug-ins, if all racks are equal. */
static struct gw_algo_args args_of(const struct sim_table *table,
                                   const struct gw_algo *algo)
{
    struct gw_algo_args args = {.ranks = table->ranks,
                                .root = source.root,
                                .segments = source.segments,
                                .group = source.group};
    bool racks = strcmp(algo->name, "hierarchical") == 0 ||
                 (topo && plan_plugin_path(algo));
    if (!args.group && racks)
        args.group = gw_topology_rack_ranks(table->topology);
    return args;
}

static enum gw_err add_algo(struct sim_table *table, const struct gw_algo *algo,
                            enum gw_rank_order order, struct gw_error *why)
{
    const struct gw_algo_args args = args_of(table, algo);
    if (events || table->ranks <= CHUNK_BY_CHUNK_RANKS || plan_file_path(algo))
        return add_plan(table, algo, &args, order, why);
    struct gw_topology_run run = {.algo = algo, .args = &args};
    return add_row(table, run, algo, order, why);
}

/* ---- choosing the rows ---- */

/* The bound of the topology in this order, which no row can beat. It is not
 * computed for very many ranks, nor for this machine, whose clock is
 * stretched. */
static double optimum_us(const struct sim_table *table)
{
    if (machine.wire)
        return (double)NAN;
    return plan_optimum_us(table->topology, table->collective, table->ranks,
                           source.root,
                           plan_bytes(table->collective, table->ranks,
                                      table->count, table->elem_bytes));
}

static enum gw_err add_order(struct sim_table *table,
                             const struct plan_list *list,
                             enum gw_rank_order order, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    gw_topology_order(table->topology, order);
    table->optimum_us = optimum_us(table);
    for (size_t i = 0; i < list->count && !err && !interrupted; i++) {
        bool racks = strcmp(list->algos[i]->name, "hierarchical") == 0;
        if (!racks || order == GW_ORDER_RACKS || order_word || !list->several)
            err = plan_leave_out(
                list, add_algo(table, list->algos[i], order, why), why);
    }
    return err;
}

/* The listed algorithms in each order. */
static enum gw_err add_orders(struct sim_table *table,
                              const struct plan_list *list,
                              struct gw_error *why)
{
    enum gw_rank_order orders[SIM_ORDERS_MAX];
    unsigned count =
        sim_orders(table->topology, order_word, list->several, orders);
    enum gw_err err = GW_OK;
    if (events && (list->several || count > 1 || without))
        return gw_fail(why, GW_EINVAL,
                       "--events records one run; use --algo NAME%s%s",
                       count > 1 && order_word ? " and one --order" : "",
                       without ? ", without --without" : "");
    for (unsigned i = 0; i < count && !err && !interrupted; i++)
        err = add_order(table, list, orders[i], why);
    return err;
}

/* Removes the algorithms with wrong plans. */
static enum gw_err prove_all(const struct sim_table *table,
                             struct plan_list *list, struct gw_error *why)
{
    size_t right = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct gw_algo_args args = args_of(table, list->algos[i]);
        enum gw_err err = prove(list->algos[i], &args, why);
        if (!err)
            list->algos[right++] = list->algos[i];
        else if (plan_leave_out(list, err, why))
            return err;
    }
    list->count = right;
    return GW_OK;
}

static enum gw_err list_operand(struct sim_table *table, const char *operand,
                                struct plan_list *list, struct gw_error *why)
{
    bool is_file;
    if (plan_operand(operand, &is_file, &table->collective, why))
        return why->code;
    if (is_file && source.algo)
        return gw_fail(why, GW_EINVAL,
                       "%.100s defines its own algorithm; remove --algo",
                       operand);
    list->count = 1;
    enum gw_err err = is_file
                          ? plan_file(operand, table->ranks, list->algos, why)
                          : plan_source_list(&source, table->collective,
                                             table->ranks, list, why);
    if (err)
        return err;
    table->collective = list->algos[0]->collective;
    return prove_all(table, list, why);
}

static enum gw_err collect(struct sim_table *table, const char *operand,
                           struct gw_error *why)
{
    struct plan_list list = {.count = 0};
    unsigned own = ranks_of_file(operand);
    table->ranks = source.ranks ? source.ranks
                   : own        ? own
                                : gw_topology_ranks(table->topology);
    if (list_operand(table, operand, &list, why))
        return why->code;
    table->count = plan_count(table->collective, table->ranks,
                              table->collective == GW_BARRIER ? 0 : bytes,
                              table->elem_bytes);
    gw_topology_order(table->topology, sim_order(table->topology, order_word));
    enum gw_err err = show_routes ? GW_OK : add_orders(table, &list, why);
    if (!err && !show_routes && !table->row_count && !interrupted)
        err = gw_fail(why, GW_EINVAL, "no algorithm of %s is left",
                      gw_collective_name(table->collective));
    if (err || !without)
        return err;
    table->without = without;
    err = gw_topology_leave_out(table->topology, without, why);
    gw_topology_order(table->topology, sim_order(table->topology, order_word));
    return err || show_routes ? err : add_orders(table, &list, why);
}

/* ---- the command ---- */

static enum gw_err fill_table(struct sim_table *table, const char *operand,
                              struct gw_error *why)
{
    enum gw_dtype type;
    if (gw_dtype_parse(dtype, &type, why) ||
        load_topology(operand, &table->topology, why))
        return why->code;
    table->elem_bytes = gw_dtype_size(type);
    if (machine.wire)
        sim_machine_costs(&machine, &table->message_us, &table->reduce_rate);
    enum gw_err err = collect(table, operand, why);
    progress("%s", "");
    return err;
}

static int run_sim(int operand_count, char **operands)
{
    struct gw_error why;
    struct sim_table table = {
        .dtype = dtype,
        .bytes = bytes,
        .message_us = (double)alpha_ns / 1e3,
        .reduce_rate = reduce_rate,
    };
    (void)operand_count;
    int status;
    if (fill_table(&table, operands[0], &why))
        status = complain(&why);
    else
        status = show_routes  ? sim_print_routes(&table)
                 : show_links ? sim_print_links(&table)
                              : sim_print(&table);
    for (size_t i = 0; i < table.row_count; i++)
        gw_topology_result_destroy(&table.rows[i].result);
    free(table.rows);
    gw_topology_destroy(&table.topology);
    return status;
}

static const struct option_group groups[] = {
    {"algo", "Algorithm"},
    {"topo", "Cluster"},
    {"bytes", "Data and costs"},
    {"links", "Output"},
    {0},
};

const struct command command_sim = {
    .name = "sim",
    .operands = "OP|FILE.plan",
    .help = "simulate plans on the topology of a cluster in virtual time",
    .examples =
        "collrun sim allreduce --topo racks.topo -b 16M\n"
        "collrun sim allreduce --topo racks.topo -a ring --order interleaved\n"
        "collrun sim allreduce -t server-8.topo -a ring --without direct\n"
        "collrun sim alltoall -n 16 -a pairwise --events a.jsonl\n",
    .options = options,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_sim,
};
