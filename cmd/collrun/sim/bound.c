/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun bound: the least time that any plan of a collective needs on a
 * topology, and the cut that limits it (gradwire/optimum.h).
 */
#include "collrun/collrun.h"
#include "collrun/plan/plan_source.h"
#include "common/cluster.h"
#include "common/output.h"

#include <gradwire/optimum.h>

static const char *topo;
static unsigned rank_count, root;
static const char *certificate, *check;
static uint64_t bytes = 1 << 20;

static const struct option_spec options[] = {
    {"topo", 't', OPTION_TEXT, &topo, "FILE",
     "Topology file of the cluster, or torus:8x8, fat-tree:k=8. Default: one "
     "rack.",
     NULL},
    {"ranks", 'n', OPTION_COUNT, &rank_count, "N",
     "Ranks. Default: all of the topology.", NULL},
    {"root", 'r', OPTION_UNSIGNED, &root, "RANK",
     "Root rank of broadcast, reduce, gather and scatter. Default: 0.", NULL},
    {"bytes", 'b', OPTION_BYTES, &bytes, "SIZE",
     "Size of a rank's whole buffer with all its blocks (64, 1K, 4M).", NULL},
    {"certificate", 0, OPTION_TEXT, &certificate, "FILE",
     "Write the cut and the flows that prove the bound to FILE.", NULL},
    {"check", 0, OPTION_TEXT, &check, "FILE",
     "Check a certificate instead, without its topology.", NULL},
    {0},
};

static const struct field fields[] = {
    {"bound_us", "bound us", FIELD_REAL, 2, false},
    {"bytes_us", "bytes us", FIELD_REAL, 2, false},
    {"latency_us", "latency us", FIELD_REAL, 2, false},
    {"algbw_GBps", "algbw GB/s", FIELD_REAL, 3, false},
    {"numerator", NULL, FIELD_INTEGER, 0, true},
    {"denominator", NULL, FIELD_INTEGER, 0, true},
    {"reached", NULL, FIELD_TEXT, 0, false},
    {"cut", NULL, FIELD_TEXT, 0, false},
};

static void print_bound(struct output *output, const struct gw_optimum *o)
{
    double us =
        1e6 * (double)bytes * (double)o->numerator / (double)o->denominator;
    output_row(output, (union value[]){
                           {.real = gw_optimum_us(o, bytes)},
                           {.real = us},
                           {.real = o->latency_us},
                           {.real = us > 0 ? (double)bytes / us / 1e3 : 0},
                           {.integer = (int64_t)o->numerator},
                           {.integer = (int64_t)o->denominator},
                           {.text = o->reached ? "yes" : "not known"},
                           {.text = o->cut},
                       });
}

static enum gw_err write_certificate(const struct gw_topology *topology,
                                     const struct gw_optimum *optimum,
                                     struct gw_error *why)
{
    FILE *file = fopen(certificate, "we");
    if (!file)
        return gw_fail_errno(why, "%.200s", certificate);
    enum gw_err err = gw_optimum_certify(topology, optimum, file, why);
    if (fclose(file) && !err)
        err = gw_fail_errno(why, "%.200s", certificate);
    if (err)
        remove(certificate);
    return err;
}

static const struct field certified_fields[] = {
    {"blocks", NULL, FIELD_INTEGER, 0, false},
    {"capacity", NULL, FIELD_INTEGER, 0, false},
    {"unit_Bps", "unit B/s", FIELD_INTEGER, 0, false},
    {"parts", NULL, FIELD_INTEGER, 0, false},
    {"flows", NULL, FIELD_INTEGER, 0, false},
    {"algbw_GBps", "algbw GB/s", FIELD_REAL, 3, false},
};

static enum gw_err show_certified(struct gw_error *why)
{
    struct gw_certified c;
    struct output *output;
    if (gw_certificate_load(check, &c, why) ||
        output_begin("collrun bound --check", common.output, certified_fields,
                     sizeof certified_fields / sizeof *certified_fields,
                     &output, why))
        return why->code;
    double seconds = (double)c.blocks / (double)c.parts / (double)c.capacity /
                     (double)c.unit;
    output_note_integer(output, "ranks", c.ranks);
    output_note_text(output, "certificate", "right");
    output_collect(output);
    output_row(output, (union value[]){
                           {.integer = (int64_t)c.blocks},
                           {.integer = (int64_t)c.capacity},
                           {.integer = (int64_t)c.unit},
                           {.integer = c.parts},
                           {.integer = c.flows},
                           {.real = 1e-9 / seconds},
                       });
    output_end(&output, NULL, false);
    return GW_OK;
}

static enum gw_err show_bound(const struct gw_topology *topology,
                              enum gw_collective collective,
                              struct gw_error *why)
{
    struct gw_optimum optimum;
    struct output *output;
    unsigned ranks = rank_count ? rank_count : gw_topology_ranks(topology);
    if (gw_optimum_find(topology, collective, ranks, root, &optimum, why) ||
        (certificate && write_certificate(topology, &optimum, why)) ||
        output_begin("collrun bound", common.output, fields,
                     sizeof fields / sizeof *fields, &output, why))
        return why->code;
    output_note_text(output, "op", gw_collective_name(collective));
    output_note_text(output, "topology", gw_topology_name(topology));
    output_note_integer(output, "ranks", ranks);
    output_note_integer(output, "bytes", (int64_t)bytes);
    output_collect(output);
    print_bound(output, &optimum);
    output_note_text(output, "reason", optimum.reason);
    output_end(&output, NULL, false);
    return GW_OK;
}

static int complain_of(enum gw_err code, const char *text)
{
    struct gw_error why;
    gw_fail(&why, code, "%s", text);
    return complain(&why);
}

static int check_certificate(int operand_count)
{
    struct gw_error why;
    if (operand_count > 0 || certificate || topo)
        return complain_of(GW_EINVAL,
                           "--check FILE has all it needs; use it without a "
                           "collective, --topo and --certificate");
    return show_certified(&why) ? complain(&why) : 0;
}

static int run_bound(int operand_count, char **operands)
{
    bool is_file;
    struct gw_error why;
    enum gw_collective collective;
    struct gw_topology *topology = NULL;
    if (check)
        return check_certificate(operand_count);
    if (operand_count == 0)
        return complain_of(GW_EINVAL, "name a collective, such as allgather");
    enum gw_err err = plan_operand(operands[0], &is_file, &collective, &why);
    if (!err && is_file)
        err = gw_fail(&why, GW_EINVAL,
                      "%.100s is a file; a bound is of a collective, such as "
                      "allreduce",
                      operands[0]);
    if (!err)
        err = cluster_get(topo, rank_count ? rank_count : PLAN_RANKS_DEFAULT,
                          &topology, &why);
    if (!err)
        err = show_bound(topology, collective, &why);
    gw_topology_destroy(&topology);
    return err ? complain(&why) : 0;
}

const struct command command_bound = {
    .name = "bound",
    .operands = "[OP]",
    .help = "compute the least time on a topology, and the cut that limits it",
    .examples = "collrun bound allgather --topo racks.topo -b 16M\n"
                "collrun bound broadcast --topo torus:8x8 --root 3\n"
                "collrun bound allreduce --topo server-8.topo -o json\n"
                "collrun bound allgather --topo racks.topo --certificate c\n"
                "collrun bound --check c\n",
    .options = options,
    .operands_min = 0,
    .operands_max = 1,
    .computes = true,
    .run = run_bound,
};
