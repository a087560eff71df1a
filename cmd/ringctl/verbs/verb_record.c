/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * record and replay: every event of a run, including chunks, into a file, and
 * from there into the live view.
 */
#include "answer_output.h"
#include "ringctl/ringctl.h"
#include "ringctl/runs.h"
#include "view_run.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The supervisor may have another working directory. */
static json_t *whole_path(const char *path)
{
    char here[PATH_MAX];
    if (*path == '/' || !getcwd(here, sizeof here))
        return json_string(path);
    return json_sprintf("%s/%s", here, path);
}

static int run_record(int operand_count, char **operands)
{
    const char *operand = operand_count ? operands[0] : NULL;
    bool off = operand && strcmp(operand, "off") == 0;
    json_t *file = operand && !off ? whole_path(operand) : json_null();
    return request_and_report(
        json_pack("{sssosb}", "verb", "record", "file", file, "on", !off));
}

const struct command command_record = {
    .name = "record",
    .operands = "[FILE|off]",
    .help = "record all events in FILE, or in the run's directory",
    .examples = "ringctl record\n"
                "ringctl record kill.jsonl\n"
                "ringctl record off\n",
    .operands_max = 1,
    .run = run_record,
};

static double speed;

static const struct option_spec replay_options[] = {
    {"speed", 0, OPTION_REAL, &speed, "X",
     "Speed. 1: as recorded; 0: slow enough for 20 s.", NULL},
    {0},
};

/* A file, or the name of a run that was recorded. */
static const char *recording(const char *operand, char out[PATH_MAX])
{
    struct gw_error why;
    if (access(operand, F_OK) == 0 ||
        rpc_client_directory(operand, out, PATH_MAX, &why))
        return operand;
    size_t used = strlen(out);
    snprintf(out + used, PATH_MAX - used, "/events.jsonl");
    return out;
}

static int run_replay(int operand_count, char **operands)
{
    char path[PATH_MAX], from[PATH_MAX + 16], how_fast[64], format[32];
    char tool[] = "ringtop";
    (void)operand_count;
    snprintf(from, sizeof from, "--from=%s", recording(operands[0], path));
    snprintf(how_fast, sizeof how_fast, "--speed=%.9g", speed);
    snprintf(format, sizeof format, "--output=%s", common.output);
    return view_run((char *[]){tool, from, how_fast, format, NULL});
}

const struct command command_replay = {
    .name = "replay",
    .operands = "FILE|RUN",
    .help = "play a recording in the live view",
    .examples = "ringctl replay kill.jsonl\n"
                "ringctl replay tiger --speed 0.01\n",
    .options = replay_options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_replay,
};
