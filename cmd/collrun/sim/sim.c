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
#include "collrun/plan/plan_file.h"
#include "collrun/plan/plan_plugin.h"
#include "collrun/plan/plan_source.h"
#include "collrun/plan/verify.h"
#include "common/cluster.h"

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

/* The number of ranks of the given file; 0: there is no file, or it supports
 * any number. */
static unsigned ranks_of_file(const char *operand)
{
    bool is_file;
    enum gw_collective collective;
    struct gw_error ignored;
    if (plan_operand(operand, &is_file, &collective, &ignored))
        return 0;
    return plan_file_ranks(is_file ? operand : source.algo ? source.algo : "");
}

static enum gw_err load_topology(const char *operand,
                                 struct gw_topology **topology,
                                 struct gw_error *why)
{
    machine.ranks = source.ranks ? source.ranks : PLAN_RANKS_DEFAULT;
    if (machine.wire && (topo || source.segments || source.group))
        return gw_fail(why, GW_EINVAL,
                       "--wire simulates this machine; remove --topo, "
                       "--segments and --group");
    if (machine.wire)
        return sim_machine_topology(&machine, topology, why);
    unsigned ranks = topo           ? 0
                     : source.ranks ? source.ranks
                                    : ranks_of_file(operand);
    return cluster_get(topo, ranks ? ranks : PLAN_RANKS_DEFAULT, topology, why);
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
                            struct gw_topology_run run, const char *name,
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
                  ? sim_machine_run(&machine, name, &run, result, why)
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
                           const char *name, enum gw_rank_order order,
                           struct gw_error *why)
{
    struct sim_row *row = new_row(table, why);
    if (!row)
        return GW_ENOMEM;
    *row = (struct sim_row){.order = order, .without = table->without};
    snprintf(row->algo, sizeof row->algo, "%s", name);
    gw_topology_order(table->topology, order);
    progress("%s, %s", name, gw_rank_order_name(order));
    enum gw_err err = simulate(table, run, name, &row->result, why);
    table->row_count += !err;
    return err;
}

/* A plan of few ranks runs chunk by chunk. For many ranks the plan is never
 * expanded, and the unit is a message. */
static enum gw_err add_plan(struct sim_table *table, const struct gw_algo *algo,
                            const struct gw_algo_args *args,
                            enum gw_rank_order order, struct gw_error *why)
{
    struct gw_plan *plan;
    if (gw_plan_make(algo->collective, algo->name, args, &plan, why))
        return why->code;
    struct gw_topology_run run = {.plan = plan};
    enum gw_err err = add_row(table, run, algo->name, order, why);
    gw_plan_destroy(&plan);
    return err;
}

/* An algorithm of a plug-in may be wrong. If verification would take longer
 * than the simulation, a note reports that. */
static enum gw_err prove(const struct gw_algo *algo,
                         const struct gw_algo_args *args, struct gw_error *why)
{
    enum { CELLS_MAX = 1 << 20 };
    if (!plan_is_of_plugin(algo) || !algo->valid(args->ranks))
        return GW_OK; /* making it reports the error */
    uint64_t cells = (uint64_t)args->ranks * algo->chunks(args);
    if (args->ranks <= GW_RANKS_MAX && cells <= CELLS_MAX)
        return plan_prove(algo, args, why);
    fprintf(stderr, "collrun: %s: not verified for %u ranks\n",
            plan_algo_word(algo), args->ranks);
    return GW_OK;
}

/* The racks are the groups of the hierarchical algorithm, and of those of
 * plug-ins, if all racks are equal. */
static enum gw_err add_algo(struct sim_table *table, const char *name,
                            enum gw_rank_order order, struct gw_error *why)
{
    const struct gw_algo *algo;
    struct gw_algo_args args = {.ranks = table->ranks,
                                .root = source.root,
                                .segments = source.segments,
                                .group = source.group};
    if (plan_algo(table->collective, name, &algo, why))
        return why->code;
    bool racks = strcmp(algo->name, "hierarchical") == 0 ||
                 (topo && plan_is_of_plugin(algo));
    if (!args.group && racks)
        args.group = gw_topology_rack_ranks(table->topology);
    if (prove(algo, &args, why))
        return why->code;
    if (events || table->ranks <= CHUNK_BY_CHUNK_RANKS)
        return add_plan(table, algo, &args, order, why);
    struct gw_topology_run run = {.algo = algo, .args = &args};
    return add_row(table, run, algo->name, order, why);
}

/* ---- choosing the rows ---- */

static enum gw_err add_order(struct sim_table *table, enum gw_rank_order order,
                             struct gw_error *why)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < count && !err && !interrupted; i++) {
        bool racks = strcmp(algos[i]->name, "hierarchical") == 0;
        if (algos[i]->collective != table->collective ||
            !algos[i]->valid(table->ranks) ||
            (racks && order != GW_ORDER_RACKS && !order_word))
            continue;
        err = add_algo(table, algos[i]->name, order, why);
        if (err == GW_EINVAL && table->ranks > CHUNK_BY_CHUNK_RANKS) {
            fprintf(stderr, "collrun: left out: %s\n", why->text);
            err = GW_OK;
        }
    }
    return err;
}

static void choose_plans(struct sim_table *table)
{
    table->count = plan_count(table->collective, table->ranks,
                              table->collective == GW_BARRIER ? 0 : bytes,
                              table->elem_bytes);
}

/* A file has a number of ranks, or supports any. */
static enum gw_err add_file(struct sim_table *table, const char *file,
                            struct gw_error *why)
{
    struct gw_plan *plan;
    struct plan_source from = source;
    struct gw_verdict verdict = {.fault = GW_FAULT_NONE};
    from.algo = NULL;
    if (!from.ranks && gw_plan_load(file, 0, &plan, NULL))
        from.ranks = table->ranks;
    else if (!from.ranks)
        gw_plan_destroy(&plan);
    if (plan_get(file, &from, &plan, why))
        return why->code;
    enum gw_err err = gw_plan_verify(plan, 0, &verdict, why);
    if (err == GW_EPLAN)
        gw_fail(why, err, "%.100s: %s", file, verdict.sentence);
    table->collective = plan->collective;
    table->ranks = plan->ranks;
    choose_plans(table);
    if (!err)
        err = add_row(table, (struct gw_topology_run){.plan = plan}, file,
                      sim_order(table->topology, order_word), why);
    gw_plan_destroy(&plan);
    return err;
}

/* The file's plan in "OP --algo FILE.plan", if it is of OP. */
static enum gw_err add_named_file(struct sim_table *table,
                                  enum gw_collective collective,
                                  struct gw_error *why)
{
    enum gw_err err = add_file(table, source.algo, why);
    if (!err && table->collective != collective)
        return gw_fail(why, GW_EINVAL, "%.100s is a plan for %s, not for %s",
                       source.algo, gw_collective_name(table->collective),
                       gw_collective_name(collective));
    return err;
}

/* The named algorithm, or all, in each order. */
static enum gw_err add_orders(struct sim_table *table, struct gw_error *why)
{
    bool all = !source.algo || strcmp(source.algo, "all") == 0;
    enum gw_rank_order orders[SIM_ORDERS_MAX];
    unsigned count = sim_orders(table->topology, order_word, all, orders);
    enum gw_err err = GW_OK;
    if (events && (all || count > 1 || without))
        return gw_fail(why, GW_EINVAL,
                       "--events records one run; use --algo NAME%s%s",
                       count > 1 && order_word ? " and one --order" : "",
                       without ? ", without --without" : "");
    for (unsigned i = 0; i < count && !err && !interrupted; i++)
        err = all ? add_order(table, orders[i], why)
                  : add_algo(table, source.algo, orders[i], why);
    return err;
}

static enum gw_err add_rows(struct sim_table *table, const char *operand,
                            bool is_file, struct gw_error *why)
{
    if (is_file)
        return add_file(table, operand, why);
    return source.algo && plan_names_file(source.algo)
               ? add_named_file(table, table->collective, why)
               : add_orders(table, why);
}

static enum gw_err collect(struct sim_table *table, const char *operand,
                           struct gw_error *why)
{
    bool is_file;
    if (plan_operand(operand, &is_file, &table->collective, why))
        return why->code;
    table->ranks =
        source.ranks ? source.ranks : gw_topology_ranks(table->topology);
    if (!is_file)
        choose_plans(table);
    gw_topology_order(table->topology, sim_order(table->topology, order_word));
    enum gw_err err =
        show_routes ? GW_OK : add_rows(table, operand, is_file, why);
    if (err || !without)
        return err;
    table->without = without;
    err = gw_topology_leave_out(table->topology, without, why);
    gw_topology_order(table->topology, sim_order(table->topology, order_word));
    return err || show_routes ? err : add_rows(table, operand, is_file, why);
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
