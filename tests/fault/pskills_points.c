/* SPDX-License-Identifier: MIT
 *
 * A server of the parameter server dies at every failpoint of its protocols,
 * and a controller at those of its log. The oracle of pskills.h checks all sums
 * after each death. Each server is also stopped there in turn, and fails where
 * the step can fail.
 *
 * The scene that makes a server reach the place:
 *
 *     STEADY   workers push, in work items and outside of them
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

static const struct fault_point {
    enum gw__failpoint point;
    enum need need;
} fault_points[] = {
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
enum { FAULT_POINTS = sizeof fault_points / sizeof *fault_points };

static const enum gw__failpoint log_fault_points[] = {GW__AT_RAFT_APPEND,
                                                      GW__AT_RAFT_APPENDED};
enum { LOG_FAULT_POINTS = sizeof log_fault_points / sizeof *log_fault_points };

/* ---- in the processes ---- */

void apply_failpoint_command(struct failpoint_command *mine)
{
    struct gw_error why;
    unsigned issued = atomic_load(&mine->issued);
    if (issued == atomic_load(&mine->applied))
        return;
    gw__failpoints_count(mine->reached);
    if (gw__failpoints_arm(mine->text, &why))
        give_up("%s", why.text);
    atomic_store(&mine->applied, issued);
}

/* ---- in the parent ---- */

static bool ever[GW__FAILPOINTS];
static unsigned deaths, stops, failures, elsewhere;

static void go_on(void)
{
    cluster_tick();
    ack_monitor_collect();
    nap_us(500);
}

/* Sets the action at a place; "": none. */
static void issue_command(struct failpoint_command *command,
                          enum gw__failpoint point, const char *action)
{
    uint64_t deadline_ns = now_plus_ms(bound_ms);
    memset(command->reached, 0, sizeof command->reached);
    snprintf(command->text, sizeof command->text, "%s%s%s",
             *action ? gw__failpoint_info(point)->name : "", *action ? "=" : "",
             action);
    atomic_fetch_add(&command->issued, 1);
    while (atomic_load(&command->applied) != atomic_load(&command->issued)) {
        if (gw_now_ns() > deadline_ns)
            give_up("an order to stop at %s is not heard",
                    gw__failpoint_info(point)->name);
        go_on();
    }
}

static unsigned other_than(unsigned number)
{
    return (number + 1) % SERVERS;
}

static void provoke(enum need need, unsigned number)
{
    unsigned other = other_than(number);
    if (need == DEATH) {
        cluster_kill_server(other, true);
        cluster.mend_ns[other] = now_plus_ms(10 * bound_ms);
    } else if (need == LEAVE) {
        cluster.leaving[number] = true;
        atomic_store(&board->servers[number].leave, true);
    }
}

/* True: it has reached the place, and is dead if `dies`. */
static bool await(unsigned number, enum gw__failpoint point, bool dies)
{
    const struct failpoint_command *command = &board->servers[number].command;
    uint64_t deadline_ns = now_plus_ms(patience_ms);
    for (;;) {
        bool reached = atomic_load(&command->reached[point]) > 0;
        if (reached && (!dies || cluster.servers[number] <= 0))
            return true;
        if (cluster.servers[number] <= 0 || gw_now_ns() > deadline_ns)
            return reached;
        go_on();
    }
}

/* Starts servers that have left or died again. */
static void mend(void)
{
    uint64_t deadline_ns = now_plus_ms(bound_ms);
    for (unsigned i = 0; i < SERVERS; i++)
        while (cluster.leaving[i] && cluster.servers[i] > 0) {
            if (gw_now_ns() > deadline_ns)
                give_up("server %u does not leave", i);
            go_on();
        }
    cluster_mend_all();
    for (unsigned i = 0; i < SERVERS; i++)
        if (cluster.servers[i] <= 0)
            cluster_start_server(i);
    check_sums();
}

static void one(const struct fault_point *place, unsigned number,
                const char *action)
{
    const char *name = gw__failpoint_info(place->point)->name;
    uint64_t began_ns = gw_now_ns();
    bool dies = strcmp(action, "kill") == 0;
    diary("server %u: %s=%s", number, name, action);
    cluster.doomed[number] = dies;
    issue_command(&board->servers[number].command, place->point, action);
    provoke(place->need, number);
    bool there = await(number, place->point, dies);
    cluster.doomed[number] = false;
    if (!there && cluster.servers[number] > 0)
        issue_command(&board->servers[number].command, place->point, "");
    mend();
    ever[place->point] |= there;
    deaths += there && dies;
    stops += there && strncmp(action, "pause", 5) == 0;
    failures += there && strncmp(action, "error", 5) == 0;
    elsewhere += !there;
    printf("  server %u, %s=%s%s: %.0f ms\n", number, name, action,
           there ? "" : " (does not get there)",
           (double)(gw_now_ns() - began_ns) / 1e6);
    fflush(stdout);
}

static void one_of_log(enum gw__failpoint point, unsigned number)
{
    uint64_t began_ns = gw_now_ns(), deadline_ns = now_plus_ms(bound_ms);
    const char *name = gw__failpoint_info(point)->name;
    diary("controller %u: %s=kill", number, name);
    struct failpoint_command *command = &board->commands[number];
    issue_command(command, point, "kill");
    while (waitpid(cluster.controllers[number], NULL, WNOHANG) == 0) {
        /* A server that leaves and comes back is in all logs. */
        if (gw_now_ns() > deadline_ns)
            give_up("controller %u does not get to %s", number, name);
        if (cluster.servers[0] > 0 && !cluster.leaving[0])
            provoke(LEAVE, 0);
        go_on();
    }
    cluster.controllers[number] = 0;
    cluster.controller_ns[number] = gw_now_ns();
    mend();
    ever[point] = true;
    deaths++;
    printf("  controller %u, %s=kill: %.0f ms\n", number, name,
           (double)(gw_now_ns() - began_ns) / 1e6);
    fflush(stdout);
}

static void test_failpoint(unsigned p)
{
    char pause[16];
    snprintf(pause, sizeof pause, "pause:%d", PAUSE_MS);
    for (unsigned number = 0; number < SERVERS; number++)
        one(&fault_points[p], number, "kill");
    one(&fault_points[p], p % SERVERS, pause);
    if (gw__failpoint_fails(fault_points[p].point))
        one(&fault_points[p], p % SERVERS, "error@2");
}

/* The slice: each `of`-th place from `part` on. */
int test_failpoints(unsigned part, unsigned of)
{
    unsigned missing = 0;
    uint64_t began_ns = gw_now_ns();
    for (unsigned p = part; p < FAULT_POINTS; p += of)
        test_failpoint(p);
    for (unsigned p = 0; p < LOG_FAULT_POINTS && part == 0; p++)
        for (unsigned number = 0; number < CONTROLLERS; number++)
            one_of_log(log_fault_points[p], number);
    for (unsigned p = part; p < FAULT_POINTS; p += of)
        if (!ever[fault_points[p].point]) {
            printf("failpoint %s was never reached\n",
                   gw__failpoint_info(fault_points[p].point)->name);
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
