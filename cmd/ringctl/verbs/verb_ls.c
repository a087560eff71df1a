/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ls: the runs of this folder. Living runs are asked; the others are read from
 * their directories.
 */
#include "common/output.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "ringctl/runs.h"

#include <stdio.h>
#include <string.h>

/* The status of a living run, else the summary of an ended one; or NULL. */
static json_t *find_status(const char *name, bool *lives)
{
    struct rpc_client *client;
    struct gw_error why;
    json_t *status;
    *lives = rpc_client_open(name, &client, &why) == GW_OK;
    if (!*lives)
        return runs_summary(name);
    enum gw_err code =
        rpc_client_status(client, answer_timeout_ns(), &status, &why);
    rpc_client_close(&client);
    return code ? NULL : status;
}

static const struct field fields[] = {
    {"run", NULL, FIELD_TEXT, 0, false},
    {"state", NULL, FIELD_TEXT, 0, false},
    {"alive", NULL, FIELD_INTEGER, 0, false},
    {"epoch", NULL, FIELD_INTEGER, 0, false},
    {"step", NULL, FIELD_INTEGER, 0, false},
    {"loss", NULL, FIELD_REAL, 4, false},
    {"command", NULL, FIELD_TEXT, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void print_row(struct output *output, const char *name)
{
    bool lives;
    json_t *status = find_status(name, &lives);
    const char *state = text_of(status, "state", "?");
    bool died = strcmp(state, "died") == 0;
    json_t *start = runs_read(name, "run.json");
    const union value row[FIELDS] = {
        {.text = name},
        {.text = lives || died ? state : "ended"},
        {.integer = lives ? integer_of(status, "alive", 0) : 0},
        {.integer = integer_of(status, "epoch", 0)},
        {.integer = integer_of(status, "step", 0)},
        {.real = real_of(status, "loss")},
        {.text = text_of(start, "command", NULL)},
    };
    output_row(output, row);
    json_decref(status);
    json_decref(start);
}

static int run_ls(int operand_count, char **operands)
{
    struct gw_error why;
    struct output *output;
    struct runs runs;
    (void)operand_count;
    (void)operands;
    if (output_begin("ringctl ls", common.output, fields, FIELDS, &output,
                     &why))
        return complain(&why);
    output_collect(output);
    runs_list(&runs);
    for (unsigned i = 0; i < runs.count && !interrupted; i++)
        print_row(output, runs.names[i]);
    if (runs.count == 0 && strcmp(common.output, "table") == 0)
        fprintf(stderr, "no runs yet; start one with: ringctl up 4\n");
    runs_fini(&runs);
    output_end(&output, NULL, interrupted != 0);
    return interrupted ? gw_err_exit(GW_EINTR) : 0;
}

const struct command command_ls = {
    .name = "ls",
    .help = "list the runs: the running ones and those that have ended",
    .examples = "ringctl ls\n",
    .run = run_ls,
};
