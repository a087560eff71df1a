/* SPDX-License-Identifier: MIT
 *
 * The crew of pskills.h: starts, hits and mends processes.
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

enum { CONVICTED = 3 };
static const uint64_t elections_ns = 1000000000; /* a few of them */

struct crew crew;

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

void crew_start_server(unsigned seat)
{
    struct server_seat *s = &board->servers[seat];
    atomic_store(&s->down, 0);
    atomic_store(&s->leave, false);
    atomic_store(&s->freeze_ns, 0);
    atomic_store(&s->state, SEAT_STARTING);
    crew.leaving[seat] = false;
    crew.hit[seat] = HIT_NONE;
    crew.fresh_ns[seat] = gw_now_ns();
    diary("server %u is started", seat);
    crew.servers[seat] = spawn("server", seat, 0);
}

void crew_start_worker(unsigned seat)
{
    if (crew.lives == LIVES_MAX)
        give_up("a worker's life %d: there is no room on the board", LIVES_MAX);
    atomic_store(&board->workers[seat].down, 0);
    atomic_store(&board->workers[seat].held, 0);
    crew.life[seat] = crew.lives++;
    crew.worker_cut_ns[seat] = crew.worker_ns[seat] = 0;
    crew.workers[seat] = spawn("worker", seat, crew.life[seat]);
}

void crew_kill_server(unsigned seat, bool tell)
{
    end(&crew.servers[seat]);
    diary("server %u is killed%s", seat, tell ? "" : ", and nobody told");
    if (tell)
        observer_tell_lost(FIRST_SERVER + seat);
    crew.hit[seat] = HIT_DOWN;
    atomic_store(&board->servers[seat].state, SEAT_EMPTY);
}

void crew_pause_server(unsigned seat)
{
    crew.hit[seat] = HIT_PAUSED;
    diary("server %u is paused", seat);
    kill(crew.servers[seat], SIGSTOP);
}

void crew_kill_worker(unsigned seat)
{
    end(&crew.workers[seat]);
    diary("worker %u is killed", seat);
    observer_tell_lost(seat);
}

void crew_kill_controller(unsigned number)
{
    end(&crew.controllers[number]);
    diary("controller %u is killed", number);
}

/* ---- mending ---- */

static void hear_again(unsigned seat)
{
    uint64_t bit = UINT64_C(1) << (FIRST_SERVER + seat);
    atomic_store(&board->servers[seat].down, 0);
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        atomic_fetch_and(&board->servers[i].down, ~bit);
    for (unsigned i = 0; i < WORKERS; i++)
        atomic_fetch_and(&board->workers[i].down, ~bit);
}

static void mend_server(unsigned seat)
{
    enum hit hit = crew.hit[seat];
    diary("server %u is mended", seat);
    crew.hit[seat] = HIT_NONE;
    crew.fresh_ns[seat] = gw_now_ns();
    if (hit == HIT_DOWN)
        crew_start_server(seat);
    else if (hit == HIT_PAUSED)
        kill(crew.servers[seat], SIGCONT);
    else if (hit == HIT_CUT)
        hear_again(seat);
}

/* Killed at a failpoint. It comes back when it is mended. */
static void fell(unsigned seat)
{
    diary("server %u has died", seat);
    observer_tell_lost(FIRST_SERVER + seat);
    crew.leaving[seat] = false;
    crew.hit[seat] = HIT_DOWN;
    crew.mend_ns[seat] = UINT64_MAX;
    atomic_store(&board->servers[seat].state, SEAT_EMPTY);
}

static void look_at_servers(uint64_t now_ns)
{
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        int status;
        if (crew.hit[i] != HIT_NONE && now_ns >= crew.mend_ns[i])
            mend_server(i);
        if (atomic_load(&board->servers[i].state) != SEAT_SERVING)
            crew.fresh_ns[i] = now_ns;
        if (crew.servers[i] <= 0 ||
            waitpid(crew.servers[i], &status, WNOHANG) != crew.servers[i])
            continue;
        crew.servers[i] = 0;
        if (crew.doomed[i] && WIFSIGNALED(status)) {
            fell(i);
            continue;
        }
        if (!crew.leaving[i] || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            give_up("server %u has ended: status %d", i, status);
        crew.leaving[i] = false;
        diary("server %u has left", i);
        atomic_store(&board->servers[i].state, SEAT_EMPTY);
    }
}

static void look_at_workers(uint64_t now_ns)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        int status;
        if (crew.worker_cut_ns[i] && now_ns >= crew.worker_cut_ns[i]) {
            crew.worker_cut_ns[i] = 0;
            atomic_store(&board->workers[i].down, 0);
        }
        if (crew.workers[i] == 0 && now_ns >= crew.worker_ns[i])
            crew_start_worker(i);
        if (crew.workers[i] <= 0 ||
            waitpid(crew.workers[i], &status, WNOHANG) != crew.workers[i])
            continue;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != CONVICTED)
            give_up("worker %u has ended: status %d", i, status);
        crew.convicted_workers++;
        crew.workers[i] = 0;
        crew.worker_ns[i] = now_ns;
    }
}

void crew_turn(void)
{
    uint64_t now_ns = gw_now_ns();
    look_at_servers(now_ns);
    look_at_workers(now_ns);
    observer_look();
    for (unsigned c = 0; c < CONTROLLERS; c++)
        if (crew.controllers[c] == 0 && now_ns >= crew.controller_ns[c]) {
            crew.controllers[c] = spawn("controller", c, 0);
            crew.elected_ns = now_ns + elections_ns;
        }
    if (*board->wrong)
        give_up("%s", board->wrong);
}

void crew_mend_all(void)
{
    memset(crew.mend_ns, 0, sizeof crew.mend_ns);
    memset(crew.controller_ns, 0, sizeof crew.controller_ns);
    for (unsigned i = 0; i < WORKERS; i++) {
        crew.worker_ns[i] = 0;
        crew.worker_cut_ns[i] = crew.worker_cut_ns[i] ? 1 : 0;
    }
    crew_turn();
}

/* ---- state ---- */

bool crew_is_calm(void)
{
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        if (crew.hit[i] != HIT_NONE || crew.leaving[i] ||
            (crew.servers[i] > 0 &&
             atomic_load(&board->servers[i].state) != SEAT_SERVING))
            return false;
    for (unsigned i = 0; i < WORKERS; i++)
        if (crew.workers[i] == 0 || crew.worker_cut_ns[i])
            return false;
    for (unsigned c = 0; c < CONTROLLERS; c++)
        if (crew.controllers[c] == 0)
            return false;
    return gw_now_ns() > crew.elected_ns;
}

unsigned crew_servers(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        count += crew.servers[i] > 0 && !crew.leaving[i];
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
        end(&crew.workers[i]);
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        end(&crew.servers[i]);
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        char path[PATH_ROOM + 16];
        end(&crew.controllers[c]);
        snprintf(path, sizeof path, "%s/%u", board->directory, c);
        remove_directory(path);
    }
    rmdir(board->directory);
}

void crew_open(const char *wire, uint64_t seed)
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

void crew_start(unsigned servers)
{
    for (unsigned c = 0; c < CONTROLLERS; c++)
        crew.controllers[c] = spawn("controller", c, 0);
    observer_start(servers);
    for (unsigned i = 0; i < servers; i++)
        crew_start_server(i);
    crew_turn();
}

void crew_stop(void)
{
    end_all();
    observer_stop();
}
