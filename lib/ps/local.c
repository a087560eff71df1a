/* SPDX-License-Identifier: MIT
 *
 * A cluster inside one process: a controller, servers, and an observer. The
 * observer places the slots and reports ended members, as the supervisor of a
 * run does. All communication uses the control channel and the messenger, as
 * between processes.
 */
#include <gradwire/ps.h>

#include "base/random.h"

#include <cluster/controller/controller.h>
#include <cluster/session/session.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONTROLLER = 63,
    OBSERVER = 62,
    FIRST_SERVER = 32,
    SERVERS_MAX = 24,
    CLIENTS_MAX = FIRST_SERVER,
    PATH_ROOM = 256,
    ENDPOINT_ROOM = 64,
    TAG_ROUTES = 1,
    PLACE_S = 10
};

struct gw_ps_cluster {
    struct gw_ps_cluster_config config;
    struct gw_ps_server_config server; /* template for all servers */
    uint64_t token;
    char directory[PATH_ROOM];
    char controller_endpoint[ENDPOINT_ROOM];
    struct gw__controller *controller;
    struct gw__session observer;
    struct gw_ps_server *servers[SERVERS_MAX];
    unsigned server_count;
    unsigned client_count; /* configs handed out */
    char client_endpoints[CLIENTS_MAX][ENDPOINT_ROOM];
};

static void endpoint(const struct gw_ps_cluster *cluster, unsigned node,
                     char out[ENDPOINT_ROOM])
{
    snprintf(out, ENDPOINT_ROOM, "ipc://@gradwire-%llx-%u",
             (unsigned long long)cluster->token, node);
}

/* ---- the controller ---- */

/* Finds a free loopback port. While *fd, which is bound and never listens, is
 * open, the kernel gives the port to no other socket. The controller may still
 * bind it, since both sockets have SO_REUSEADDR (socket(7)). */
static enum gw_err hold_port(char out[32], int *fd, struct gw_error *why)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    const int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 ||
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(*fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(*fd, (struct sockaddr *)&address, &size) != 0)
        return gw_fail_errno(why, "a port for the controller");
    snprintf(out, 32, "127.0.0.1:%u", ntohs(address.sin_port));
    return GW_OK;
}

static enum gw_err start_controller(struct gw_ps_cluster *cluster,
                                    struct gw_error *why)
{
    const char *under = getenv("TMPDIR");
    const unsigned nodes[] = {CONTROLLER};
    char address[32];
    const char *const addresses[] = {address};
    snprintf(cluster->directory, sizeof cluster->directory,
             "%s/gradwire-XXXXXX", under && *under ? under : "/tmp");
    if (!mkdtemp(cluster->directory)) {
        cluster->directory[0] = 0;
        return gw_fail_errno(why, "a directory for the controller");
    }
    endpoint(cluster, CONTROLLER, cluster->controller_endpoint);
    const struct gw__controller_config config = {
        .count = 1,
        .nodes = nodes,
        .raft_addresses = addresses,
        .directory = cluster->directory,
        .channel = {.node = CONTROLLER,
                    .endpoint = cluster->controller_endpoint,
                    .security.token = cluster->token}};
    int held;
    enum gw_err err = hold_port(address, &held, why);
    if (!err)
        err = gw__controller_start(&config, &cluster->controller, why);
    if (held >= 0)
        close(held);
    return err;
}

/* ---- the observer ---- */

static enum gw_err start_observer(struct gw_ps_cluster *cluster,
                                  struct gw_error *why)
{
    char own[ENDPOINT_ROOM];
    const struct gw__session_config config = {
        .node = OBSERVER,
        .role = GW__OBSERVER,
        .endpoint = own,
        .security.token = cluster->token,
        .controller_count = 1,
        .controllers = {{CONTROLLER, cluster->controller_endpoint}}};
    endpoint(cluster, OBSERVER, own);
    enum gw_err err = gw__session_init(&cluster->observer, &config, why);
    return err ? err : gw__session_start(&cluster->observer, 0, why);
}

static enum gw_err request_routes(struct gw_ps_cluster *cluster)
{
    const struct gw__command command = {
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = cluster->config.slots,
                   .replicas = cluster->config.replicas,
                   .servers = cluster->config.servers}};
    return gw__session_command(&cluster->observer, &command, TAG_ROUTES);
}

static bool has_primaries(const struct gw__routes *routes)
{
    for (unsigned slot = 0; slot < routes->slot_count; slot++)
        if (routes->slots[slot].primary == GW__NO_NODE)
            return false;
    return routes->slot_count > 0;
}

static enum gw_err await_primaries(struct gw_ps_cluster *cluster,
                                   struct gw_error *why)
{
    uint64_t until_ns = gw_now_ns() + PLACE_S * UINT64_C(1000000000);
    struct gw__session *observer = &cluster->observer;
    gw__session_lock(observer);
    while (!has_primaries(&observer->update.routes) && gw_now_ns() < until_ns)
        gw__session_nap(observer);
    bool ready = has_primaries(&observer->update.routes);
    gw__session_unlock(observer);
    return ready ? GW_OK
                 : gw_fail(why, GW_ETIMEOUT,
                           "the slots were not placed in %d s", PLACE_S);
}

/* ---- servers ---- */

enum gw_err gw_ps_cluster_add(struct gw_ps_cluster *cluster, unsigned *number,
                              struct gw_error *why)
{
    char own[ENDPOINT_ROOM];
    struct gw_ps_server_config config = cluster->server;
    if (cluster->server_count == SERVERS_MAX)
        return gw_fail(why, GW_ENOMEM, "there can be at most %d servers",
                       SERVERS_MAX);
    *number = cluster->server_count;
    config.node = FIRST_SERVER + *number;
    config.endpoint = own;
    config.token = cluster->token;
    config.controller_count = 1;
    config.controllers[0] = CONTROLLER;
    config.controller_endpoints[0] = cluster->controller_endpoint;
    config.wire = cluster->config.wire;
    endpoint(cluster, config.node, own);
    enum gw_err err =
        gw_ps_server_start(&config, &cluster->servers[*number], why);
    cluster->server_count += err == GW_OK;
    return err;
}

static bool find_ps_members(struct gw_ps_cluster *cluster, unsigned node,
                            struct gw__process *who)
{
    const struct gw__membership_update *update = &cluster->observer.update;
    bool found = false;
    gw__session_lock(&cluster->observer);
    for (unsigned i = 0; i < update->ps_member_count; i++)
        if (update->ps_members[i].node == node) {
            *who =
                (struct gw__process){node, update->ps_members[i].incarnation};
            found = true;
        }
    gw__session_unlock(&cluster->observer);
    return found;
}

void gw_ps_cluster_kill(struct gw_ps_cluster *cluster, unsigned number)
{
    struct gw__process who;
    if (number >= cluster->server_count || !cluster->servers[number])
        return;
    gw_ps_server_destroy(&cluster->servers[number]);
    if (find_ps_members(cluster, FIRST_SERVER + number, &who))
        gw__session_lost(&cluster->observer, who);
}

struct gw_ps_server *gw_ps_cluster_server(struct gw_ps_cluster *cluster,
                                          unsigned number)
{
    return number < cluster->server_count ? cluster->servers[number] : NULL;
}

/* ---- the cluster ---- */

static enum gw_err start_processes(struct gw_ps_cluster *cluster,
                                   struct gw_error *why)
{
    unsigned number;
    enum gw_err err = gw__draw(&cluster->token, sizeof cluster->token, why);
    if (!err)
        err = start_controller(cluster, why);
    if (!err)
        err = start_observer(cluster, why);
    if (!err)
        err = request_routes(cluster);
    for (unsigned i = 0; !err && i < cluster->config.servers; i++)
        err = gw_ps_cluster_add(cluster, &number, why);
    return err ? err : await_primaries(cluster, why);
}

enum gw_err gw_ps_cluster_start(const struct gw_ps_cluster_config *config,
                                struct gw_ps_cluster **cluster,
                                struct gw_error *why)
{
    struct gw_ps_cluster *new = calloc(1, sizeof *new);
    *cluster = NULL;
    if (!new)
        return gw_fail(why, GW_ENOMEM, "no memory for a cluster");
    new->config = *config;
    if (config->server)
        new->server = *config->server;
    new->config.servers = config->servers ? config->servers : 1;
    new->config.replicas = config->replicas ? config->replicas : 1;
    new->config.slots = config->slots ? config->slots : GW_PS_SLOTS_DEFAULT;
    enum gw_err err = start_processes(new, why);
    if (err)
        gw_ps_cluster_stop(&new);
    *cluster = new;
    return err;
}

/* The controller's directory, which has no subdirectories. */
static void remove_directory(const char *directory)
{
    DIR *listing = directory[0] ? opendir(directory) : NULL;
    const struct dirent *entry;
    if (!listing)
        return;
    while ((entry = readdir(listing)))
        unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
    rmdir(directory);
}

void gw_ps_cluster_stop(struct gw_ps_cluster **cluster)
{
    struct gw_ps_cluster *old = *cluster;
    if (!old)
        return;
    for (unsigned i = 0; i < old->server_count; i++)
        gw_ps_server_destroy(&old->servers[i]);
    gw__session_fini(&old->observer);
    if (old->controller)
        gw__controller_stop(&old->controller);
    remove_directory(old->directory);
    free(old);
    *cluster = NULL;
}

void gw_ps_cluster_client(struct gw_ps_cluster *cluster,
                          struct gw_ps_config *config)
{
    unsigned number = cluster->client_count++ % CLIENTS_MAX;
    memset(config, 0, sizeof *config);
    endpoint(cluster, number, cluster->client_endpoints[number]);
    config->node = number;
    config->token = cluster->token;
    config->controller_count = 1;
    config->controllers[0] = CONTROLLER;
    config->controller_endpoints[0] = cluster->controller_endpoint;
    config->wire = cluster->config.wire;
    config->endpoint = cluster->client_endpoints[number];
}
