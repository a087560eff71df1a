/* SPDX-License-Identifier: MIT
 *
 * The crew of pskills.h: processes are started, hit and mended here, and an
 * observer hears the news of the controllers and tells them of deaths that are
 * certain, as a run's supervisor does.
 */
#include "pskills.h"

#include <control/driver.h>
#include <ring/member.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BOARD_FD = 3, CONVICTED = 3 };
static const uint64_t whole_ns = 30000000000;

struct board *board;
struct crew crew;

static void end_all(void);

static struct gw__driver *observer;
static pthread_mutex_t news_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gw__news news;

/* ---- what all have in common ---- */

void nap_us(uint64_t us)
{
    struct timespec time = {.tv_sec = (time_t)(us / 1000000),
                            .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL);
}

uint64_t now_plus_ms(uint64_t ms)
{
    return gw_now_ns() + ms * 1000000;
}

/* ---- the diary ---- */

enum { DIARY_LINES = 512, DIARY_SHOWN = 160 };
static struct {
    uint64_t time_ns;
    char text[TEXT_ROOM];
} lines[DIARY_LINES];
static _Atomic unsigned line_count;

void diary(const char *format, ...)
{
    unsigned at = atomic_fetch_add(&line_count, 1) % DIARY_LINES;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(lines[at].text, sizeof lines[at].text, format, arguments);
    va_end(arguments);
    lines[at].time_ns = gw_now_ns();
}

static void print_diary(void)
{
    unsigned count = atomic_load(&line_count), from = 0;
    if (count > DIARY_SHOWN)
        from = count - DIARY_SHOWN;
    for (unsigned i = from; i < count; i++)
        fprintf(stderr, "%14.3f %s\n",
                (double)lines[i % DIARY_LINES].time_ns / 1e6,
                lines[i % DIARY_LINES].text);
}

void give_up(const char *format, ...)
{
    char text[TEXT_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "pskills: %s\n", text);
    memcpy(board->wrong, text, sizeof board->wrong);
    if (observer) { /* only the parent has one */
        print_diary();
        end_all();
    }
    _exit(1);
}

void endpoint_of(unsigned node, char out[ENDPOINT_ROOM])
{
    snprintf(out, ENDPOINT_ROOM, "ipc://@gradwire-%llx-%u",
             (unsigned long long)board->token, node);
}

void addresses_of(unsigned node, struct addresses *addresses)
{
    endpoint_of(node, addresses->own);
    for (unsigned c = 0; c < CONTROLLERS; c++)
        endpoint_of(FIRST_CONTROLLER + c, addresses->controllers[c]);
}

static const struct gw_ps_table_config counters = {
    .name = "counters", .width = 1, .updater = GW_PS_ADD};

uint64_t key_of(unsigned life, unsigned k)
{
    struct gw__routes routes = {.slot_count = SLOTS};
    uint64_t key = (uint64_t)life << 32 | (uint64_t)k << 16;
    while (gw__route_slot(&routes, &counters, key) != k % SLOTS)
        key++;
    return key;
}

enum gw_err open_counters(struct gw_ps *ps, unsigned *table,
                          struct gw_error *why)
{
    struct gw_ps_table_config config = counters;
    return gw_ps_table(ps, &config, table, why);
}

struct gw_ps_config client_config(unsigned node, struct addresses *addresses)
{
    struct gw_ps_config config = {.node = node,
                                  .endpoint = addresses->own,
                                  .token = board->token,
                                  .controller_count = CONTROLLERS,
                                  .wire = board->wire,
                                  .seed = board->seed};
    addresses_of(node, addresses);
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        config.controllers[c] = FIRST_CONTROLLER + c;
        config.controller_endpoints[c] = addresses->controllers[c];
    }
    return config;
}

/* ---- the observer ---- */

static void note_route(unsigned slot, const struct gw__slot_route *route)
{
    char text[TEXT_ROOM];
    int used = snprintf(text, sizeof text, "slot %u term %llu in sync", slot,
                        (unsigned long long)route->term);
    for (unsigned i = 0; i < route->count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %d",
                         route->replica[i] - FIRST_SERVER);
    diary("%s, learner %d leaver %d heir %d", text,
          route->learner - FIRST_SERVER, route->leaver - FIRST_SERVER,
          route->heir - FIRST_SERVER);
}

static void on_tell(void *context, const void *data, size_t bytes)
{
    const struct gw__told *told = data;
    const struct gw__news *now = gw__member_news(gw__driver_state(observer));
    (void)context;
    if (bytes != sizeof *told || told->kind != GW__TOLD_NEWS)
        return;
    for (unsigned s = 0; s < now->routes.slot_count; s++)
        if (now->routes.slots[s].term != news.routes.slots[s].term)
            note_route(s, &now->routes.slots[s]);
    pthread_mutex_lock(&news_lock);
    news = *now;
    pthread_mutex_unlock(&news_lock);
}

/* The data of a slot without a primary are gone. */
static void look_for_lost_slots(void)
{
    unsigned lost = SLOTS;
    pthread_mutex_lock(&news_lock);
    for (unsigned s = 0; s < news.routes.slot_count; s++)
        if (news.routes.slots[s].term > 0 &&
            news.routes.slots[s].primary == GW__NO_NODE)
            lost = s;
    pthread_mutex_unlock(&news_lock);
    if (lost < SLOTS)
        give_up("slot %u is lost", lost);
}

static void draw(void *out, size_t bytes)
{
    if (getrandom(out, bytes, 0) != (ssize_t)bytes)
        give_up("no random numbers");
}

static void start_observer(unsigned servers)
{
    struct addresses addresses;
    struct gw_error why;
    struct gw__member_config start = {.node = OBSERVER,
                                      .role = GW__OBSERVER,
                                      .controller_count = CONTROLLERS};
    struct gw__driver_peer peers[CONTROLLERS];
    addresses_of(OBSERVER, &addresses);
    draw(&start.incarnation, sizeof start.incarnation);
    draw(&start.client, sizeof start.client);
    snprintf(start.endpoint, sizeof start.endpoint, "%s", addresses.own);
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        start.controllers[c] = (uint8_t)(FIRST_CONTROLLER + c);
        peers[c] = (struct gw__driver_peer){FIRST_CONTROLLER + c,
                                            addresses.controllers[c]};
    }
    const struct gw__driver_config config = {
        .kind = &gw__member_machine,
        .mesh = {.node = OBSERVER,
                 .incarnation_high = start.incarnation.high,
                 .incarnation_low = start.incarnation.low,
                 .endpoint = addresses.own,
                 .token = board->token},
        .seed = board->seed,
        .peers = peers,
        .peer_count = CONTROLLERS,
        .start = &start,
        .start_bytes = sizeof start,
        .on_tell = on_tell};
    const struct gw__command routes = {
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = SLOTS, .replicas = REPLICAS, .servers = servers}};
    uint8_t ask[GW__MEMBER_ASK_MAX];
    if (gw__driver_start(&config, &observer, &why))
        give_up("observer: %s", why.text);
    size_t bytes = gw__member_ask_command(ask, &routes, 1);
    if (gw__driver_ask(observer, ask, bytes))
        give_up("observer: the driver does not listen");
}

/* Its process has ended, that is certain. */
static void tell_lost(unsigned node)
{
    uint8_t ask[GW__MEMBER_ASK_MAX];
    struct gw__process who = {GW__NODE_ANY, {0, 0}};
    pthread_mutex_lock(&news_lock);
    for (unsigned i = 0; i < news.crew_count; i++)
        if (news.crew[i].node == node)
            who = (struct gw__process){node, news.crew[i].incarnation};
    pthread_mutex_unlock(&news_lock);
    if (who.node == GW__NODE_ANY)
        return; /* it was out already, or not in yet */
    size_t bytes = gw__member_ask_lost(ask, who);
    if (gw__driver_ask(observer, ask, bytes))
        give_up("observer: the driver does not listen");
}

void crew_news(struct gw__news *out)
{
    pthread_mutex_lock(&news_lock);
    *out = news;
    pthread_mutex_unlock(&news_lock);
}

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

/* Kills and waits until it is no more. */
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
        tell_lost(FIRST_SERVER + seat);
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
    tell_lost(seat);
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
    look_for_lost_slots();
    for (unsigned c = 0; c < CONTROLLERS; c++)
        if (crew.controllers[c] == 0 && now_ns >= crew.controller_ns[c])
            crew.controllers[c] = spawn("controller", c, 0);
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

/* ---- how it stands ---- */

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
    return true;
}

unsigned crew_servers(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        count += crew.servers[i] > 0 && !crew.leaving[i];
    return count;
}

bool crew_is_whole(void)
{
    struct gw__news now;
    unsigned members = 0, wanted = crew_servers();
    crew_news(&now);
    for (unsigned i = 0; i < now.crew_count; i++)
        members += now.crew[i].role == GW__SERVER;
    if (members != wanted || now.routes.slot_count != SLOTS)
        return false;
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw__slot_route *slot = &now.routes.slots[s];
        unsigned most = wanted < REPLICAS ? wanted : REPLICAS;
        if (slot->primary == GW__NO_NODE || slot->count < most ||
            slot->learner != GW__NO_NODE || slot->heir != GW__NO_NODE)
            return false;
    }
    return true;
}

/* Nothing happens to it, and nothing did just now: the news that it has what
 * the routes say is about this process, not the one before it. */
static bool is_sound(unsigned node, uint64_t now_ns)
{
    unsigned seat = node - FIRST_SERVER;
    return seat < SERVERS_MAX && crew.servers[seat] > 0 &&
           !crew.leaving[seat] && crew.hit[seat] == HIT_NONE &&
           now_ns - crew.fresh_ns[seat] > 300000000;
}

bool crew_may_lose(unsigned seat)
{
    struct gw__news now;
    uint64_t now_ns = gw_now_ns();
    crew_news(&now);
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw__slot_route *slot = &now.routes.slots[s];
        unsigned safe = 0;
        for (unsigned i = 0; i < slot->count; i++)
            safe += slot->replica[i] != FIRST_SERVER + seat &&
                    slot->replica[i] != slot->leaver &&
                    is_sound(slot->replica[i], now_ns);
        if (safe == 0)
            return false;
    }
    return now.routes.slot_count == SLOTS;
}

static void say_slots(void)
{
    struct gw__news now;
    crew_news(&now);
    fprintf(stderr, "pskills: epoch %llu, servers",
            (unsigned long long)now.view.epoch);
    for (unsigned i = 0; i < now.crew_count; i++)
        if (now.crew[i].role == GW__SERVER)
            fprintf(stderr, " %u", now.crew[i].node - FIRST_SERVER);
    fprintf(stderr, "\n");
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        fprintf(stderr,
                "  server %u: process %d, state %d, hit %d, leaving %d, "
                "convicted %llu times\n",
                i, (int)crew.servers[i], atomic_load(&board->servers[i].state),
                crew.hit[i], crew.leaving[i],
                (unsigned long long)atomic_load(&board->servers[i].convicted));
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw__slot_route *slot = &now.routes.slots[s];
        fprintf(stderr, "  slot %2u term %llu in sync", s,
                (unsigned long long)slot->term);
        for (unsigned i = 0; i < slot->count; i++)
            fprintf(stderr, " %d", slot->replica[i] - FIRST_SERVER);
        fprintf(stderr, ", learner %d leaver %d heir %d\n", slot->learner,
                slot->leaver, slot->heir);
    }
}

void crew_await_whole(void)
{
    uint64_t deadline_ns = gw_now_ns() + whole_ns;
    while (!crew_is_calm() || !crew_is_whole()) {
        crew_turn();
        watch_collect();
        if (gw_now_ns() > deadline_ns) {
            say_slots();
            give_up("the slots are not whole again in 30 s");
        }
        nap_us(2000);
    }
}

/* ---- all of it ---- */

static void find_ports(void)
{
    int fds[CONTROLLERS];
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        struct sockaddr_in address = {.sin_family = AF_INET};
        socklen_t size = sizeof address;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fds[c] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fds[c] < 0 || bind(fds[c], (struct sockaddr *)&address, size) ||
            getsockname(fds[c], (struct sockaddr *)&address, &size))
            give_up("no port for a controller");
        snprintf(board->raft[c], sizeof board->raft[c], "127.0.0.1:%u",
                 ntohs(address.sin_port));
    }
    for (unsigned c = 0; c < CONTROLLERS; c++)
        close(fds[c]);
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

void crew_start(const char *wire, uint64_t seed, unsigned servers)
{
    const char *under = getenv("TMPDIR");
    make_board();
    draw(&board->token, sizeof board->token);
    board->seed = seed;
    snprintf(board->wire, sizeof board->wire, "%s", wire);
    snprintf(board->directory, sizeof board->directory, "%s/pskills-XXXXXX",
             under && *under ? under : "/tmp");
    if (!mkdtemp(board->directory))
        give_up("no directory for the controllers");
    find_ports();
    for (unsigned c = 0; c < CONTROLLERS; c++)
        crew.controllers[c] = spawn("controller", c, 0);
    start_observer(servers);
    for (unsigned i = 0; i < servers; i++)
        crew_start_server(i);
    crew_turn();
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

void crew_stop(void)
{
    struct gw__driver *old = observer; /* on_tell looks at that one */
    end_all();
    gw__driver_stop(&old);
}
