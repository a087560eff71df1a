/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun calibrate: measures the costs of a message, a byte, a reduction and a
 * synchronisation on each wire of this machine, fits the coefficients that
 * predict the times of all algorithms, and stores them for predictions and the
 * automatic choice. One row per wire and number of ranks; 2 to 6 seconds each.
 */
#include "collrun/collrun.h"
#include "collrun/run/ranks.h"
#include "common/launch.h"
#include "common/output.h"

#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 16 };

static const char *ranks_text = "2,4,8";
static unsigned ranks[RANKS_MAX], ranks_count;
static const char *wire = "all";
static bool dry_run;

static const struct option_spec options[] = {
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Transport.",
     "shm|ipc|tcp|zmq|verbs|all"},
    {"ranks", 'n', OPTION_TEXT, &ranks_text, "N,N...",
     "Processes. Each number is measured in turn.", NULL},
    {"dry-run", 0, OPTION_FLAG, &dry_run, NULL, "Measure, but store nothing.",
     NULL},
    {0},
};

/* Costs per byte are shown as rates, which are familiar. */
static const struct field fields[] = {
    {"wire", NULL, FIELD_TEXT, 0, false},
    {"ranks", NULL, FIELD_INTEGER, 0, false},
    {"alpha_us", NULL, FIELD_REAL, 3, false},
    {"beta_GBps", NULL, FIELD_REAL, 2, false},
    {"gamma_GBps", NULL, FIELD_REAL, 2, false},
    {"sync_us", NULL, FIELD_REAL, 3, false},
    {"memory_GBps", NULL, FIELD_REAL, 2, false},
    {"cached_GBps", NULL, FIELD_REAL, 2, false},
    {"cores", NULL, FIELD_REAL, 1, false},
    {"stored", NULL, FIELD_BOOL, 0, false},
};

static enum gw_err calibrate_rank_main(struct gw_comm *comm,
                                       struct reporter *report, void *context,
                                       struct gw_error *why)
{
    struct gw_wire_costs costs;
    (void)context;
    if (gw_calibrate(comm, &costs)) {
        const struct gw_error *error = gw_comm_error(comm);
        return gw_fail(why, error->code, "%s", error->text);
    }
    if (gw_comm_rank(comm) == 0)
        report_send(report, &costs, sizeof costs);
    return GW_OK;
}

static void keep_costs(void *context, unsigned rank, const void *data,
                       size_t bytes)
{
    struct gw_wire_costs *costs = context;
    if (rank == 0 && bytes == sizeof *costs)
        memcpy(costs, data, bytes);
}

static double gigabytes_per_s(double us_per_byte)
{
    return 1e-3 / us_per_byte;
}

static void print_costs(struct output *output, const char *name, unsigned among,
                        const struct gw_wire_costs *costs)
{
    progress("%s", "");
    output_row(output,
               (union value[]){
                   {.text = name},
                   {.integer = among},
                   {.real = costs->model.alpha_us},
                   {.real = gigabytes_per_s(costs->model.beta_us_per_byte)},
                   {.real = gigabytes_per_s(costs->model.gamma_us_per_byte)},
                   {.real = costs->sync_us},
                   {.real = gigabytes_per_s(costs->memory_us_per_byte)},
                   {.real = gigabytes_per_s(costs->cached_us_per_byte)},
                   {.real = costs->cores},
                   {.boolean = !dry_run},
               });
}

static enum gw_err calibrate(struct output *output, const char *name,
                             unsigned among, struct gw_error *why)
{
    struct gw_wire_costs costs = {.cores = 0};
    const struct launch launch = {
        .ranks = among,
        .wire = name,
        .insecure = true, /* no data is worth encrypting */
        .timeout_ns = common.timeout_ns,
        .rank_main = calibrate_rank_main,
        .context = &costs,
        .on_report = keep_costs,
    };
    progress("calibrating %s, %u ranks", name, among);
    enum gw_err err = launch_run(&launch, why);
    if (!err && !dry_run)
        err = gw_costs_store(name, &costs, why);
    if (!err)
        print_costs(output, name, among, &costs);
    return err;
}

static bool has(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

static enum gw_err calibrate_wires(struct output *output, struct gw_error *why)
{
    bool all = strcmp(wire, "all") == 0;
    enum gw_err err = GW_OK;
    const char *const *list = gw_wire_list();
    if (strcmp(wire, "verbs") == 0 && !has(list, wire))
        return gw_fail(why, GW_ENOTSUP,
                       "verbs: this build does not include the verbs wire");
    for (size_t i = 0; list[i] && !err; i++)
        for (unsigned r = 0; r < ranks_count && !err; r++)
            if (all || strcmp(list[i], wire) == 0) {
                err = calibrate(output, list[i], ranks[r], why);
                if (all && err == GW_ENOTSUP)
                    err = GW_OK; /* no RDMA device here */
            }
    return err;
}

static int run_calibrate(int operand_count, char **operands)
{
    struct output *output;
    struct gw_error why = {.code = GW_OK};
    (void)operand_count, (void)operands;
    if (ranks_parse(ranks_text, 2, ranks, RANKS_MAX, &ranks_count, &why))
        return complain(&why);
    if (output_begin("collrun calibrate", common.output, fields,
                     sizeof fields / sizeof *fields, &output, &why))
        return complain(&why);
    output_spare(output, "stored cores cached_GBps memory_GBps");
    enum gw_err err = calibrate_wires(output, &why);
    output_end(&output, err ? &why : NULL, err == GW_EINTR);
    return err ? complain(&why) : 0;
}

const struct command command_calibrate = {
    .name = "calibrate",
    .operands = NULL,
    .help = "measure the costs of each wire, for predictions and the choice "
            "of algorithms",
    .examples = "collrun calibrate\n"
                "collrun calibrate --wire tcp -n 2,4 --dry-run -o json\n",
    .options = options,
    .operands_min = 0,
    .operands_max = 0,
    .run = run_calibrate,
};
