/* SPDX-License-Identifier: MIT
 *
 * A cluster inside one process: a controller, servers, and an observer that
 * sets up the slots and says who has ended, as a run's supervisor does. Nothing
 * here is special to being in one process: all speak over the mesh and the
 * post, as elsewhere.
 */
#include <gradwire/ps.h>

#include <cluster/controller/controller.h>
#include <cluster/driver/driver.h>
#include <cluster/member/member.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
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

struct gw_ps_local {
    struct gw_ps_local_config config;
    struct gw_ps_server_config server; /* the pattern */
    uint64_t token;
    char directory[PATH_ROOM];
    char controller_endpoint[ENDPOINT_ROOM];
    struct gw__controller *controller;
    struct gw__driver *observer;
    struct gw_ps_server *servers[SERVERS_MAX];
    unsigned server_count;
    unsigned client_count; /* configs handed out */
    char client_endpoints[CLIENTS_MAX][ENDPOINT_ROOM];

    pthread_mutex_t lock; /* of what the observer hears: */
    pthread_cond_t heard;
    struct gw__news news;
};

static void endpoint(const struct gw_ps_local *local, unsigned node,
                     char out[ENDPOINT_ROOM])
{
    snprintf(out, ENDPOINT_ROOM, "ipc://@gradwire-%llx-%u",
             (unsigned long long)local->token, node);
}

static enum gw_err draw(void *out, size_t bytes, struct gw_error *why)
{
    return getrandom(out, bytes, 0) == (ssize_t)bytes
               ? GW_OK
               : gw_fail_errno(why, "random numbers");
}

/* ---- the controller ---- */

/* A free port of loopback. The kernel gives it to no other socket while *fd,
 * which is bound and never listens, is open; the controller's may be bound beside
 * it, since both have SO_REUSEADDR (socket(7)). */
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

static enum gw_err start_controller(struct gw_ps_local *local,
                                    struct gw_error *why)
{
    const char *under = getenv("TMPDIR");
    const unsigned nodes[] = {CONTROLLER};
    char address[32];
    const char *const addresses[] = {address};
    struct gw__id id;
    snprintf(local->directory, sizeof local->directory, "%s/gradwire-XXXXXX",
             under && *under ? under : "/tmp");
    if (!mkdtemp(local->directory)) {
        local->directory[0] = 0;
        return gw_fail_errno(why, "a directory for the controller");
    }
    enum gw_err err = draw(&id, sizeof id, why);
    if (err)
        return err;
    endpoint(local, CONTROLLER, local->controller_endpoint);
    const struct gw__controller_config config = {
        .count = 1,
        .nodes = nodes,
        .raft_addresses = addresses,
        .directory = local->directory,
        .mesh = {.node = CONTROLLER,
                 .incarnation_high = id.high,
                 .incarnation_low = id.low,
                 .endpoint = local->controller_endpoint,
                 .token = local->token}};
    int held;
    err = hold_port(address, &held, why);
    if (!err)
        err = gw__controller_start(&config, &local->controller, why);
    if (held >= 0)
        close(held);
    return err;
}

/* ---- the observer ---- */

static void on_tell(void *context, const void *data, size_t bytes)
{
    struct gw_ps_local *local = context;
    const struct gw__told *told = data;
    if (bytes != sizeof *told || told->kind != GW__TOLD_NEWS)
        return;
    pthread_mutex_lock(&local->lock);
    local->news = *gw__member_news(gw__driver_state(local->observer));
    pthread_cond_broadcast(&local->heard);
    pthread_mutex_unlock(&local->lock);
}

static enum gw_err start_observer(struct gw_ps_local *local,
                                  struct gw_error *why)
{
    struct gw__member_config start = {.node = OBSERVER,
                                      .role = GW__OBSERVER,
                                      .controller_count = 1,
                                      .controllers = {CONTROLLER}};
    enum gw_err err = draw(&start.incarnation, sizeof start.incarnation, why);
    if (!err)
        err = draw(&start.client, sizeof start.client, why);
    if (err)
        return err;
    endpoint(local, OBSERVER, start.endpoint);
    const struct gw__driver_config config = {
        .kind = &gw__member_machine,
        .mesh = {.node = OBSERVER,
                 .incarnation_high = start.incarnation.high,
                 .incarnation_low = start.incarnation.low,
                 .endpoint = start.endpoint,
                 .token = local->token},
        .seed = local->config.seed,
        .start = &start,
        .start_bytes = sizeof start,
        .context = local,
        .on_tell = on_tell};
    err = gw__driver_start(&config, &local->observer, why);
    return err ? err
               : gw__driver_know(local->observer, CONTROLLER,
                                 local->controller_endpoint);
}

static enum gw_err ask_routes(struct gw_ps_local *local)
{
    uint8_t ask[GW__MEMBER_ASK_MAX];
    const struct gw__command command = {
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = local->config.slots,
                   .replicas = local->config.replicas,
                   .servers = local->config.servers}};
    size_t bytes = gw__member_ask_command(ask, &command, TAG_ROUTES);
    return gw__driver_ask(local->observer, ask, bytes);
}

static bool is_placed(const struct gw__routes *routes)
{
    for (unsigned slot = 0; slot < routes->slot_count; slot++)
        if (routes->slots[slot].primary == GW__NO_NODE)
            return false;
    return routes->slot_count > 0;
}

static enum gw_err await_placed(struct gw_ps_local *local, struct gw_error *why)
{
    struct timespec until;
    int waited = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PLACE_S;
    pthread_mutex_lock(&local->lock);
    while (!is_placed(&local->news.routes) && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&local->heard, &local->lock, &until);
    bool placed = is_placed(&local->news.routes);
    pthread_mutex_unlock(&local->lock);
    return placed ? GW_OK
                  : gw_fail(why, GW_ETIMEOUT,
                            "the slots were not placed in %d s", PLACE_S);
}

/* ---- servers ---- */

enum gw_err gw_ps_local_add(struct gw_ps_local *local, unsigned *number,
                            struct gw_error *why)
{
    char own[ENDPOINT_ROOM];
    struct gw_ps_server_config config = local->server;
    if (local->server_count == SERVERS_MAX)
        return gw_fail(why, GW_ENOMEM, "there are %d servers already",
                       SERVERS_MAX);
    *number = local->server_count;
    config.node = FIRST_SERVER + *number;
    config.endpoint = own;
    config.token = local->token;
    config.controller_count = 1;
    config.controllers[0] = CONTROLLER;
    config.controller_endpoints[0] = local->controller_endpoint;
    config.wire = local->config.wire;
    endpoint(local, config.node, own);
    enum gw_err err =
        gw_ps_server_start(&config, &local->servers[*number], why);
    local->server_count += err == GW_OK;
    return err;
}

static bool find_crew(struct gw_ps_local *local, unsigned node,
                      struct gw__process *who)
{
    bool found = false;
    pthread_mutex_lock(&local->lock);
    for (unsigned i = 0; i < local->news.crew_count; i++)
        if (local->news.crew[i].node == node) {
            *who = (struct gw__process){node, local->news.crew[i].incarnation};
            found = true;
        }
    pthread_mutex_unlock(&local->lock);
    return found;
}

void gw_ps_local_kill(struct gw_ps_local *local, unsigned number)
{
    uint8_t ask[GW__MEMBER_ASK_MAX];
    struct gw__process who;
    if (number >= local->server_count || !local->servers[number])
        return;
    gw_ps_server_destroy(&local->servers[number]);
    if (!find_crew(local, FIRST_SERVER + number, &who))
        return;
    size_t bytes = gw__member_ask_lost(ask, who);
    gw__driver_ask(local->observer, ask, bytes);
}

struct gw_ps_server *gw_ps_local_server(struct gw_ps_local *local,
                                        unsigned number)
{
    return number < local->server_count ? local->servers[number] : NULL;
}

/* ---- all of it ---- */

static enum gw_err start(struct gw_ps_local *local, struct gw_error *why)
{
    unsigned number;
    enum gw_err err = draw(&local->token, sizeof local->token, why);
    if (!err)
        err = start_controller(local, why);
    if (!err)
        err = start_observer(local, why);
    if (!err)
        err = ask_routes(local);
    for (unsigned i = 0; !err && i < local->config.servers; i++)
        err = gw_ps_local_add(local, &number, why);
    return err ? err : await_placed(local, why);
}

enum gw_err gw_ps_local_start(const struct gw_ps_local_config *config,
                              struct gw_ps_local **local, struct gw_error *why)
{
    pthread_condattr_t attributes;
    struct gw_ps_local *new = calloc(1, sizeof *new);
    *local = NULL;
    if (!new)
        return gw_fail(why, GW_ENOMEM, "no memory for a cluster");
    new->config = *config;
    if (config->server)
        new->server = *config->server;
    new->config.servers = config->servers ? config->servers : 1;
    new->config.replicas = config->replicas ? config->replicas : 1;
    new->config.slots = config->slots ? config->slots : GW_PS_SLOTS_MAX;
    pthread_mutex_init(&new->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&new->heard, &attributes);
    pthread_condattr_destroy(&attributes);
    enum gw_err err = start(new, why);
    if (err)
        gw_ps_local_stop(&new);
    *local = new;
    return err;
}

/* The controller's files: the folder holds nothing else. */
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

void gw_ps_local_stop(struct gw_ps_local **local)
{
    struct gw_ps_local *old = *local;
    if (!old)
        return;
    for (unsigned i = 0; i < old->server_count; i++)
        gw_ps_server_destroy(&old->servers[i]);
    struct gw__driver *observer = old->observer; /* on_tell looks at that one */
    gw__driver_stop(&observer);
    if (old->controller)
        gw__controller_stop(&old->controller);
    remove_directory(old->directory);
    pthread_cond_destroy(&old->heard);
    pthread_mutex_destroy(&old->lock);
    free(old);
    *local = NULL;
}

void gw_ps_local_client(struct gw_ps_local *local, struct gw_ps_config *config)
{
    unsigned number = local->client_count++ % CLIENTS_MAX;
    memset(config, 0, sizeof *config);
    endpoint(local, number, local->client_endpoints[number]);
    config->node = number;
    config->token = local->token;
    config->controller_count = 1;
    config->controllers[0] = CONTROLLER;
    config->controller_endpoints[0] = local->controller_endpoint;
    config->wire = local->config.wire;
    config->endpoint = local->client_endpoints[number];
}
