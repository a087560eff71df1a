/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode controller: one of the 1, 3 or 5 processes that keep the registry of a
 * cluster. Their log uses a second port of each, encrypted if there is a key.
 */
#include "controllers.h"
#include "join.h"
#include "psnode.h"

#include <wire/address.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_INTERVAL_MS = 200, REPLICAS_DEFAULT = 3 };

static unsigned controller_index, replicas, servers = 1, ring,
                                            slots = GW_PS_SLOTS_DEFAULT;
static const char *directory, *raft_option;
static bool accept_loss;

static const struct option_spec options[] = {
    {"index", 'i', OPTION_UNSIGNED, &controller_index, "I",
     "Index of this controller in --peers, from 0.", NULL},
    {"peers", 'p', OPTION_TEXT, &join_options.controllers, "ENDPOINT,...",
     "Endpoints of all controllers, the same list for each.", NULL},
    {"raft", 0, OPTION_TEXT, &raft_option, "HOST:PORT,...",
     "Endpoints of the controllers' logs. Default: the ports after those of "
     "--peers.",
     NULL},
    {"dir", 'd', OPTION_TEXT, &directory, "DIR",
     "Directory of this controller's log; it is created if it does not exist.",
     NULL},
    {"accept-loss", 0, OPTION_FLAG, &accept_loss, NULL,
     "Start with a damaged log, from the part before the damage.", NULL},
    {"servers", 's', OPTION_UNSIGNED, &servers, "S",
     "Servers that must join before slots are placed.", NULL},
    {"replicas", 'R', OPTION_UNSIGNED, &replicas, "R",
     "Replicas per slot. Default: 3, or the number of servers if it is "
     "smaller.",
     NULL},
    {"slots", 0, OPTION_UNSIGNED, &slots, "N",
     "Slots into which the keys are divided.", NULL},
    {"ring", 0, OPTION_UNSIGNED, &ring, "N",
     "Members with which an elastic ring starts. Default: no ring.", NULL},
    JOIN_SECRET_SPECS,
    {0},
};

struct addresses {
    char raft[JOIN_CONTROLLERS_MAX][JOIN_ENDPOINT_MAX];
    const char *list[JOIN_CONTROLLERS_MAX];
    char observer[JOIN_ENDPOINT_MAX];
};

/* "tcp://10.0.0.1:7000" makes "10.0.0.1:7001". The log of a controller `alone`
 * is on loopback. */
static enum gw_err derive_raft(const char *endpoint, bool alone, char *out,
                               struct gw_error *why)
{
    char host[JOIN_ENDPOINT_MAX];
    const char *colon = strrchr(endpoint, ':');
    char *end;
    join_host(endpoint, host);
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (!*host || port == 0 || port >= 65535 || *end)
        return gw_fail(why, GW_EINVAL,
                       "--peers: each endpoint must be tcp://host:port, not "
                       "\"%.60s\"",
                       endpoint);
    if (!alone && *host == '[' && !key_file())
        return gw_fail(why, GW_EINVAL,
                       "without a key the controllers' log needs IPv4 "
                       "addresses, and %.60s is not one; set them with --raft",
                       host);
    snprintf(out, JOIN_ENDPOINT_MAX, "%.90s:%lu", alone ? "127.0.0.1" : host,
             port + 1);
    return GW_OK;
}

/* "h0:7001" makes "10.0.0.1:7001". */
static enum gw_err number_raft(char address[JOIN_ENDPOINT_MAX],
                               struct gw_error *why)
{
    static const char tcp[] = "tcp://";
    char endpoint[sizeof tcp + JOIN_ENDPOINT_MAX], number[sizeof endpoint];
    snprintf(endpoint, sizeof endpoint, "%s%s", tcp, address);
    if (gw__address_number(endpoint, number, sizeof number, why))
        return gw_wrap(why, GW_EINVAL, "--raft");
    snprintf(address, JOIN_ENDPOINT_MAX, "%.*s", JOIN_ENDPOINT_MAX - 1,
             number + sizeof tcp - 1);
    return GW_OK;
}

static enum gw_err split_raft(const struct join *join, struct addresses *a,
                              struct gw_error *why)
{
    const char *at = raft_option;
    unsigned count = 0;
    for (; *at && count < JOIN_CONTROLLERS_MAX; count++) {
        size_t length = strcspn(at, ",");
        snprintf(a->raft[count], sizeof a->raft[count], "%.*s",
                 length < JOIN_ENDPOINT_MAX ? (int)length : 0, at);
        if (number_raft(a->raft[count], why))
            return why->code;
        at += length + (at[length] == ',');
    }
    return count == join->controller_count && !*at
               ? GW_OK
               : gw_fail(why, GW_EINVAL,
                         "--raft and --peers must name the same number of "
                         "controllers");
}

static enum gw_err find_addresses(const struct join *join, struct addresses *a,
                                  struct gw_error *why)
{
    char host[JOIN_ENDPOINT_MAX];
    enum gw_err code = raft_option ? split_raft(join, a, why) : GW_OK;
    for (unsigned c = 0; c < join->controller_count && !code; c++) {
        if (!raft_option)
            code = derive_raft(join->endpoints[c], join->controller_count == 1,
                               a->raft[c], why);
        a->list[c] = a->raft[c];
    }
    join_host(join->endpoints[controller_index], host);
    snprintf(a->observer, sizeof a->observer, "tcp://%.90s:*", host);
    return code;
}

static enum gw_err monitor_leader(struct controllers *controllers,
                                  struct gw_error *why)
{
    enum gw_err code = GW_OK;
    int leader = -1;
    while (!interrupted && !code) {
        struct controllers_status status = controllers_get_status(controllers);
        if (status.leader != leader && common.verbose)
            fprintf(stderr, "controller %d leads\n", status.leader);
        leader = status.leader;
        progress("%u servers, %u workers, %u of %u slots served, %u members in "
                 "the ring",
                 status.servers, status.workers, status.assigned, status.slots,
                 status.ring);
        controllers_admit(controllers);
        controllers_wait(controllers, POLL_INTERVAL_MS);
        code = controllers_error(controllers, why);
    }
    return code;
}

static enum gw_err check_index(const struct join *join, struct gw_error *why)
{
    if (controller_index >= join->controller_count)
        return gw_fail(why, GW_EINVAL,
                       "--index %u: must be less than the number of peers, %u",
                       controller_index, join->controller_count);
    if (!directory)
        return gw_fail(why, GW_EINVAL,
                       "--dir is missing; name the directory of the log");
    if (replicas == 0)
        replicas = servers < REPLICAS_DEFAULT ? servers : REPLICAS_DEFAULT;
    return servers ? GW_OK
                   : gw_fail(why, GW_EINVAL, "--servers must be at least 1");
}

static int run_controller(int operand_count, char **operands)
{
    struct join join;
    struct addresses addresses;
    struct controllers *controllers = NULL;
    struct gw_error why = {.code = GW_OK};
    (void)operand_count;
    (void)operands;
    if (join_parse(&join, &why) || check_index(&join, &why) ||
        find_addresses(&join, &addresses, &why))
        return complain(&why);
    const struct controllers_config config = {
        .index = controller_index,
        .count = join.controller_count,
        .endpoints = join.endpoint_list,
        .raft = addresses.list,
        .directory = directory,
        .accept_loss = accept_loss,
        .observer = addresses.observer,
        .security = {join.token, key_file(), join_options.insecure},
        .slots = slots,
        .replicas = replicas,
        .servers = servers,
        .ring = ring};
    enum gw_err code = controllers_start(&config, &controllers, &why);
    if (code == GW_EDATA) {
        struct gw_error damage = why;
        gw_fail(&why, code, "%s (--accept-loss)", damage.text);
    } else if (!code) {
        join_ready("controller", join.endpoints[controller_index]);
        code = monitor_leader(controllers, &why);
    }
    progress("%s", "");
    controllers_stop(&controllers);
    return code ? complain(&why) : 0;
}

static const struct option_group groups[] = {
    {"index", "Controllers"},
    {"servers", "Cluster"},
    {"cluster", "Identity"},
    {0},
};

const struct command command_controller = {
    .name = "controller",
    .operands = NULL,
    .help = "run a controller of a cluster until SIGTERM",
    .examples = "psnode controller --index 0 --peers tcp://127.0.0.1:7100 "
                "--dir c0\n",
    .options = options,
    .groups = groups,
    .run = run_controller,
};
