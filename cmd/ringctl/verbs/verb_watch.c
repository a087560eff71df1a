/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * watch: the live view if there is a terminal, else one line per change:
 * members, epochs, decisions, and the progress each second.
 */
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "ringctl/shell/session.h"
#include "view_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t for_ns, every_ns = 1000000000;
static bool plain;

static const struct option_spec options[] = {
    {"for", 0, OPTION_DURATION, &for_ns, "TIME", "End after TIME.", NULL},
    {"every", 0, OPTION_DURATION, &every_ns, "TIME",
     "Plain lines: interval between progress lines.", NULL},
    {"plain", 0, OPTION_FLAG, &plain, NULL, "Print lines, even on a terminal.",
     NULL},
    {0},
};

static bool on_terminal(void)
{
    return is_terminal(STDIN_FILENO) && is_screen(STDOUT_FILENO);
}

/* ---- plain lines ---- */

struct lines {
    struct rpc_client *client;
    uint64_t begin_ns, end_ns, next_ns;
};

static void print_line(const struct lines *l, const char *text)
{
    printf("%8.3f  %s\n", (double)(gw_now_ns() - l->begin_ns) / 1e9, text);
    fflush(stdout);
}

/* "training: step 812, loss 0.3312, 4 alive, epoch 3" */
static enum gw_err print_status(struct lines *l, struct gw_error *why)
{
    char text[256], loss[48] = "";
    json_t *s;
    enum gw_err code =
        rpc_client_status(l->client, answer_timeout_ns(), &s, why);
    if (code)
        return code;
    if (!isnan(real_of(s, "loss")))
        snprintf(loss, sizeof loss, ", loss %.6g", real_of(s, "loss"));
    snprintf(text, sizeof text,
             "%s: step %" PRId64 "%s, %" PRId64 " alive, epoch %" PRId64,
             text_of(s, "state", "?"), integer_of(s, "step", 0), loss,
             integer_of(s, "alive", 0), integer_of(s, "epoch", 0));
    print_line(l, text);
    json_decref(s);
    l->next_ns += every_ns;
    return GW_OK;
}

/* GW_PENDING: the time of --for is over. */
static enum gw_err wait_for_event(struct lines *l, struct gw_error *why)
{
    struct gw_event event;
    char text[256];
    uint64_t until = l->next_ns < l->end_ns ? l->next_ns : l->end_ns;
    enum gw_err code = rpc_client_event(l->client, until, &event, why);
    if (code == GW_OK && gw_event_is_change(&event)) {
        gw_event_text(&event, text, sizeof text);
        print_line(l, text);
    }
    if (code != GW_OK && code != GW_PENDING)
        return code;
    if (interrupted)
        return gw_fail(why, GW_EINTR, "interrupted");
    if (gw_now_ns() >= l->end_ns)
        return GW_PENDING;
    return gw_now_ns() >= l->next_ns ? print_status(l, why) : GW_OK;
}

static int print_changes(void)
{
    struct gw_error why;
    struct lines l = {0};
    enum gw_err code = rpc_client_open(session_run(), &l.client, &why);
    if (!code)
        code = rpc_client_listen(l.client, false, &why);
    /* The time of --for is that of a watch that has begun. */
    l.begin_ns = l.next_ns = gw_now_ns();
    l.end_ns = for_ns ? l.begin_ns + for_ns : UINT64_MAX;
    if (!code)
        code = print_status(&l, &why);
    while (!code)
        code = wait_for_event(&l, &why);
    bool ended = code == GW_ECLOSED || (code == GW_EUNREACH && l.client);
    if (ended)
        print_line(&l, "the run has ended");
    rpc_client_close(&l.client);
    return ended || code == GW_PENDING ? 0 : complain(&why);
}

/* ---- */

static int run_watch(int operand_count, char **operands)
{
    struct rpc_client *client;
    struct gw_error why;
    (void)operand_count;
    (void)operands;
    if (every_ns == 0)
        return complain_with(GW_EINVAL, "--every must be greater than 0");
    if (strcmp(common.output, "table") != 0)
        return complain_with(
            GW_ENOTSUP,
            "watch prints text only; programs use events --follow -o jsonl");
    if (plain || for_ns || !on_terminal())
        return print_changes();
    if (session_connect(&client, &why))
        return complain(&why);
    char name[64], tool[] = "ringtop", option[] = "--run";
    snprintf(name, sizeof name, "%s", rpc_client_run(client));
    return view_run((char *[]){tool, option, name, NULL});
}

const struct command command_watch = {
    .name = "watch",
    .help =
        "show the live view (ringtop); without a terminal, one line per change",
    .examples = "ringctl watch\n"
                "ringctl watch --for 5s\n",
    .options = options,
    .run = run_watch,
};
