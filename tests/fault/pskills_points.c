/* SPDX-License-Identifier: MIT
 *
 * A server of the parameter server dies at every failpoint of its protocols,
 * and a controller at those of its log. The oracle of pskills.h checks all sums
 * after each death. Each server is also stopped there in turn, and fails where
 * the step can fail.
 *
 * The scene that makes a server reach the place:
 *
 *     STEADY   workers push, in units of work and outside of them
 *     DEATH    another server is killed: others take over its slots, and become
 *              replicas of them
 *     LEAVE    the server hands its slots over
 *
 * Not every server reaches every place (only one has the clock), but each place
 * must be reached by some server.
 */
#include "pskills.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const uint64_t patience_ms = 1500, bound_ms = 20000;
enum { SERVERS = SERVERS_LEAST, PAUSE_MS = 30 };

enum need { STEADY, DEATH, LEAVE };

static const struct place {
    enum gw__failpoint point;
    enum need need;
} places[] = {
    {GW__AT_PS_PUSH, STEADY},         {GW__AT_PS_LOG, STEADY},
    {GW__AT_PS_LOGGED, STEADY},       {GW__AT_PS_ENTRY, STEADY},
    {GW__AT_PS_FOLLOWED, STEADY},     {GW__AT_PS_COMMITTED, STEADY},
    {GW__AT_PS_APPLIED, STEADY},      {GW__AT_PS_REPLY, STEADY},
    {GW__AT_PS_SENT, STEADY},         {GW__AT_PS_LEASE, STEADY},
    {GW__AT_PS_ROUND_COMMIT, STEADY}, {GW__AT_PS_CLOSED, STEADY},
    {GW__AT_PS_LEAD, DEATH},          {GW__AT_PS_COPY, DEATH},
    {GW__AT_PS_LEARN, DEATH},         {GW__AT_PS_LOADED, DEATH},
    {GW__AT_PS_PROMOTE, DEATH},       {GW__AT_PS_FREEZE, LEAVE},
    {GW__AT_PS_HANDOVER, LEAVE},      {GW__AT_PS_YIELD, LEAVE},
};
enum { PLACES = sizeof places / sizeof *places };

static const enum gw__failpoint log_places[] = {GW__AT_RAFT_APPEND,
                                                GW__AT_RAFT_APPENDED};
enum { LOG_PLACES = sizeof log_places / sizeof *log_places };

/* ---- in the processes ---- */

void take_order(struct order *mine)
{
    struct gw_error why;
    unsigned given = atomic_load(&mine->given);
    if (given == atomic_load(&mine->taken))
        return;
    gw__failpoints_count(mine->reached);
    if (gw__failpoints_arm(mine->text, &why))
        give_up("%s", why.text);
    atomic_store(&mine->taken, given);
}

/* ---- in the parent ---- */

static bool ever[GW__FAILPOINTS];
static unsigned deaths, stops, failures, elsewhere;

static void go_on(void)
{
    crew_turn();
    watch_collect();
    nap_us(500);
}

/* Sets the action at a place; "": none. */
static void give(struct order *order, enum gw__failpoint point,
                 const char *deed)
{
    uint64_t deadline_ns = now_plus_ms(bound_ms);
    memset(order->reached, 0, sizeof order->reached);
    snprintf(order->text, sizeof order->text, "%s%s%s",
             *deed ? gw__failpoint_info(point)->name : "", *deed ? "=" : "",
             deed);
    atomic_fetch_add(&order->given, 1);
    while (atomic_load(&order->taken) != atomic_load(&order->given)) {
        if (gw_now_ns() > deadline_ns)
            give_up("an order to stop at %s is not heard",
                    gw__failpoint_info(point)->name);
        go_on();
    }
}

static unsigned other_than(unsigned seat)
{
    return (seat + 1) % SERVERS;
}

static void provoke(enum need need, unsigned seat)
{
    unsigned other = other_than(seat);
    if (need == DEATH) {
        crew_kill_server(other, true);
        crew.mend_ns[other] = now_plus_ms(10 * bound_ms);
    } else if (need == LEAVE) {
        crew.leaving[seat] = true;
        atomic_store(&board->servers[seat].leave, true);
    }
}

/* True: it has reached the place, and is dead if `dies`. */
static bool await(unsigned seat, enum gw__failpoint point, bool dies)
{
    const struct order *order = &board->servers[seat].order;
    uint64_t deadline_ns = now_plus_ms(patience_ms);
    for (;;) {
        bool reached = atomic_load(&order->reached[point]) > 0;
        if (reached && (!dies || crew.servers[seat] <= 0))
            return true;
        if (crew.servers[seat] <= 0 || gw_now_ns() > deadline_ns)
            return reached;
        go_on();
    }
}

/* Starts servers that have left or died again. */
static void mend(void)
{
    uint64_t deadline_ns = now_plus_ms(bound_ms);
    for (unsigned i = 0; i < SERVERS; i++)
        while (crew.leaving[i] && crew.servers[i] > 0) {
            if (gw_now_ns() > deadline_ns)
                give_up("server %u does not leave", i);
            go_on();
        }
    crew_mend_all();
    for (unsigned i = 0; i < SERVERS; i++)
        if (crew.servers[i] <= 0)
            crew_start_server(i);
    check_sums();
}

static void one(const struct place *place, unsigned seat, const char *deed)
{
    const char *name = gw__failpoint_info(place->point)->name;
    uint64_t began_ns = gw_now_ns();
    bool dies = strcmp(deed, "kill") == 0;
    diary("server %u: %s=%s", seat, name, deed);
    crew.doomed[seat] = dies;
    give(&board->servers[seat].order, place->point, deed);
    provoke(place->need, seat);
    bool there = await(seat, place->point, dies);
    crew.doomed[seat] = false;
    if (!there && crew.servers[seat] > 0)
        give(&board->servers[seat].order, place->point, "");
    mend();
    ever[place->point] |= there;
    deaths += there && dies;
    stops += there && strncmp(deed, "pause", 5) == 0;
    failures += there && strncmp(deed, "error", 5) == 0;
    elsewhere += !there;
    printf("  server %u, %s=%s%s: %.0f ms\n", seat, name, deed,
           there ? "" : " (does not get there)",
           (double)(gw_now_ns() - began_ns) / 1e6);
    fflush(stdout);
}

static void one_of_log(enum gw__failpoint point, unsigned number)
{
    uint64_t began_ns = gw_now_ns(), deadline_ns = now_plus_ms(bound_ms);
    const char *name = gw__failpoint_info(point)->name;
    diary("controller %u: %s=kill", number, name);
    struct order *order = &board->orders[number];
    give(order, point, "kill");
    while (waitpid(crew.controllers[number], NULL, WNOHANG) == 0) {
        /* A server that leaves and comes back is in all logs. */
        if (gw_now_ns() > deadline_ns)
            give_up("controller %u does not get to %s", number, name);
        if (crew.servers[0] > 0 && !crew.leaving[0])
            provoke(LEAVE, 0);
        go_on();
    }
    crew.controllers[number] = 0;
    crew.controller_ns[number] = gw_now_ns();
    mend();
    ever[point] = true;
    deaths++;
    printf("  controller %u, %s=kill: %.0f ms\n", number, name,
           (double)(gw_now_ns() - began_ns) / 1e6);
    fflush(stdout);
}

static void walk_place(unsigned p)
{
    char pause[16];
    snprintf(pause, sizeof pause, "pause:%d", PAUSE_MS);
    for (unsigned seat = 0; seat < SERVERS; seat++)
        one(&places[p], seat, "kill");
    one(&places[p], p % SERVERS, pause);
    if (gw__failpoint_fails(places[p].point))
        one(&places[p], p % SERVERS, "error@2");
}

/* The slice: each `of`-th place from `part` on. */
int walk_points(unsigned part, unsigned of)
{
    unsigned missing = 0;
    uint64_t began_ns = gw_now_ns();
    for (unsigned p = part; p < PLACES; p += of)
        walk_place(p);
    for (unsigned p = 0; p < LOG_PLACES && part == 0; p++)
        for (unsigned number = 0; number < CONTROLLERS; number++)
            one_of_log(log_places[p], number);
    for (unsigned p = part; p < PLACES; p += of)
        if (!ever[places[p].point]) {
            printf("failpoint %s was never reached\n",
                   gw__failpoint_info(places[p].point)->name);
            missing++;
        }
    printf("failpoints of the parameter server: %u deaths, %u pauses, %u "
           "failures, %u that a server does not get to; %u checks with %llu "
           "sums, lost 0, doubled 0; %.0f s\n",
           deaths, stops, failures, elsewhere, checks,
           (unsigned long long)sums_compared,
           (double)(gw_now_ns() - began_ns) / 1e9);
    return missing > 0;
}
