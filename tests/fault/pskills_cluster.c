/* SPDX-License-Identifier: MIT
 *
 * The cluster of pskills.h: starts, hits and mends processes.
 */
#include "pskills.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_DECLARED_DEAD = 3 };
static const uint64_t elections_ns = 1000000000; /* a few of them */

struct cluster cluster;

/* ---- processes ---- */

static pid_t spawn(const char *role, unsigned number, unsigned life)
{
    char first[16], second[16];
    snprintf(first, sizeof first, "%u", number);
    snprintf(second, sizeof second, "%u", life);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        give_up("no process for a %s", role);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        execl("/proc/self/exe", "pskills", "--as", role, first, second,
              (char *)NULL);
    _exit(1);
}

/* Kills the process and waits for its end. */
static void end(pid_t *pid)
{
    if (*pid <= 0)
        return;
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

static void reconnect_to(_Atomic bool down[GW_PS_NODES])
{
    for (unsigned node = 0; node < GW_PS_NODES; node++)
        atomic_store(&down[node], false);
}

void cluster_start_server(unsigned number)
{
    struct server_process *s = &board->servers[number];
    reconnect_to(s->down);
    atomic_store(&s->leave, false);
    atomic_store(&s->freeze_ns, 0);
    atomic_store(&s->state, SERVER_STARTING);
    cluster.leaving[number] = false;
    cluster.hit[number] = HIT_NONE;
    cluster.fresh_ns[number] = gw_now_ns();
    diary("server %u is started", number);
    cluster.servers[number] = spawn("server", number, 0);
}

void cluster_start_worker(unsigned number)
{
    if (cluster.lives == LIVES_MAX)
        give_up("a worker's life %d: there is no room on the board", LIVES_MAX);
    reconnect_to(board->workers[number].down);
    atomic_store(&board->workers[number].held, 0);
    atomic_store(&board->workers[number].ready, false);
    cluster.life[number] = cluster.lives++;
    cluster.worker_cut_ns[number] = cluster.worker_ns[number] = 0;
    cluster.workers[number] = spawn("worker", number, cluster.life[number]);
}

void cluster_kill_server(unsigned number, bool reported)
{
    end(&cluster.servers[number]);
    diary("server %u is killed%s", number, reported ? "" : ", unreported");
    if (reported)
        observer_report_lost(FIRST_SERVER + number);
    cluster.hit[number] = HIT_DOWN;
    atomic_store(&board->servers[number].state, SERVER_EMPTY);
}

void cluster_pause_server(unsigned number)
{
    cluster.hit[number] = HIT_PAUSED;
    diary("server %u is paused", number);
    kill(cluster.servers[number], SIGSTOP);
}

void cluster_kill_worker(unsigned number)
{
    end(&cluster.workers[number]);
    diary("worker %u is killed", number);
    observer_report_lost(number);
}

void cluster_kill_controller(unsigned number)
{
    end(&cluster.controllers[number]);
    diary("controller %u is killed", number);
}

/* ---- mending ---- */

static void reconnect(unsigned number)
{
    reconnect_to(board->servers[number].down);
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        atomic_store(&board->servers[i].down[FIRST_SERVER + number], false);
    for (unsigned i = 0; i < WORKERS; i++)
        atomic_store(&board->workers[i].down[FIRST_SERVER + number], false);
}

static void mend_server(unsigned number)
{
    enum hit hit = cluster.hit[number];
    diary("server %u is mended", number);
    cluster.hit[number] = HIT_NONE;
    cluster.fresh_ns[number] = gw_now_ns();
    if (hit == HIT_DOWN)
        cluster_start_server(number);
    else if (hit == HIT_PAUSED)
        kill(cluster.servers[number], SIGCONT);
    else if (hit == HIT_CUT)
        reconnect(number);
}

/* Killed at a failpoint. It comes back when it is mended. */
static void record_death(unsigned number)
{
    diary("server %u has died", number);
    observer_report_lost(FIRST_SERVER + number);
    cluster.leaving[number] = false;
    cluster.hit[number] = HIT_DOWN;
    cluster.mend_ns[number] = UINT64_MAX;
    atomic_store(&board->servers[number].state, SERVER_EMPTY);
}

static void check_servers(uint64_t now_ns)
{
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        int status;
        if (cluster.hit[i] != HIT_NONE && now_ns >= cluster.mend_ns[i])
            mend_server(i);
        if (atomic_load(&board->servers[i].state) != SERVER_SERVING)
            cluster.fresh_ns[i] = now_ns;
        if (cluster.servers[i] <= 0 ||
            waitpid(cluster.servers[i], &status, WNOHANG) != cluster.servers[i])
            continue;
        cluster.servers[i] = 0;
        if (cluster.doomed[i] && WIFSIGNALED(status)) {
            record_death(i);
            continue;
        }
        if (!cluster.leaving[i] || !WIFEXITED(status) ||
            WEXITSTATUS(status) != 0)
            give_up("server %u has ended: status %d", i, status);
        cluster.leaving[i] = false;
        diary("server %u has left", i);
        atomic_store(&board->servers[i].state, SERVER_EMPTY);
    }
}

static void check_workers(uint64_t now_ns)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        int status;
        if (cluster.worker_cut_ns[i] && now_ns >= cluster.worker_cut_ns[i]) {
            cluster.worker_cut_ns[i] = 0;
            reconnect_to(board->workers[i].down);
        }
        if (cluster.workers[i] == 0 && now_ns >= cluster.worker_ns[i])
            cluster_start_worker(i);
        if (cluster.workers[i] <= 0 ||
            waitpid(cluster.workers[i], &status, WNOHANG) != cluster.workers[i])
            continue;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_DECLARED_DEAD)
            give_up("worker %u has ended: status %d", i, status);
        cluster.declared_dead_workers++;
        cluster.workers[i] = 0;
        cluster.worker_ns[i] = now_ns;
    }
}

void cluster_tick(void)
{
    uint64_t now_ns = gw_now_ns();
    check_servers(now_ns);
    check_workers(now_ns);
    observer_check();
    for (unsigned c = 0; c < CONTROLLERS; c++)
        if (cluster.controllers[c] == 0 && now_ns >= cluster.controller_ns[c]) {
            cluster.controllers[c] = spawn("controller", c, 0);
            cluster.elected_ns = now_ns + elections_ns;
        }
    if (*board->wrong)
        give_up("%s", board->wrong);
}

void cluster_mend_all(void)
{
    memset(cluster.mend_ns, 0, sizeof cluster.mend_ns);
    memset(cluster.controller_ns, 0, sizeof cluster.controller_ns);
    for (unsigned i = 0; i < WORKERS; i++) {
        cluster.worker_ns[i] = 0;
        cluster.worker_cut_ns[i] = cluster.worker_cut_ns[i] ? 1 : 0;
    }
    cluster_tick();
}

/* ---- state ---- */

bool cluster_is_calm(void)
{
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        if (cluster.hit[i] != HIT_NONE || cluster.leaving[i] ||
            (cluster.servers[i] > 0 &&
             atomic_load(&board->servers[i].state) != SERVER_SERVING))
            return false;
    for (unsigned i = 0; i < WORKERS; i++)
        if (cluster.workers[i] == 0 || cluster.worker_cut_ns[i])
            return false;
    for (unsigned c = 0; c < CONTROLLERS; c++)
        if (cluster.controllers[c] == 0)
            return false;
    return gw_now_ns() > cluster.elected_ns;
}

unsigned cluster_servers(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        count += cluster.servers[i] > 0 && !cluster.leaving[i];
    return count;
}

/* ---- all of it ---- */

/* Sockets that never listen keep the ports until the end, so that the kernel
 * does not reassign them while a controller is dead. The controller's own
 * socket has SO_REUSEADDR, too. */
static void find_ports(void)
{
    const int yes = 1;
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        struct sockaddr_in address = {.sin_family = AF_INET};
        socklen_t size = sizeof address;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 ||
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
            bind(fd, (struct sockaddr *)&address, size) ||
            getsockname(fd, (struct sockaddr *)&address, &size))
            give_up("no port for a controller");
        snprintf(board->raft[c], sizeof board->raft[c], "127.0.0.1:%u",
                 ntohs(address.sin_port));
    }
}

static void make_board(void)
{
    int fd = memfd_create("pskills", 0);
    if (fd < 0 || ftruncate(fd, sizeof *board) || dup2(fd, BOARD_FD) < 0)
        exit(1);
    if (fd != BOARD_FD)
        close(fd);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED,
                 BOARD_FD, 0);
    if (board == MAP_FAILED)
        exit(1);
}

static void remove_directory(const char *path)
{
    DIR *listing = opendir(path);
    const struct dirent *entry;
    while (listing && (entry = readdir(listing)))
        unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
    rmdir(path);
}

static void end_all(void)
{
    for (unsigned i = 0; i < WORKERS; i++)
        end(&cluster.workers[i]);
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        end(&cluster.servers[i]);
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        char path[PATH_ROOM + 16];
        end(&cluster.controllers[c]);
        snprintf(path, sizeof path, "%s/%u", board->directory, c);
        remove_directory(path);
    }
    rmdir(board->directory);
}

void cluster_open(const char *wire, uint64_t seed)
{
    const char *under = getenv("TMPDIR");
    make_board();
    at_give_up = end_all;
    draw_random(&board->token, sizeof board->token);
    board->seed = seed;
    snprintf(board->wire, sizeof board->wire, "%s", wire);
    snprintf(board->directory, sizeof board->directory, "%s/pskills-XXXXXX",
             under && *under ? under : "/tmp");
    if (!mkdtemp(board->directory))
        give_up("no directory for the controllers");
    find_ports();
}

/* The first ones of each role have joined. Many that join at once would wait
 * for each other, and time out on a busy machine. */
static void await_started(unsigned servers, unsigned workers)
{
    static const uint64_t most_ns = 120000000000;
    uint64_t deadline_ns = gw_now_ns() + most_ns;
    unsigned server = 0, worker = 0;
    while (server < servers || worker < workers) {
        while (server < servers &&
               atomic_load(&board->servers[server].state) == SERVER_SERVING)
            server++;
        while (worker < workers && atomic_load(&board->workers[worker].ready))
            worker++;
        if (gw_now_ns() > deadline_ns)
            give_up("%u of %u servers and %u of %u workers have started",
                    server, servers, worker, workers);
        cluster_tick();
        nap_us(2000);
    }
}

void cluster_start(unsigned servers)
{
    for (unsigned c = 0; c < CONTROLLERS; c++)
        cluster.controllers[c] = spawn("controller", c, 0);
    observer_start(servers);
    for (unsigned i = 0; i < WORKERS; i++)
        cluster.worker_ns[i] = UINT64_MAX; /* not yet */
    for (unsigned i = 0; i < servers; i++) {
        cluster_start_server(i);
        if ((i + 1) % BATCH == 0)
            await_started(i + 1, 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        cluster_start_worker(i);
        if ((i + 1) % BATCH == 0)
            await_started(servers, i + 1);
    }
    await_started(servers, WORKERS);
}

void cluster_stop(void)
{
    end_all();
    observer_stop();
}
