/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode server: one server of a cluster, until SIGINT or SIGTERM; then it
 * hands its slots to others and leaves. A server that is declared dead, because
 * it slept or was cut off, returns as another incarnation.
 */
#include "join.h"
#include "psnode.h"
#include "run/node/settings.h"

#include <gradwire/plugin.h>

#include <stdio.h>
#include <time.h>

static const char *restore, *straggler, *settings_text = "";
static struct gw_plugin *policy; /* NULL: none */

static const struct option_spec options[] = {
    JOIN_SPECS,
    {"restore", 0, OPTION_TEXT, &restore, "DIR",
     "Start from a snapshot, the same for all servers.", NULL},
    {"straggler", 0, OPTION_TEXT, &straggler, "FILE.so",
     "Plug-in that chooses K or S, the same for all servers.", NULL},
    {"set", 0, OPTION_LIST, &settings_text, "NAME=VALUE,...",
     "Settings of the server: threads, hogwild, ack and others.", NULL},
    {0},
};

#define POLL_INTERVAL_NS 20000000

static enum gw_err start_server(const struct join *join,
                                struct gw_ps_server **server,
                                struct gw_error *why)
{
    struct settings settings;
    enum gw_err code = settings_parse(NULL, settings_text, &settings, why);
    if (code)
        return code;
    struct gw_ps_server_config *config = &settings.server;
    config->node = join_options.node;
    config->endpoint = join->listen;
    config->token = join->token;
    config->controller_count = join->controller_count;
    for (unsigned c = 0; c < join->controller_count; c++) {
        config->controllers[c] = join->controllers[c];
        config->controller_endpoints[c] = join->endpoints[c];
    }
    config->wire = join_options.wire;
    config->interface = *join->interface ? join->interface : NULL;
    config->key_file = key_file();
    config->insecure = join_options.insecure;
    config->seed = common.seed;
    config->restore = restore;
    config->straggler = policy ? policy->straggler : NULL;
    computing_begin(); /* no peer knows this process yet */
    code = gw_ps_server_start(config, server, why);
    computing_end();
    return code;
}

/* GW_OK: it has been asked to end. Otherwise the error that ended its serving.
 */
static enum gw_err serve_until_stopped(struct gw_ps_server *server,
                                       struct gw_error *why)
{
    static struct gw_ps_server_status status; /* large */
    const struct timespec nap = {.tv_nsec = POLL_INTERVAL_NS};
    enum gw_err code = GW_OK;
    while (!code && !interrupted) {
        nanosleep(&nap, NULL);
        code = gw_ps_server_error(server, why);
        gw_ps_server_get_status(server, &status);
        progress("epoch %llu, primary of %u slots, %llu pushes, %llu pulls%s%s",
                 (unsigned long long)status.epoch, status.primaries,
                 (unsigned long long)status.pushes,
                 (unsigned long long)status.pulls, *status.text ? ": " : "",
                 status.text);
    }
    progress("%s", "");
    return code;
}

/* The last server's data is lost when it leaves, which is reported but is not a
 * failure. A snapshot preserves it. */
static void leave(struct gw_ps_server *server)
{
    struct gw_error why;
    enum gw_err code = gw_ps_server_leave(server, &why);
    if (code)
        fprintf(stderr, "psnode: the server ends without a handover: %s\n",
                why.text);
}

static enum gw_err keep_serving(const struct join *join, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    while (!code && !interrupted) {
        struct gw_ps_server *server;
        code = start_server(join, &server, why);
        if (code)
            break;
        join_ready("server", join->listen);
        code = serve_until_stopped(server, why);
        if (!code)
            leave(server);
        gw_ps_server_destroy(&server);
        if (code == GW_ECLOSED && !interrupted) {
            fprintf(stderr, "psnode: %s; rejoining\n", why->text);
            code = GW_OK;
        }
    }
    return code;
}

static int run_server(int operand_count, char **operands)
{
    struct join join;
    struct gw_error why = {.code = GW_OK};
    (void)operand_count;
    (void)operands;
    enum gw_err code = join_parse(&join, &why);
    if (!code && straggler)
        code = gw_plugin_open(straggler, GW_PLUGIN_STRAGGLER, &policy, &why);
    if (!code)
        code = keep_serving(&join, &why);
    gw_plugin_close(&policy);
    return code && !interrupted ? complain(&why) : 0;
}

static const struct option_group groups[] = {
    {"join", "Cluster"},
    {"wire", "Transport"},
    {"node", "Identity"},
    {"restore", "Data and settings"},
    {0},
};

const struct command command_server = {
    .name = "server",
    .operands = NULL,
    .help = "run a server of a cluster until SIGTERM",
    .examples = "psnode server --join tcp://127.0.0.1:7100\n"
                "psnode server -j tcp://10.0.0.1:7100 -l tcp://10.0.0.2:* "
                "--key lab.key\n",
    .options = options,
    .groups = groups,
    .run = run_server,
};
