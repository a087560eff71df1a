/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * rerun: executes the commands of an exported run again, in a process and in a
 * folder of their own, and compares the summaries. An archive may come from a
 * stranger: its names and commands are checked first.
 */
#include "archive.h"
#include "common/output.h"
#include "common/text/json_get.h"
#include "compare.h"
#include "inputs.h"
#include "ringctl/child_process.h"
#include "ringctl/ringctl.h"
#include "scratch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *into;
#define TIMEOUT_DEFAULT_NS UINT64_C(600000000000)

static const struct option_spec options[] = {
    {"into", 0, OPTION_TEXT, &into, "DIR",
     "Unpack and run in the new directory DIR, and keep it.", NULL},
    {0},
};

static const struct field fields[] = {
    {"value", NULL, FIELD_TEXT, 0, false},
    {"before", NULL, FIELD_TEXT, 0, false},
    {"now", NULL, FIELD_TEXT, 0, false},
    {"verdict", NULL, FIELD_TEXT, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void print_value(void *context, const char *name, const char *before,
                        const char *now, enum compare_verdict verdict)
{
    static const char *const words[] = {[COMPARE_SAME] = "same",
                                        [COMPARE_VARIES] = "varies",
                                        [COMPARE_DIFFERS] = "differs"};
    const union value row[FIELDS] = {{.text = name},
                                     {.text = before},
                                     {.text = now},
                                     {.text = words[verdict]}};
    output_row(context, row);
}

static enum gw_err load(const char *directory, const char *file, json_t **json,
                        struct gw_error *why)
{
    char path[PATH_MAX];
    json_error_t error;
    snprintf(path, sizeof path, "%.3900s/%.100s", directory, file);
    *json = NULL;
    if (access(path, F_OK) != 0)
        return gw_fail(why, GW_EDATA,
                       "%.100s is missing: the archive is not an export, or is "
                       "cut short",
                       file);
    *json = json_load_file(path, 0, &error);
    return *json ? GW_OK
                 : gw_fail(why, GW_EDATA, "%.100s: %.100s", file, error.text);
}

/* ---- running ---- */

/* The commands as a script of this same program; its runs end with it. */
static enum gw_err run_script(const char *directory, uint64_t seed,
                              struct gw_error *why)
{
    char runs[PATH_MAX], seed_word[32], timeout[32];
    const char *const words[] = {
        "/proc/self/exe", "--keep-going", "--seed",   seed_word,
        "--timeout",      timeout,        "commands", NULL};
    const char *const set[] = {"GRADWIRE_RUNS", runs, "GRADWIRE_RUN", "", NULL};
    const struct child_process self = {
        .words = words, .directory = directory, .set = set};
    int status;
    uint64_t limit_ns =
        common.timeout_ns ? common.timeout_ns : TIMEOUT_DEFAULT_NS;
    snprintf(runs, sizeof runs, "%.4000s/runs", directory);
    snprintf(seed_word, sizeof seed_word, "%" PRIu64, seed);
    snprintf(timeout, sizeof timeout, "%" PRIu64 "us", limit_ns / 1000);
    return child_process_run(&self, &status, why);
}

static enum gw_err run_again(const char *directory, json_t **now,
                             struct gw_error *why)
{
    char path[PATH_MAX];
    json_t *run;
    enum gw_err err = load(directory, "run.json", &run, why);
    if (err)
        return err;
    uint64_t seed = (uint64_t)integer_of(run, "seed", 1);
    json_decref(run);
    snprintf(path, sizeof path, "%.4000s/commands", directory);
    err = inputs_check(path, why);
    if (!err)
        err = run_script(directory, seed, why);
    return err ? err : load(directory, "runs/latest/summary.json", now, why);
}

/* ---- */

static enum gw_err compare(const json_t *before, const json_t *now,
                           struct gw_error *why)
{
    struct output *output;
    enum gw_err err = output_begin("ringctl rerun", common.output, fields,
                                   FIELDS, &output, why);
    if (err)
        return err;
    output_collect(output);
    bool same = compare_summaries(before, now, print_value, output);
    if (!same)
        err = gw_fail(why, GW_EWRONG,
                      "the result differs from that of the archive");
    output_end(&output, err ? why : NULL, false);
    return err;
}

static enum gw_err rerun(const char *file, const char *directory,
                         struct gw_error *why)
{
    char name[RUN_NAME_MAX], path[PATH_MAX];
    json_t *before = NULL, *now = NULL;
    enum gw_err err = archive_unpack(file, directory, name, why);
    if (err)
        return err;
    snprintf(path, sizeof path, "%.4000s/%s", directory, name);
    err = load(path, "summary.json", &before, why);
    if (!err)
        err = run_again(path, &now, why);
    if (!err)
        err = compare(before, now, why);
    json_decref(before);
    json_decref(now);
    return err;
}

static enum gw_err make_folder(struct scratch *scratch,
                               char directory[PATH_MAX], struct gw_error *why)
{
    if (!into) {
        enum gw_err err = scratch_begin(scratch, why);
        memcpy(directory, scratch->path, PATH_MAX);
        return err;
    }
    if (mkdir(into, 0700) != 0 || !realpath(into, directory))
        return gw_fail_errno(why, "%s", into);
    return GW_OK;
}

static int run_rerun(int operand_count, char **operands)
{
    struct scratch scratch = {""};
    struct gw_error why;
    char directory[PATH_MAX];
    (void)operand_count;
    enum gw_err err = make_folder(&scratch, directory, &why);
    if (!err)
        err = rerun(operands[0], directory, &why);
    scratch_end(&scratch);
    return err ? complain(&why) : 0;
}

const struct command command_rerun = {
    .name = "rerun",
    .operands = "FILE.tar",
    .help = "execute an exported run again, and compare the results",
    .examples = "ringctl rerun kill.tar\n"
                "ringctl rerun kill.tar --into again\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_rerun,
};
