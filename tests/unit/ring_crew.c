/* SPDX-License-Identifier: MIT
 *
 * The test's side of the crew: its processes, controller and supervisor; see
 * ring_crew.h.
 */
#include "ring_crew.h"

#include <base/random.h>
#include <ring/ring_parts.h>
#include <wire/address.h>

#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct crew_seat *crew_seat(const struct crew *crew, unsigned seat)
{
    return &crew->shared->seats[seat];
}

static void endpoint_of(const struct crew *crew, unsigned node, char out[80])
{
    snprintf(out, 80, "ipc://@gw-crew-%" PRIx64 "-%u", crew->token, node);
}

/* ---- the supervisor ---- */

static void admit(struct crew *crew)
{
    const struct gw__membership_update *update = &crew->supervisor.update;
    struct gw__command command = {.kind = GW__CMD_ADMIT};
    if (crew->admitted || update->joiner_count < crew->plan.members)
        return;
    crew->admitted = true;
    command.admit.ring_epoch = update->view.ring_epoch;
    command.admit.count = update->joiner_count;
    memcpy(command.admit.joiners, update->joiners,
           update->joiner_count * sizeof *update->joiners);
    gw__session_command(&crew->supervisor, &command, 1);
}

static void on_told(void *context, const struct gw__notification *notification)
{
    struct crew *crew = context;
    uint64_t ring_epoch = crew->supervisor.update.view.ring_epoch;
    if (notification->kind != GW__NOTIFY_UPDATE)
        return;
    if (ring_epoch != crew->ring_epoch)
        crew->news_ns = gw_now_ns();
    crew->ring_epoch = ring_epoch;
    admit(crew);
}

static void start_controller(struct crew *crew)
{
    static const unsigned nodes[] = {CREW_CONTROLLER};
    char endpoint[80], raft[GW__ENDPOINT_MAX];
    const char *address = raft + strlen("tcp://");
    struct gw_error why = {0};
    ck_assert_int_eq(
        gw__address_bindable("tcp://127.0.0.1:*", raft, sizeof raft, &why),
        GW_OK);
    endpoint_of(crew, CREW_CONTROLLER, endpoint);
    const struct gw__controller_config config = {
        .count = 1,
        .nodes = nodes,
        .raft_addresses = &address,
        .directory = crew->directory,
        .channel = {.node = CREW_CONTROLLER,
                    .endpoint = endpoint,
                    .token = crew->token}};
    enum gw_err err = gw__controller_start(&config, &crew->controller, &why);
    ck_assert_msg(err == GW_OK, "controller: %s", why.text);
}

static void start_supervisor(struct crew *crew)
{
    char endpoint[80], controller[80];
    struct gw_error why = {0};
    const struct gw__session_config config = {
        .node = CREW_SUPERVISOR,
        .role = GW__OBSERVER,
        .endpoint = endpoint,
        .token = crew->token,
        .controller_count = 1,
        .controllers = {{CREW_CONTROLLER, controller}},
        .context = crew,
        .on_notification = on_told};
    endpoint_of(crew, CREW_SUPERVISOR, endpoint);
    endpoint_of(crew, CREW_CONTROLLER, controller);
    enum gw_err err = gw__session_init(&crew->supervisor, &config, &why);
    if (!err)
        err = gw__session_start(&crew->supervisor, 0, &why);
    ck_assert_msg(err == GW_OK, "supervisor: %s", why.text);
}

/* ---- starting and stopping ---- */

/* For the controller's log: in memory if possible, since a busy disk may block
 * it for seconds. */
static void make_directory(struct crew *crew)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    bool made = false;
    for (unsigned i = 0; i < 2 && !made; i++) {
        snprintf(crew->directory, sizeof crew->directory, "%s/gw-crew-XXXXXX",
                 places[i]);
        made = mkdtemp(crew->directory);
    }
    ck_assert(made);
}

void ring_crew_start(struct crew *crew, const struct crew_plan *plan)
{
    memset(crew, 0, sizeof *crew);
    crew->plan = *plan;
    ck_assert_int_eq(gw__draw(&crew->token, sizeof crew->token, NULL), GW_OK);
    crew->shared = mmap(NULL, sizeof *crew->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(crew->shared, MAP_FAILED);
    for (unsigned i = 0; i < plan->seats; i++) {
        crew->pids[i] = fork();
        ck_assert_int_ge(crew->pids[i], 0);
        if (crew->pids[i] == 0)
            crew_member(crew, i);
    }
    make_directory(crew);
    start_controller(crew);
    start_supervisor(crew);
    for (unsigned i = 0; i < plan->members; i++)
        crew_go(crew, i);
    unsigned stay =
        plan->most && plan->most < plan->members ? plan->most : plan->members;
    for (unsigned i = 0; i < stay; i++) /* higher numbers exceed the maximum */
        crew_await_state(crew, i, CREW_MEMBER);
}

void crew_go(struct crew *crew, unsigned seat)
{
    atomic_store(&crew_seat(crew, seat)->go, true);
}

static int remove_one(const char *path, const struct stat *stat, int type,
                      struct FTW *ftw)
{
    (void)stat, (void)type, (void)ftw;
    return remove(path);
}

void crew_stop(struct crew *crew)
{
    gw__session_fini(&crew->supervisor);
    gw__controller_stop(&crew->controller);
    for (unsigned i = 0; i < crew->plan.seats; i++)
        if (crew->pids[i] > 0) {
            kill(crew->pids[i], SIGKILL);
            waitpid(crew->pids[i], NULL, 0);
        }
    nftw(crew->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    munmap(crew->shared, sizeof *crew->shared);
}

/* ---- deaths ---- */

bool crew_lives(const struct crew *crew, unsigned seat)
{
    int state = atomic_load(&crew_seat(crew, seat)->state);
    return crew->pids[seat] > 0 && (state == CREW_MEMBER || state == CREW_DONE);
}

void ring_crew_accuse(struct crew *crew, unsigned seat)
{
    const struct gw__view *view = &crew->supervisor.update.view;
    gw__session_lock(&crew->supervisor);
    int rank = gw__view_rank(view, seat);
    if (rank >= 0)
        gw__session_lost(
            &crew->supervisor,
            (struct gw__process){seat, view->ring[rank].incarnation});
    gw__session_unlock(&crew->supervisor);
}

uint64_t crew_kill_unseen(struct crew *crew, unsigned seat)
{
    uint64_t now_ns = gw_now_ns();
    kill(crew->pids[seat], SIGKILL);
    waitpid(crew->pids[seat], NULL, 0);
    crew->pids[seat] = -1;
    return now_ns;
}

uint64_t crew_kill(struct crew *crew, unsigned seat)
{
    uint64_t now_ns = crew_kill_unseen(crew, seat);
    ring_crew_accuse(crew, seat);
    return now_ns;
}
