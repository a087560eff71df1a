/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun verify: proves plans by symbolic execution: those of files, of one
 * algorithm, of all of a collective's, or (--all, in verify_all.c) of any of
 * these for all supported numbers of ranks. One row per plan on stdout; errors
 * on stderr, with the history that shows them.
 */
#include "verify.h"

#include "collrun/collrun.h"
#include "common/output.h"
#include "common/plan/plan_file.h"
#include "plan_list.h"
#include "plan_source.h"

#include <stdio.h>
#include <string.h>

static struct plan_source source;
static bool all;
static unsigned ranks_max = 64, link_chunks = 1;

static const struct option_spec options[] = {
    PLAN_SOURCE_OPTIONS(source),
    {"all", 0, OPTION_FLAG, &all, NULL,
     "Verify each number of ranks that an algorithm or FILE supports; without "
     "OP, all algorithms.",
     NULL},
    {"max-ranks", 0, OPTION_UNSIGNED, &ranks_max, "N",
     "With --all, verify up to N ranks.", NULL},
    {"buffers", 0, OPTION_UNSIGNED, &link_chunks, "K",
     "Chunks that each link can buffer, for the deadlock check.", NULL},
    {0},
};

static const struct field fields[] = {
    {"plan", NULL, FIELD_TEXT, 0, false},
    {"op", NULL, FIELD_TEXT, 0, false},
    {"ranks", NULL, FIELD_INTEGER, 0, false},
    {"chunks", NULL, FIELD_INTEGER, 0, false},
    {"steps", NULL, FIELD_INTEGER, 0, false},
    {"transfers", NULL, FIELD_INTEGER, 0, false},
    {"fault", NULL, FIELD_TEXT, 0, false},
    {"sentence", NULL, FIELD_TEXT, 0, true},
    {"history", NULL, FIELD_TEXT, 0, true},
};

int verify_complain(const char *where, const struct gw_verdict *verdict)
{
    int status =
        complain_with(GW_EPLAN, "%.200s: %s", where, verdict->sentence);
    const char *line = verdict->history;
    while (*line) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return status;
}

static void plan_row(struct output *output, const char *name,
                     const struct gw_plan *plan,
                     const struct gw_verdict *verdict)
{
    bool wrong = verdict->fault != GW_FAULT_NONE;
    output_row(output, (union value[]){
                           {.text = name},
                           {.text = gw_collective_name(plan->collective)},
                           {.integer = plan->ranks},
                           {.integer = plan->chunks},
                           {.integer = plan->steps},
                           {.integer = (int64_t)plan->transfer_count},
                           {.text = gw_fault_name(verdict->fault)},
                           {.text = wrong ? verdict->sentence : NULL},
                           {.text = wrong ? verdict->history : NULL},
                       });
}

/* A plan that could not be made has a row, too. */
static int unread_row(struct output *output, const char *name,
                      const struct gw_error *why)
{
    union value row[sizeof fields / sizeof *fields] = {
        {.text = name}, [6] = {.text = "unread"}, [7] = {.text = why->text}};
    output_row(output, row);
    return complain(why);
}

static int verify_plan(struct output *output, const char *name,
                       const struct gw_plan *plan)
{
    struct gw_error why;
    struct gw_verdict verdict = {.fault = GW_FAULT_NONE};
    enum gw_err err = gw_plan_verify(plan, link_chunks, &verdict, &why);
    if (err && verdict.fault == GW_FAULT_NONE)
        return complain(&why);
    plan_row(output, name, plan, &verdict);
    return err ? verify_complain(name, &verdict) : 0;
}

static int verify_file(struct output *output, const char *path)
{
    struct gw_error why;
    struct gw_plan *plan;
    if (plan_get(path, &source, &plan, &why))
        return unread_row(output, path, &why);
    int status = verify_plan(output, path, plan);
    gw_plan_destroy(&plan);
    return status;
}

static int verify_algo(struct output *output, const struct gw_algo *algo)
{
    struct gw_error why;
    struct gw_plan *plan;
    const struct gw_algo_args args = {
        .ranks = plan_ranks(&source),
        .root = source.root,
        .segments = source.segments,
        .group = source.group,
    };
    if (plan_make(algo, &args, &plan, &why))
        return unread_row(output, plan_algo_word(algo), &why);
    int status = verify_plan(output, plan_algo_word(algo), plan);
    gw_plan_destroy(&plan);
    return status;
}

/* Keeps the first status that is not 0. */
static int worse(int status, int next)
{
    return status ? status : next;
}

static int verify_collective(struct output *output,
                             enum gw_collective collective)
{
    struct gw_error why;
    struct plan_list list;
    if (plan_source_list(&source, collective, plan_ranks(&source), &list, &why))
        return unread_row(output, gw_collective_name(collective), &why);
    int status = complaint_status();
    for (size_t i = 0; i < list.count && !interrupted; i++)
        status = worse(status, verify_algo(output, list.algos[i]));
    return status;
}

static int verify_operand(struct output *output, const char *operand)
{
    struct gw_error why;
    enum gw_collective collective;
    bool is_file;
    if (plan_operand(operand, &is_file, &collective, &why))
        return complain(&why);
    return is_file ? verify_file(output, operand)
                   : verify_collective(output, collective);
}

static int verify_operands(int operand_count, char **operands)
{
    struct gw_error why;
    struct output *output;
    int status = 0;
    if (output_begin("collrun verify", common.output, fields,
                     sizeof fields / sizeof *fields, &output, &why))
        return complain(&why);
    output_collect(output);
    for (int i = 0; i < operand_count && !interrupted; i++)
        status = worse(status, verify_operand(output, operands[i]));
    if (interrupted)
        status = worse(status, gw_err_exit(GW_EINTR));
    output_end(&output, complaint(), interrupted != 0);
    return status;
}

/* The algorithms of OP, or the named ones, or the file. */
static enum gw_err choose_algorithms(const char *operand,
                                     struct plan_list *list,
                                     struct gw_error *why)
{
    bool is_file;
    struct plan_wanted wanted = {.words = source.algo};
    enum gw_err err = plan_operand(operand, &is_file, &wanted.collective, why);
    if (err)
        return err;
    if (!is_file)
        return plan_list(&wanted, list, why);
    if (source.algo)
        return gw_fail(why, GW_EINVAL,
                       "%.100s defines its own algorithm; remove --algo",
                       operand);
    list->count = 1;
    return plan_file(operand, 0, &list->algos[0], why);
}

static int run_all(int operand_count, char **operands)
{
    struct gw_error why;
    struct plan_list list = {.count = 0};
    struct verify_which which = {.ranks_max = ranks_max,
                                 .link_chunks = link_chunks};
    which.algos = gw_algo_list(&which.count);
    if (operand_count > 1)
        return complain_with(GW_EINVAL,
                             "--all takes one operand; remove \"%.60s\"",
                             operands[1]);
    if (operand_count == 0 && source.algo)
        return complain_with(
            GW_EINVAL,
            "--algo needs a collective; name one, for example allreduce");
    if (source.ranks || source.root || source.segments || source.group)
        return complain_with(GW_EINVAL,
                             "--all covers all ranks, roots, segments and "
                             "groups; limit it with --max-ranks");
    if (operand_count == 1) {
        if (choose_algorithms(operands[0], &list, &why))
            return complain(&why);
        which.algos = list.algos;
        which.count = list.count;
    }
    return verify_all(&which);
}

static int run_verify(int operand_count, char **operands)
{
    if (all)
        return run_all(operand_count, operands);
    if (operand_count == 0)
        return complain_with(GW_EINVAL,
                             "name a FILE.plan or a collective, or use --all");
    return verify_operands(operand_count, operands);
}

const struct command command_verify = {
    .name = "verify",
    .operands = "OP|FILE.plan...",
    .help = "prove that plans are correct, or show where they are wrong",
    .examples = "collrun verify mine.plan\n"
                "collrun verify allreduce --algo swing -n 6\n"
                "collrun verify allreduce --algo ./mine.so --all\n"
                "collrun verify mine.plan --all --max-ranks 16\n"
                "collrun verify --all --max-ranks 64\n",
    .options = options,
    .operands_max = 1000,
    .computes = true,
    .run = run_verify,
};
