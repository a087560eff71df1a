/* SPDX-License-Identifier: MIT
 *
 * The test's side of the members: its processes, controller and supervisor; see
 * ring_members.h.
 */
#include "ring_members.h"

#include <base/random.h>
#include <ring/ring_parts.h>
#include <wire/address.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct member_process *member_process(const struct ring_members *members,
                                      unsigned number)
{
    return &members->shared->processes[number];
}

static void endpoint_of(const struct ring_members *members, unsigned node,
                        char out[80])
{
    snprintf(out, 80, "ipc://@gw-members-%" PRIx64 "-%u", members->token, node);
}

/* ---- the supervisor ---- */

static void admit(struct ring_members *members)
{
    const struct gw__membership_update *update = &members->supervisor.update;
    struct gw__command command = {.kind = GW__CMD_ADMIT};
    if (members->admitted || update->joiner_count < members->plan.members)
        return;
    members->admitted = true;
    command.admit.ring_epoch = update->view.ring_epoch;
    command.admit.count = update->joiner_count;
    memcpy(command.admit.joiners, update->joiners,
           update->joiner_count * sizeof *update->joiners);
    gw__session_command(&members->supervisor, &command, 1);
}

static void on_notification(void *context,
                            const struct gw__notification *notification)
{
    struct ring_members *members = context;
    uint64_t ring_epoch = members->supervisor.update.view.ring_epoch;
    if (notification->kind != GW__NOTIFY_UPDATE)
        return;
    if (ring_epoch != members->ring_epoch)
        members->update_ns = gw_now_ns();
    members->ring_epoch = ring_epoch;
    admit(members);
}

static void start_controller(struct ring_members *members)
{
    static const unsigned nodes[] = {MEMBERS_CONTROLLER};
    char endpoint[80], raft[GW__ENDPOINT_MAX];
    const char *address = raft + strlen("tcp://");
    struct gw_error why = {0};
    ck_assert_int_eq(
        gw__address_bindable("tcp://127.0.0.1:*", raft, sizeof raft, &why),
        GW_OK);
    endpoint_of(members, MEMBERS_CONTROLLER, endpoint);
    const struct gw__controller_config config = {
        .count = 1,
        .nodes = nodes,
        .raft_addresses = &address,
        .directory = members->directory,
        .channel = {.node = MEMBERS_CONTROLLER,
                    .endpoint = endpoint,
                    .security.token = members->token}};
    enum gw_err err = gw__controller_start(&config, &members->controller, &why);
    ck_assert_msg(err == GW_OK, "controller: %s", why.text);
}

static void start_supervisor(struct ring_members *members)
{
    char endpoint[80], controller[80];
    struct gw_error why = {0};
    const struct gw__session_config config = {
        .node = MEMBERS_SUPERVISOR,
        .role = GW__OBSERVER,
        .endpoint = endpoint,
        .security.token = members->token,
        .controller_count = 1,
        .controllers = {{MEMBERS_CONTROLLER, controller}},
        .context = members,
        .on_notification = on_notification};
    endpoint_of(members, MEMBERS_SUPERVISOR, endpoint);
    endpoint_of(members, MEMBERS_CONTROLLER, controller);
    enum gw_err err = gw__session_init(&members->supervisor, &config, &why);
    if (!err)
        err = gw__session_start(&members->supervisor, 0, &why);
    ck_assert_msg(err == GW_OK, "supervisor: %s", why.text);
}

/* ---- starting and stopping ---- */

void ring_members_start(struct ring_members *members,
                        const struct members_plan *plan)
{
    memset(members, 0, sizeof *members);
    members->plan = *plan;
    ck_assert_int_eq(gw__draw(&members->token, sizeof members->token, NULL),
                     GW_OK);
    members->shared =
        mmap(NULL, sizeof *members->shared, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(members->shared, MAP_FAILED);
    for (unsigned i = 0; i < plan->processes; i++) {
        members->pids[i] = fork();
        ck_assert_int_ge(members->pids[i], 0);
        if (members->pids[i] == 0)
            member_main(members, i);
    }
    log_folder_make(members->directory);
    start_controller(members);
    start_supervisor(members);
    for (unsigned i = 0; i < plan->members; i++)
        members_let_join(members, i);
    unsigned stay =
        plan->most && plan->most < plan->members ? plan->most : plan->members;
    for (unsigned i = 0; i < stay; i++) /* higher numbers exceed the maximum */
        members_await_state(members, i, PROCESS_MEMBER);
}

void members_let_join(struct ring_members *members, unsigned number)
{
    atomic_store(&member_process(members, number)->go, true);
}

void members_stop(struct ring_members *members)
{
    gw__session_fini(&members->supervisor);
    gw__controller_stop(&members->controller);
    for (unsigned i = 0; i < members->plan.processes; i++)
        if (members->pids[i] > 0) {
            kill(members->pids[i], SIGKILL);
            waitpid(members->pids[i], NULL, 0);
        }
    log_folder_remove(members->directory);
    munmap(members->shared, sizeof *members->shared);
}

/* ---- deaths ---- */

bool members_is_alive(const struct ring_members *members, unsigned number)
{
    int state = atomic_load(&member_process(members, number)->state);
    return members->pids[number] > 0 &&
           (state == PROCESS_MEMBER || state == PROCESS_DONE);
}

void members_report_end(struct ring_members *members, unsigned number)
{
    const struct gw__view *view = &members->supervisor.update.view;
    gw__session_lock(&members->supervisor);
    int rank = gw__view_rank(view, number);
    if (rank >= 0)
        gw__session_lost(
            &members->supervisor,
            (struct gw__process){number, view->ring[rank].incarnation});
    gw__session_unlock(&members->supervisor);
}

uint64_t members_kill_unreported(struct ring_members *members, unsigned number)
{
    uint64_t now_ns = gw_now_ns();
    kill(members->pids[number], SIGKILL);
    waitpid(members->pids[number], NULL, 0);
    members->pids[number] = -1;
    return now_ns;
}

uint64_t members_kill(struct ring_members *members, unsigned number)
{
    uint64_t now_ns = members_kill_unreported(members, number);
    members_report_end(members, number);
    return now_ns;
}
