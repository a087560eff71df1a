/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun tune: runs every promising algorithm at many sizes, reports the loss
 * by the automatic choice, and stores rules for cases in which another
 * algorithm than the predicted one is faster (gradwire-tuning(5)). One set of
 * processes per number of ranks measures all its collectives and sizes. Rules
 * are stored at the very end, also after an interruption: only measured cases
 * get new rules. After any other error the file is unchanged.
 *
 * Read on in tune_cases.c (the cases), tune_trace.c (those of a program),
 * tune_rank.c (the measurement),
 * tune_evaluate.c (the conditions for a rule) and tune_sum.c (the regret).
 */
#include "tune.h"

#include "collrun/collrun.h"
#include "collrun/plan/plan_source.h"
#include "collrun/run/ranks.h"
#include "common/key.h"
#include "common/output/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct tune tune = {
    .wire = "shm",
    .bytes_min = 4,
    .bytes_max = 64 << 20,
    .by = "size",
};
static const char *ranks_text = "2,4,8", *from;
static bool dry_run, quick;

/* clang-format off */
static const struct option_spec options[] = {
    {"wire", 'w', OPTION_CHOICE, &tune.wire, "WIRE", "Transport.",
     "shm|ipc|tcp|zmq|verbs"},
    KEY_OPTION,
    {"algo", 'a', OPTION_TEXT, &tune.words, "NAME,...",
     "Measure these algorithms, plug-ins and plan files, and the current "
     "choice. Default: those that could be the fastest.",
     "all|" PLAN_ALGO_WORDS},
    {"ranks", 'n', OPTION_TEXT, &ranks_text, "N,N...",
     "Processes. Each number is measured in turn.",
     NULL},
    {"from", 0, OPTION_TEXT, &from, "FILE.jsonl",
     "Measure the collectives, sizes and ranks of a program: those in this "
     "recording of its events.", NULL},
    {"begin", 'b', OPTION_BYTES, &tune.bytes_min, "BYTES",
     "Smallest size in bytes.", NULL},
    {"end", 'e', OPTION_BYTES, &tune.bytes_max, "BYTES",
     "Largest size in bytes.", NULL},
    {"factor", 'f', OPTION_UNSIGNED, &tune.factor, "F",
     "Factor from one size to the next.", NULL},
    {"seconds", 's', OPTION_DURATION, &tune.seconds_ns, "TIME",
     "Time to measure each size, all its algorithms together.", NULL},
    {"calibrate", 0, OPTION_FLAG, &tune.calibrate, NULL,
     "Also measure the costs of calibrate during the run, and store them.",
     NULL},
    {"all", 0, OPTION_FLAG, &tune.all, NULL,
     "Also measure the algorithms with the longest predicted times.", NULL},
    {"by", 0, OPTION_CHOICE, &tune.by, "ROWS",
     "Rows of the output: one per size, per algorithm and size, or per number "
     "of ranks.",
     "size|algo|ranks"},
    {"quick", 0, OPTION_FLAG, &quick, NULL,
     "Use sizes 16 times apart and 20 ms per size, unless --factor and "
     "--seconds are set.", NULL},
    {"dry-run", 0, OPTION_FLAG, &dry_run, NULL, "Measure, but store nothing.",
     NULL},
    {0},
};
/* clang-format on */

static void on_case(struct tune *t, const struct tune_report *report)
{
    if (report->index >= t->case_count || report->rounds == 0 ||
        report->rounds > TUNE_ROUNDS_MAX)
        return;
    struct tune_case *item = &t->cases[report->index];
    item->rounds = (unsigned)report->rounds;
    for (unsigned a = 0; a < item->algo_count; a++)
        memcpy(item->algos[a].us, report->us[a], sizeof item->algos[a].us);
    tune_evaluate(t, report->index);
    tune_table_row(t, item);
    tune_table_progress(t);
}

static void on_costs(struct tune *t, const struct gw_wire_costs *costs)
{
    t->costs[t->costs_count++] = *costs;
    tune_predict(t, costs);
}

/* A case, or the fitted costs, which come before the cases that they predict.
 */
static void add_tune_report(void *context, unsigned rank, const void *data,
                            size_t bytes)
{
    struct tune_report report;
    struct gw_wire_costs costs;
    if (rank == 0 && bytes == sizeof report) {
        memcpy(&report, data, sizeof report);
        on_case(context, &report);
    } else if (rank == 0 && bytes == sizeof costs) {
        memcpy(&costs, data, sizeof costs);
        on_costs(context, &costs);
    }
}

static enum gw_err tune_rank_main(struct gw_comm *comm, struct reporter *report,
                                  void *context, struct gw_error *why)
{
    return tune_rank(comm, report, context, why);
}

/* The cases with as many ranks as the one at `begin`. */
static enum gw_err launch_cases(struct gw_error *why)
{
    const struct launch launch = {
        .ranks = tune.cases[tune.begin].ranks,
        .wire = tune.wire,
        .insecure = true, /* no data is worth encrypting */
        .timeout_ns = common.timeout_ns,
        .rank_main = tune_rank_main,
        .context = &tune,
        .on_report = add_tune_report,
    };
    tune.end = tune.begin;
    while (tune.end < tune.case_count &&
           tune.cases[tune.end].ranks == launch.ranks)
        tune.end++;
    tune_table_progress(&tune);
    return launch_run(&launch, why);
}

/* ---- the origin of rules ---- */

static void describe_tuning(struct gw_tuning *tuning, unsigned runs)
{
    *tuning = (struct gw_tuning){
        .cores = provenance_cores(),
        .runs = runs,
        .seed = tune.seed,
    };
    provenance_date(time(NULL), tuning->date);
    provenance_versions(tuning->versions, sizeof tuning->versions);
    provenance_cpu(tuning->cpu, sizeof tuning->cpu);
}

/* ---- from cases to rules ---- */

/* Stores the rules; *count is their number. */
static enum gw_err store(const struct tune_summary *summary, size_t *count,
                         struct gw_error *why)
{
    struct gw_tuning tuning;
    struct gw_tuning_rule *tuning_rules =
        calloc(tune.case_count, sizeof *tuning_rules);
    if (!tuning_rules)
        return gw_fail(why, GW_ENOMEM, "%zu rules", tune.case_count);
    size_t ranges = tuning_rules_make(&tune, tuning_rules);
    *count = 0;
    for (size_t i = 0; i < ranges; i++)
        *count += tuning_rules[i].algo != NULL;
    describe_tuning(&tuning, summary->runs);
    enum gw_err err = GW_OK;
    for (unsigned r = 0; r < tune.costs_count && !dry_run && !err; r++)
        err = gw_costs_store(tune.wire, &tune.costs[r], why);
    if (!dry_run && !err)
        err = gw_tuning_rules_store(tune.wire, &tuning, tuning_rules, ranges,
                                    why);
    free(tuning_rules);
    return err;
}

static int measure_cases(void)
{
    struct gw_error why = {.code = GW_OK}, second = {.code = GW_OK};
    struct tune_summary summary = {.cases = 0};
    size_t tuning_rule_count = 0;
    bool stored = false;
    enum gw_err err = tune_table_begin(&tune, &why);
    if (err)
        return complain(&why);
    for (tune.begin = 0; tune.begin < tune.case_count && !err;
         tune.begin = tune.end)
        err = launch_cases(&why);
    bool summed = tune_sum_up(&tune, 0, &summary, &second) == GW_OK &&
                  tune_table_ranks(&tune, &second) == GW_OK;
    if (summed && (!err || err == GW_EINTR) && summary.cases > 0)
        stored =
            store(&summary, &tuning_rule_count, &second) == GW_OK && !dry_run;
    if (!err && second.code) {
        why = second;
        err = why.code;
    }
    tune_table_end(&tune, summed ? &summary : NULL, tuning_rule_count, stored,
                   err ? &why : complaint());
    return err ? complain(&why) : complaint_status();
}

/* ---- the command line ---- */

static enum gw_err read_operands(int count, char **operands,
                                 struct gw_error *why)
{
    for (unsigned c = 0; c < GW_COLLECTIVES; c++)
        tune.collectives[c] = count == 0 && c != GW_CUSTOM;
    for (int i = 0; i < count; i++) {
        bool is_file;
        enum gw_collective collective;
        if (plan_operand(operands[i], &is_file, &collective, why))
            return why->code;
        if (is_file)
            return gw_fail(why, GW_EINVAL,
                           "tune: \"%.100s\" is not a collective", operands[i]);
        if (collective == GW_CUSTOM)
            return gw_fail(why, GW_EINVAL,
                           "custom has no algorithms of its own, so there is "
                           "nothing to tune");
        tune.collectives[collective] = true;
    }
    return GW_OK;
}

static enum gw_err check_tune_options(struct gw_error *why)
{
    if (!tune.factor)
        tune.factor = quick ? 16 : 4;
    if (!tune.seconds_ns)
        tune.seconds_ns = quick ? 20000000 : 200000000;
    if (tune.bytes_min == 0 || tune.bytes_min > tune.bytes_max)
        return gw_fail(why, GW_EINVAL,
                       "--begin must be at least 1 and at most --end");
    if (tune.factor < 2)
        return gw_fail(why, GW_EINVAL, "--factor must be at least 2");
    if (from)
        return tune_read_uses(&tune, from, why);
    return ranks_parse(ranks_text, 2, tune.ranks, TUNE_RANKS_MAX,
                       &tune.ranks_count, why);
}

static int run_tune(int operand_count, char **operands)
{
    struct gw_error why;
    tune.seed = common.seed;
    enum gw_err err = check_tune_options(&why);
    if (!err)
        err = read_operands(operand_count, operands, &why);
    if (!err)
        err = tune_list(&tune, &why);
    if (!err && from && tune.case_count == 0)
        err = gw_fail(&why, GW_EINVAL,
                      "tune: %s has no call of these collectives and sizes",
                      from);
    int status = err ? complain(&why) : measure_cases();
    free(tune.cases);
    return status;
}

static const struct option_group groups[] = {
    {"wire", "Transport"},
    {"ranks", "Measurement"},
    {"by", "Output"},
    {0},
};

const struct command command_tune = {
    .name = "tune",
    .operands = "[OP...]",
    .help = "measure which algorithm is the fastest, and store rules",
    .examples = "collrun tune\n"
                "collrun tune allreduce --wire tcp -n 2,4 -b 1K -e 1M\n"
                "collrun tune allreduce -n 4 -a all,mine.plan --dry-run\n"
                "collrun tune allreduce allgather -n 4 --dry-run -o jsonl\n"
                "collrun tune --from program.jsonl\n",
    .options = options,
    .groups = groups,
    .operands_min = 0,
    .operands_max = GW_COLLECTIVES,
    .run = run_tune,
};
