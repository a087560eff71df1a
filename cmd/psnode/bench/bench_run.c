/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processes of a benchmark: a launch of workers and servers. After forking
 * all of them, this process starts a controller in threads, waits until all
 * slots are placed, and lets the workers begin.
 *
 *     parent    fork all -> controller -> placed -> workers end -> servers end
 *     server    start, serve until SIGTERM
 *     worker    await placed -> measure -> end
 */
#include "bench.h"
#include "psnode/controllers.h"
#include "psnode/psnode.h"

#include "common/launch.h"
#include "common/process.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define PRIMARIES_NS UINT64_C(30000000000)

struct bench_state {
    const struct bench *bench;
    struct bench_shared *shared;
    struct controllers *controllers; /* NULL: not started */
    uint64_t since_ns; /* start of the controller, or placement of the slots */
    pid_t parent;
};

void bench_endpoint(const struct bench_shared *shared, unsigned node,
                    char out[64])
{
    snprintf(out, 64, "ipc://@gradwire-%llx-%u",
             (unsigned long long)shared->token, node);
}

static void remove_log(const struct bench_shared *shared)
{
    if (*shared->directory)
        directory_remove(shared->directory);
}

static void nap(long ms)
{
    const struct timespec nap = {.tv_nsec = ms * 1000000};
    nanosleep(&nap, NULL);
}

/* ---- ranks ---- */

static enum gw_err start_server(const struct bench_state *state,
                                unsigned number, struct gw_ps_server **server,
                                struct gw_error *why)
{
    char endpoint[64];
    struct gw_ps_server_config config = state->bench->settings.server;
    bench_endpoint(state->shared, SERVER_NODES + number, endpoint);
    config.node = SERVER_NODES + number;
    config.endpoint = endpoint;
    config.token = state->shared->token;
    config.controller_count = 1;
    config.controllers[0] = CONTROLLER_NODES;
    config.controller_endpoints[0] = state->shared->controller;
    config.wire = state->bench->wire;
    config.seed = state->bench->seed;
    return gw_ps_server_start(&config, server, why);
}

/* The parent was killed. getppid still returns its number until its last thread
 * has ended, so a separate signal reports its death. */
static volatile sig_atomic_t orphaned;

static void on_orphaned(int number)
{
    (void)number;
    orphaned = 1;
}

/* Until SIGTERM, or the death of the parent: then the first server cleans up.
 */
static enum gw_err serve_until_stopped(const struct bench_state *state,
                                       unsigned number, struct gw_error *why)
{
    struct gw_ps_server *server;
    signal(SIGUSR1, on_orphaned);
    if (!process_follow(state->parent, SIGUSR1))
        orphaned = 1;
    enum gw_err code = start_server(state, number, &server, why);
    if (code)
        return code;
    do {
        nap(20);
        code = gw_ps_server_error(server, why);
    } while (!code && !interrupted && !orphaned);
    gw_ps_server_destroy(&server);
    if (orphaned && number == 0)
        remove_log(state->shared);
    else if (!code && !orphaned && atomic_load(&state->shared->left) > 0)
        code = gw_fail(why, GW_ESYS, "it has ended");
    return code;
}

static enum gw_err bench_rank_main(struct gw_comm *comm,
                                   struct reporter *report, void *context,
                                   struct gw_error *why)
{
    const struct bench_state *state = context;
    unsigned rank = report_rank(report), workers = state->bench->workers;
    (void)comm;
    if (rank >= workers)
        return serve_until_stopped(state, rank - workers, why);
    signal(SIGTERM, SIG_DFL); /* it may wait for an event that never comes */
    while (!atomic_load(&state->shared->has_primaries))
        nap(1);
    enum gw_err code = bench_worker(state->bench, state->shared, rank, why);
    atomic_fetch_sub(&state->shared->left, 1);
    return code;
}

/* ---- the controller ---- */

static enum gw_err start_controller(struct bench_state *state,
                                    struct gw_error *why)
{
    struct bench_shared *shared = state->shared;
    char observer[64];
    const char *const rafts[] = {"127.0.0.1:1"}; /* a single one uses none */
    const char *const endpoints[] = {shared->controller};
    if (!directory_make(shared->directory, sizeof shared->directory))
        return gw_fail_errno(why, "a directory for the controller");
    bench_endpoint(shared, OBSERVER_NODES, observer);
    const struct controllers_config config = {.count = 1,
                                              .endpoints = endpoints,
                                              .raft = rafts,
                                              .directory = shared->directory,
                                              .observer = observer,
                                              .security.token = shared->token,
                                              .slots = GW_PS_SLOTS_DEFAULT,
                                              .replicas =
                                                  state->bench->replicas,
                                              .servers = state->bench->servers};
    state->since_ns = gw_now_ns();
    return controllers_start(&config, &state->controllers, why);
}

static enum gw_err check_time(const struct bench_state *state,
                              struct gw_error *why)
{
    struct controllers_status status =
        controllers_get_status(state->controllers);
    uint64_t ns = gw_now_ns() - state->since_ns;
    bool has_primaries = atomic_load(&state->shared->has_primaries);
    if (!has_primaries && ns > PRIMARIES_NS)
        return gw_fail(why, GW_ETIMEOUT, "only %u of %u servers have joined",
                       status.servers, state->bench->servers);
    if (has_primaries && common.timeout_ns && ns > common.timeout_ns)
        return gw_fail(why, GW_ETIMEOUT, "%u workers have not finished",
                       atomic_load(&state->shared->left));
    return GW_OK;
}

static enum gw_err start_missing(void *context, struct gw_error *why)
{
    struct bench_state *state = context;
    if (!state->controllers)
        return start_controller(state, why);
    if (interrupted) /* by the terminal: SIGHUP, SIGQUIT */
        return gw_fail(why, GW_EINTR, "interrupted");
    struct controllers_status status =
        controllers_get_status(state->controllers);
    if (!atomic_load(&state->shared->has_primaries) && status.slots > 0 &&
        status.assigned == status.slots) {
        state->since_ns = gw_now_ns();
        atomic_store(&state->shared->has_primaries, true);
    }
    enum gw_err code = controllers_error(state->controllers, why);
    return code ? code : check_time(state, why);
}

/* ---- the whole benchmark ---- */

static enum gw_err share(struct bench_state *state, struct gw_error *why)
{
    struct bench_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return gw_fail_errno(why, "memory for reports");
    state->shared = shared;
    atomic_store(&shared->left, state->bench->workers);
    if (getrandom(&shared->token, sizeof shared->token, 0) < 0)
        return gw_fail_errno(why, "random numbers");
    bench_endpoint(shared, CONTROLLER_NODES, shared->controller);
    return GW_OK;
}

enum gw_err bench_run(const struct bench *bench, struct bench_shared **shared,
                      struct gw_error *why)
{
    struct bench_state state = {.bench = bench, .parent = getpid()};
    const struct launch launch = {.ranks = bench->workers + bench->servers,
                                  .servers = bench->servers,
                                  .rank_name = "worker",
                                  .no_comm = true,
                                  .no_pin = true, /* ranks have threads */
                                  .rank_main = bench_rank_main,
                                  .on_poll = start_missing,
                                  .context = &state};
    interrupt_by_terminal();
    enum gw_err code = share(&state, why);
    if (!code)
        code = launch_run(&launch, why);
    controllers_stop(&state.controllers);
    if (state.shared)
        remove_log(state.shared);
    *shared = state.shared;
    return code;
}

void bench_forget(struct bench_shared **shared)
{
    if (*shared)
        munmap(*shared, sizeof **shared);
    *shared = NULL;
}
