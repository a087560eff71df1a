/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun run: a plan, once, on real data. It is verified first; then n ranks
 * run it over a wire, each compares its result with the scalar reference, and
 * the traffic of the links is compared with the plan. --watch draws the
 * accumulation matrix after every step (live_matrix.h).
 */
#include "run.h"

#include "collrun/collrun.h"
#include "collrun/plan/plan_source.h"
#include "collrun/plan/verify.h"
#include "common/launched.h"
#include "common/recorder.h"
#include "live_matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct plan_source source;
static const char *wire, *type_name = "f32", *op_name = "sum";
enum { BYTES_DEFAULT = 64 << 10 };
#define UNSET UINT64_MAX
static uint64_t bytes = UNSET, slice_bytes;
static bool draws_matrix, in_place, values;
static struct recorder recorder;
static const struct launched *launched;

/* clang-format off */
static const struct option_spec options[] = {
    PLAN_SOURCE_OPTIONS(source),
    {"bytes", 'b', OPTION_BYTES, &bytes, "BYTES",
     "Size of the buffer. Default: 64K; with --values, one number per rank.",
     NULL},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Transport. Default: shm.",
     "shm|ipc|tcp|zmq|verbs"},
    {"watch", 0, OPTION_FLAG, &draws_matrix, NULL,
     "After each step, draw which ranks have contributed to each chunk.", NULL},
    {"values", 0, OPTION_FLAG, &values, NULL,
     "Fill the buffers with 0, 1, 2, ... and print the numbers of each rank.",
     NULL},
    {"events", 0, OPTION_TEXT, &recorder.jsonl, "FILE.jsonl",
     "Write the events of all ranks to FILE.", NULL},
    {"trace", 0, OPTION_TEXT, &recorder.trace, "FILE.json",
     "Write a Chrome trace for Perfetto to FILE.", NULL},
    {"metrics", 0, OPTION_TEXT, &recorder.metrics, "FILE.prom",
     "Write counters as Prometheus text to FILE.", NULL},
    {"dtype", 'd', OPTION_CHOICE, &type_name, "TYPE", "Element type.",
     "i8|i16|i32|i64|u8|u16|u32|u64|f16|bf16|f32|f64"},
    {"redop", 0, OPTION_CHOICE, &op_name, "OP", "Reduction.",
     "sum|prod|min|max|avg|land|lor|band|bor"},
    {"in-place", 0, OPTION_FLAG, &in_place, NULL,
     "Use the output buffer as the input.", NULL},
    {"slice", 0, OPTION_BYTES, &slice_bytes, "BYTES",
     "Bytes per slice. Default: chosen by the wire.", NULL},
    LAUNCHER_OPTIONS,
    {0},
};
/* clang-format on */

/* The supervisor's state while the ranks run. */
struct context {
    const struct run_spec *spec;
    struct live_matrix matrix;
    struct run_result result;
};

static void add_run_report(void *context, unsigned rank, const void *data,
                           size_t data_bytes)
{
    struct context *c = context;
    struct run_report report;
    if (data_bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    run_result_add(&c->result, rank, &report);
}

static void on_event(void *context, const struct gw_event *event)
{
    struct context *c = context;
    if (recorder_wanted(&recorder))
        recorder_add(&recorder, event);
    if (draws_matrix)
        live_matrix_event(&c->matrix, event);
}

static enum gw_err run_rank_main(struct gw_comm *comm, struct reporter *report,
                                 void *context, struct gw_error *why)
{
    const struct context *c = context;
    return run_rank(comm, report, c->spec, why);
}

static enum gw_err launch_ranks(struct context *c, struct gw_error *why)
{
    const struct launch launch = {
        .ranks = c->spec->plan->ranks,
        .launched = launched,
        .wire = wire,
        .timeout_ns = common.timeout_ns,
        .slice_bytes = slice_bytes,
        .events = draws_matrix || recorder_wanted(&recorder),
        .rank_main = run_rank_main,
        .context = c,
        .on_report = add_run_report,
        .on_event = on_event,
    };
    struct gw_error unwritten;
    enum gw_err err = launch_run(&launch, why);
    if (recorder_wanted(&recorder) && launched_receives(launched) &&
        recorder_write(&recorder, &unwritten) && !err)
        err = gw_fail(why, unwritten.code, "%s", unwritten.text);
    return err;
}

/* The picture is data when the output is a table; otherwise it must not mix
 * with the data. */
static FILE *picture(void)
{
    return strcmp(common.output, "table") == 0 ? stdout : stderr;
}

static enum gw_err launch_and_draw(struct context *c, struct gw_error *why)
{
    if (!draws_matrix || !launched_receives(launched))
        return launch_ranks(c, why);
    enum gw_err err =
        live_matrix_init(&c->matrix, c->spec->plan, picture(),
                         (unsigned)terminal_columns(fileno(picture())), why);
    if (!err)
        err = launch_ranks(c, why);
    if (!err)
        err = live_matrix_end(&c->matrix, why);
    live_matrix_fini(&c->matrix);
    return err;
}

static uint64_t message_bytes(unsigned ranks, size_t elem_bytes)
{
    if (bytes != UNSET)
        return bytes;
    return values ? ranks * elem_bytes : BYTES_DEFAULT;
}

static void fill_pattern(struct pattern *p, const struct gw_plan *plan)
{
    p->collective = plan->collective;
    p->ranks = plan->ranks;
    p->root = plan->root;
    p->plan = plan->collective == GW_CUSTOM ? plan : NULL;
    p->in_place = in_place;
    p->seed = common.seed;
    p->counting = values;
    size_t elem_bytes = gw_dtype_size(p->type);
    if (p->collective != GW_BARRIER)
        p->count = plan_count(p->collective, p->ranks,
                              message_bytes(p->ranks, elem_bytes), elem_bytes);
}

static enum gw_err run_and_check(struct context *c, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (values)
        err = run_values_check(&c->spec->pattern, why);
    if (err)
        return err;
    if (values)
        c->result.values =
            calloc(c->spec->plan->ranks, sizeof *c->result.values);
    if (values && !c->result.values)
        return gw_fail(why, GW_ENOMEM, "numbers of %u ranks",
                       c->spec->plan->ranks);
    err = launch_and_draw(c, why);
    return err ? err : run_result_check(&c->result, why);
}

static int run_plan(const struct gw_plan *plan, struct pattern *pattern)
{
    struct run_spec spec = {.plan = plan, .is_watched = draws_matrix};
    struct context context = {.spec = &spec};
    struct gw_error why = {.code = GW_OK}, unprinted;
    fill_pattern(pattern, plan);
    spec.pattern = *pattern;
    enum gw_err err = run_and_check(&context, &why);
    recorder_fini(&recorder);
    enum gw_err printed = (values ? run_values_print : run_result_print)(
        &context.result, &spec, wire, err ? &why : NULL, &unprinted);
    free(context.result.values);
    if (printed && !err)
        return complain(&unprinted);
    return err ? complain(&why) : 0;
}

/* A wrong plan is refused before anything runs. */
static int verify_and_run(const char *operand, const struct gw_plan *plan,
                          struct pattern *pattern)
{
    struct gw_error why;
    struct gw_verdict verdict = {.fault = GW_FAULT_NONE};
    enum gw_err err = gw_plan_verify(plan, 0, &verdict, &why);
    if (err && verdict.fault != GW_FAULT_NONE)
        return verify_complain(operand, &verdict);
    if (err)
        return complain(&why);
    return run_plan(plan, pattern);
}

static enum gw_err check_run_options(struct pattern *pattern,
                                     struct gw_error *why)
{
    if (gw_dtype_parse(type_name, &pattern->type, why) ||
        gw_redop_parse(op_name, &pattern->op, why))
        return why->code;
    if (!gw_redop_allowed(pattern->op, pattern->type))
        return gw_fail(why, GW_EINVAL,
                       "the reduction %s does not support the type %s", op_name,
                       type_name);
    return GW_OK;
}

/* Without --algo, the library's choice. */
static enum gw_err choose_algo(const char *operand,
                               const struct pattern *pattern,
                               struct gw_error *why)
{
    bool is_file;
    enum gw_collective collective;
    struct gw_candidate best;
    struct gw_error ignored;
    unsigned ranks = source.ranks ? source.ranks : PLAN_RANKS_DEFAULT;
    size_t elem_bytes = gw_dtype_size(pattern->type);
    if (source.algo || plan_operand(operand, &is_file, &collective, &ignored) ||
        is_file)
        return GW_OK;
    if (collective == GW_CUSTOM)
        return gw_fail(why, GW_EINVAL,
                       "custom has no algorithm of its own; add --algo FILE");
    size_t count = plan_count(collective, ranks,
                              message_bytes(ranks, elem_bytes), elem_bytes);
    if (gw_choose(wire, collective, ranks, count, elem_bytes, &best, 1) == 0)
        return gw_fail(why, GW_ENOMEM, "choosing an algorithm");
    source.algo = best.algo->name;
    return GW_OK;
}

static int run_collective(int operand_count, char **operands)
{
    struct gw_error why;
    struct gw_plan *plan;
    struct pattern pattern = {.count = 0};
    (void)operand_count;
    unsigned ranks = source.ranks ? source.ranks : RANKS_UNSET;
    enum gw_err err = launched_begin(&ranks, 0, &wire, &launched, &why);
    if (err == GW_PENDING)
        return 0;
    if (err || check_run_options(&pattern, &why))
        return complain(&why);
    if (launched)
        source.ranks = ranks;
    if (choose_algo(operands[0], &pattern, &why) ||
        plan_get(operands[0], &source, &plan, &why))
        return complain(&why);
    int status = verify_and_run(operands[0], plan, &pattern);
    gw_plan_destroy(&plan);
    return status;
}

static const struct option_group groups[] = {
    {"algo", "Algorithm and ranks"},
    {"bytes", "Data, wire and recordings"},
    {"dtype", "Details of the call"},
    {"alone", "Launchers and hosts"},
    {0},
};

const struct command command_run = {
    .name = "run",
    .operands = "OP|FILE.plan",
    .help = "run a plan once on real data and check the result and the traffic",
    .examples = "collrun run allreduce --algo ring -n 3 --watch\n"
                "collrun run mine.plan --watch\n"
                "collrun run allreduce --algo ring -n 4 --values\n"
                "collrun run broadcast -a chain -n 4 -b 1M --trace t.json\n",
    .options = options,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_collective,
};
