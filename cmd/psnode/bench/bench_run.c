/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processes of a benchmark: servers and workers are forked first, while
 * this process has one thread; then it starts a controller in threads, awaits
 * that all slots have their places, and lets the workers go. They are its
 * children and die with it.
 *
 *     parent    fork all -> controller -> placed -> go -> workers end -> stop
 *     server    start, serve until told to stop
 *     worker    await go -> measure -> end
 */
#include "bench.h"
#include "psnode/controllers.h"
#include "psnode/psnode.h"

#include "common/ports.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_MAX = BENCH_SERVERS_MAX + BENCH_WORKERS_MAX, LOOK_MS = 20 };
#define PLACE_NS UINT64_C(30000000000)
#define END_NS   UINT64_C(2000000000)

struct stage {
    const struct bench *bench;
    struct bench_shared *shared;
    int go[2]; /* workers wait until its writing end is closed */
    struct controllers *controllers;
    struct ports ports;       /* the controller's */
    pid_t pids[CHILDREN_MAX]; /* servers, then workers; 0: has ended */
    unsigned count;
    sigset_t before;
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

/* ---- children ---- */

/* Until it is told to, or the parent was killed: then the first one tidies up.
 */
static enum gw_err serve(const struct stage *stage, unsigned number,
                         struct gw_error *why)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000};
    char endpoint[64];
    struct gw_ps_server *server;
    struct gw_ps_server_config config = stage->bench->settings.server;
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    bench_endpoint(stage->shared, SERVER_NODES + number, endpoint);
    config.node = SERVER_NODES + number;
    config.endpoint = endpoint;
    config.token = stage->shared->token;
    config.controller_count = 1;
    config.controllers[0] = CONTROLLER_NODES;
    config.controller_endpoints[0] = stage->shared->controller;
    config.wire = stage->bench->wire;
    config.seed = stage->bench->seed;
    enum gw_err code = gw_ps_server_start(&config, &server, why);
    if (code)
        return code;
    do
        code = gw_ps_server_error(server, why);
    while (!code && sigtimedwait(&end, NULL, &look) != SIGTERM);
    gw_ps_server_destroy(&server);
    if (number == 0 && !atomic_load(&stage->shared->ending))
        remove_log(stage->shared);
    return code;
}

static _Noreturn void live(struct stage *stage, unsigned i, pid_t parent)
{
    /* The parent asks us to end. */
    static const int theirs[] = {SIGINT, SIGHUP, SIGQUIT};
    const struct bench *bench = stage->bench;
    struct gw_error why = {.code = GW_OK};
    char go;
    prctl(PR_SET_PDEATHSIG, i < bench->servers ? SIGTERM : SIGKILL);
    if (getppid() != parent)
        _exit(gw_err_exit(GW_EINTERNAL));
    close(stage->go[1]);
    for (size_t k = 0; k < sizeof theirs / sizeof *theirs; k++)
        signal(theirs[k], SIG_IGN);
    sigprocmask(SIG_SETMASK, &stage->before, NULL);
    if (i < bench->servers) {
        if (serve(stage, i, &why))
            stage->shared->servers[i] = why;
        _exit(gw_err_exit(why.code));
    }
    if (read(stage->go[0], &go, 1) == 0)
        bench_worker(bench, stage->shared, i - bench->servers);
    _exit(gw_err_exit(stage->shared->workers[i - bench->servers].error.code));
}

static enum gw_err start_children(struct stage *stage, struct gw_error *why)
{
    pid_t parent = getpid();
    unsigned wanted = stage->bench->servers + stage->bench->workers;
    while (stage->count < wanted) {
        pid_t pid = fork();
        if (pid < 0)
            return gw_fail_errno(why, "a process");
        if (pid == 0)
            live(stage, stage->count, parent);
        stage->pids[stage->count++] = pid;
    }
    return GW_OK;
}

static void tell_name(const struct stage *stage, unsigned i, char out[32])
{
    bool serves = i < stage->bench->servers;
    snprintf(out, 32, "%s %u", serves ? "server" : "worker",
             serves ? i : i - stage->bench->servers);
}

/* What a child that has ended left behind; GW_OK: all was well. */
static enum gw_err judge_end(const struct stage *stage, unsigned i, int status,
                             struct gw_error *why)
{
    char name[32];
    const struct gw_error *said =
        i < stage->bench->servers
            ? &stage->shared->servers[i]
            : &stage->shared->workers[i - stage->bench->servers].error;
    tell_name(stage, i, name);
    if (WIFSIGNALED(status))
        return gw_fail(why, GW_ESYS, "%s was killed by signal %d (%s)", name,
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (said->code)
        return gw_fail(why, said->code, "%s: %.400s", name, said->text);
    if (WEXITSTATUS(status) != 0)
        return gw_fail(why, GW_ESYS, "%s exited with status %d", name,
                       WEXITSTATUS(status));
    return GW_OK;
}

/* Takes note of who has ended; a server has no reason to before it is told. */
static enum gw_err reap(struct stage *stage, bool ending, struct gw_error *why)
{
    int status;
    enum gw_err code = GW_OK;
    for (unsigned i = 0; i < stage->count; i++) {
        if (stage->pids[i] == 0 ||
            waitpid(stage->pids[i], &status, WNOHANG) != stage->pids[i])
            continue;
        stage->pids[i] = 0;
        if (code || ending)
            continue;
        code = judge_end(stage, i, status, why);
        if (!code && i < stage->bench->servers)
            code = gw_fail(why, GW_ESYS, "server %u has ended", i);
    }
    return code;
}

static unsigned alive(const struct stage *stage, unsigned from)
{
    unsigned count = 0;
    for (unsigned i = from; i < stage->count; i++)
        count += stage->pids[i] != 0;
    return count;
}

static void signal_all(const struct stage *stage, int number)
{
    for (unsigned i = 0; i < stage->count; i++)
        if (stage->pids[i] != 0)
            kill(stage->pids[i], number);
}

static void nap(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    nanosleep(&nap, NULL);
}

static void end_children(struct stage *stage)
{
    uint64_t until_ns = gw_now_ns() + END_NS;
    if (stage->shared)
        atomic_store(&stage->shared->ending, true);
    signal_all(stage, SIGTERM);
    while (alive(stage, 0) && gw_now_ns() < until_ns) {
        (void)!reap(stage, true, NULL);
        nap();
    }
    signal_all(stage, SIGKILL);
    while (alive(stage, 0)) {
        (void)!reap(stage, true, NULL);
        nap();
    }
}

/* ---- the controller ---- */

static enum gw_err start_controller(struct stage *stage, struct gw_error *why)
{
    struct bench_shared *shared = stage->shared;
    char raft[1][32], observer[64];
    const char *const rafts[] = {raft[0]};
    const char *const endpoints[] = {shared->controller};
    assert(shared);
    if (!directory_make(shared->directory, sizeof shared->directory))
        return gw_fail_errno(why, "a directory for the controller");
    if (ports_hold(&stage->ports, raft, 1, why))
        return GW_ESYS;
    bench_endpoint(shared, OBSERVER_NODES, observer);
    const struct controllers_config config = {.count = 1,
                                              .endpoints = endpoints,
                                              .raft = rafts,
                                              .directory = shared->directory,
                                              .observer = observer,
                                              .token = shared->token,
                                              .slots = GW_PS_SLOTS_MAX,
                                              .replicas =
                                                  stage->bench->replicas,
                                              .servers = stage->bench->servers};
    return controllers_start(&config, &stage->controllers, why);
}

/* Does not return GW_OK before the slots are placed. */
static enum gw_err await_placed(struct stage *stage, struct gw_error *why)
{
    uint64_t until_ns = gw_now_ns() + PLACE_NS;
    for (;;) {
        struct controllers_seen seen = controllers_look(stage->controllers);
        enum gw_err code = reap(stage, false, why);
        if (!code)
            code = controllers_error(stage->controllers, why);
        if (code)
            return code;
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        if (seen.slots && seen.placed == seen.slots)
            return GW_OK;
        if (gw_now_ns() > until_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "only %u of %u servers have joined", seen.servers,
                           stage->bench->servers);
        controllers_wait(stage->controllers, LOOK_MS);
    }
}

static enum gw_err await_workers(struct stage *stage, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    uint64_t began_ns = gw_now_ns();
    while (!code && alive(stage, stage->bench->servers)) {
        code = reap(stage, false, why);
        if (!code)
            code = controllers_error(stage->controllers, why);
        if (!code && interrupted)
            code = gw_fail(why, GW_EINTR, "interrupted");
        if (!code && common.timeout_ns &&
            gw_now_ns() - began_ns > common.timeout_ns)
            code = gw_fail(why, GW_ETIMEOUT, "%u workers have not finished",
                           alive(stage, stage->bench->servers));
        nap();
    }
    return code;
}

/* ---- all of it ---- */

static enum gw_err begin(struct stage *stage, struct gw_error *why)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    struct bench_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return gw_fail_errno(why, "memory for reports");
    stage->shared = shared;
    if (getrandom(&shared->token, sizeof shared->token, 0) < 0)
        return gw_fail_errno(why, "random numbers");
    bench_endpoint(shared, CONTROLLER_NODES, shared->controller);
    if (pipe(stage->go) != 0)
        return gw_fail_errno(why, "a pipe");
    sigaction(SIGCHLD, &usual, NULL);
    sigprocmask(SIG_BLOCK, NULL, &stage->before);
    return start_children(stage, why);
}

enum gw_err bench_run(const struct bench *bench, struct bench_shared **shared,
                      struct gw_error *why)
{
    struct stage stage = {.bench = bench, .go = {-1, -1}};
    interrupt_by_terminal();
    enum gw_err code = begin(&stage, why);
    if (!code)
        code = start_controller(&stage, why);
    if (!code)
        code = await_placed(&stage, why);
    if (!code) {
        close(stage.go[1]);
        stage.go[1] = -1;
        code = await_workers(&stage, why);
    }
    end_children(&stage);
    controllers_stop(&stage.controllers);
    ports_let_go(&stage.ports);
    if (stage.shared)
        remove_log(stage.shared);
    for (unsigned e = 0; e < 2; e++)
        if (stage.go[e] >= 0)
            close(stage.go[e]);
    *shared = stage.shared;
    return code;
}

void bench_forget(struct bench_shared **shared)
{
    if (*shared)
        munmap(*shared, sizeof **shared);
    *shared = NULL;
}
