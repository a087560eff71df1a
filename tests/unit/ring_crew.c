/* SPDX-License-Identifier: MIT
 *
 * The crew from the test's side: its processes, controller and supervisor; see
 * ring_crew.h.
 */
#include "ring_crew.h"

#include <ring/ring_parts.h>
#include <wire/address.h>

#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
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
    uint8_t ask[GW__MEMBER_ASK_MAX];
    const struct gw__news *news = &crew->news;
    struct gw__command command = {.kind = GW__CMD_ADMIT};
    if (crew->admitted || news->joiner_count < crew->plan.members)
        return;
    crew->admitted = true;
    command.admit.ring_epoch = news->view.ring_epoch;
    command.admit.count = news->joiner_count;
    memcpy(command.admit.joiners, news->joiners,
           news->joiner_count * sizeof *news->joiners);
    gw__driver_ask(crew->supervisor, ask,
                   gw__member_ask_command(ask, &command, 1));
}

static void on_tell(void *context, const void *data, size_t bytes)
{
    struct crew *crew = context;
    struct gw__told told;
    ck_assert_uint_eq(bytes, sizeof told);
    memcpy(&told, data, sizeof told);
    if (told.kind != GW__TOLD_NEWS)
        return;
    pthread_mutex_lock(&crew->lock);
    uint64_t before = crew->news.view.ring_epoch;
    crew->news = *gw__member_news(gw__driver_state(crew->supervisor));
    if (crew->news.view.ring_epoch != before)
        crew->news_ns = gw_now_ns();
    admit(crew);
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

static struct gw__id draw_id(void)
{
    struct gw__id id;
    ck_assert_int_eq(getrandom(&id, sizeof id, 0), sizeof id);
    id.low |= 1;
    return id;
}

static void start_controller(struct crew *crew)
{
    static const unsigned nodes[] = {CREW_CONTROLLER};
    char endpoint[80], raft[GW__ENDPOINT_MAX];
    const char *address = raft + strlen("tcp://");
    struct gw_error why = {0};
    struct gw__id id = draw_id();
    ck_assert_int_eq(
        gw__address_bindable("tcp://127.0.0.1:*", raft, sizeof raft, &why),
        GW_OK);
    endpoint_of(crew, CREW_CONTROLLER, endpoint);
    const struct gw__controller_config config = {
        .count = 1,
        .nodes = nodes,
        .raft_addresses = &address,
        .directory = crew->directory,
        .mesh = {.node = CREW_CONTROLLER,
                 .incarnation_high = id.high,
                 .incarnation_low = id.low,
                 .endpoint = endpoint,
                 .token = crew->token}};
    enum gw_err err = gw__controller_start(&config, &crew->controller, &why);
    ck_assert_msg(err == GW_OK, "controller: %s", why.text);
}

static void start_supervisor(struct crew *crew)
{
    char endpoint[80], controller[80];
    struct gw_error why = {0};
    struct gw__member_config member = {.node = CREW_SUPERVISOR,
                                       .role = GW__OBSERVER,
                                       .incarnation = draw_id(),
                                       .client = draw_id(),
                                       .controller_count = 1,
                                       .controllers = {CREW_CONTROLLER}};
    endpoint_of(crew, CREW_SUPERVISOR, endpoint);
    endpoint_of(crew, CREW_CONTROLLER, controller);
    memcpy(member.endpoint, endpoint, sizeof endpoint);
    const struct gw__driver_config config = {
        .kind = &gw__member_machine,
        .mesh = {.node = CREW_SUPERVISOR,
                 .incarnation_high = member.incarnation.high,
                 .incarnation_low = member.incarnation.low,
                 .endpoint = endpoint,
                 .token = crew->token},
        .seed = 1,
        .start = &member,
        .start_bytes = sizeof member,
        .context = crew,
        .on_tell = on_tell};
    pthread_mutex_lock(&crew->lock);
    enum gw_err err = gw__driver_start(&config, &crew->supervisor, &why);
    ck_assert_msg(err == GW_OK, "supervisor: %s", why.text);
    gw__driver_know(crew->supervisor, CREW_CONTROLLER, controller);
    pthread_mutex_unlock(&crew->lock);
}

/* ---- starting and stopping ---- */

/* For the controller's log: in memory where that can be, since a busy disk may
 * hold it up for seconds. */
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
    crew->token = draw_id().low;
    crew->shared = mmap(NULL, sizeof *crew->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(crew->shared, MAP_FAILED);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
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
    for (unsigned i = 0; i < stay; i++) /* who has a number above is too many */
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
    struct gw__driver *supervisor = crew->supervisor; /* its thread looks */
    gw__driver_stop(&supervisor);
    gw__controller_stop(&crew->controller);
    for (unsigned i = 0; i < crew->plan.seats; i++)
        if (crew->pids[i] > 0) {
            kill(crew->pids[i], SIGKILL);
            waitpid(crew->pids[i], NULL, 0);
        }
    nftw(crew->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
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
    uint8_t ask[GW__MEMBER_ASK_MAX];
    struct gw__process who = {.node = seat};
    pthread_mutex_lock(&crew->lock);
    int rank = gw__view_rank(&crew->news.view, seat);
    if (rank >= 0)
        who.incarnation = crew->news.view.ring[rank].incarnation;
    pthread_mutex_unlock(&crew->lock);
    if (rank >= 0)
        gw__driver_ask(crew->supervisor, ask, gw__member_ask_lost(ask, who));
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
