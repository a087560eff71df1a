/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * down: ends a run, with all its processes. Its directory stays.
 */
#include "answer_output.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "ringctl/runs.h"
#include "ringctl/shell/session.h"

#include <stdio.h>

static bool all;

static const struct option_spec options[] = {
    {"all", 0, OPTION_FLAG, &all, NULL, "End all runs of the folder.", NULL},
    {0},
};

/* If the supervisor ends before its answer arrives, that counts as an answer.
 */
static enum gw_err take_down(struct rpc_client *client, json_t **answer,
                             struct gw_error *why)
{
    char run[64];
    snprintf(run, sizeof run, "%s", rpc_client_run(client));
    enum gw_err code = rpc_client_do(client, json_pack("{ss}", "verb", "down"),
                                     answer_timeout_ns(), answer, why);
    if (code == GW_EUNREACH) {
        *answer =
            json_pack("{so}", "text", json_sprintf("run %s has ended", run));
        code = GW_OK;
    }
    if (!code)
        session_stopped(run);
    return code;
}

/* Only living runs that ringctl may end; their names are printed. */
static int take_all_down(void)
{
    struct runs runs;
    struct gw_error why;
    json_t *gone = json_array();
    char text[512] = "";
    size_t used = 0;
    int status = 0;
    session_disconnect();
    runs_list(&runs);
    for (unsigned i = 0; i < runs.count && !status; i++) {
        struct rpc_client *client;
        json_t *answer;
        if (rpc_client_open(runs.names[i], &client, &why))
            continue;
        enum gw_err code = take_down(client, &answer, &why);
        if (code == GW_ENOTSUP) {
            progress("run %s is left running: %s", runs.names[i], why.text);
        } else if (code) {
            status = complain(&why);
        } else {
            json_decref(answer);
            json_array_append_new(gone, json_string(runs.names[i]));
            if (used < sizeof text)
                used += (size_t)snprintf(text + used, sizeof text - used, " %s",
                                         runs.names[i]);
        }
        rpc_client_close(&client);
    }
    runs_fini(&runs);
    if (!*text)
        snprintf(text, sizeof text, " no run was up");
    json_t *answer =
        json_pack("{sos{sO}}", "text", json_sprintf("down:%s", text), "data",
                  "runs", gone);
    status = status ? status : report_answer("down", answer);
    json_decref(answer);
    json_decref(gone);
    return status;
}

static int run_down(int operand_count, char **operands)
{
    struct rpc_client *client;
    struct gw_error why;
    json_t *answer;
    (void)operand_count;
    (void)operands;
    if (all)
        return take_all_down();
    progress("ending the run");
    if (session_connect(&client, &why) || take_down(client, &answer, &why))
        return complain(&why);
    int status = report_answer("down", answer);
    json_decref(answer);
    return status;
}

const struct command command_down = {
    .name = "down",
    .help = "end the run and all its processes; keep its directory",
    .examples = "ringctl down\n"
                "ringctl down --run tiger\n"
                "ringctl down --all\n",
    .options = options,
    .run = run_down,
};
