/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The supervisor and its controllers. It runs one itself, or starts three or
 * five; in any case it observes: a member machine (lib/cluster/member/member.h) that is
 * in no ring, hears the news, and makes two sorts of proposals: that the first
 * members be admitted, and that a node whose process has ended is convicted.
 * The latter is the shortest way from a death to a new view: the kernel tells
 * the parent at once.
 *
 * A ring that loses all members that have its state is empty afterwards. Then
 * those that live are the first members of the next one, which begins anew.
 *
 * The machine runs in the library's thread; what it tells lies under a lock
 * until the supervisor's poll loop takes it.
 */
#include "run/node/node_events.h"
#include "supervisor_parts.h"

#include "common/ports.h"

#include <cluster/controller/controller.h>
#include <cluster/driver/driver.h>
#include <cluster/member/member.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

enum { TAG_ADMIT = 1, TAG_OTHER };
#define ACCUSE_AGAIN_NS UINT64_C(300000000)
#define ANEW_NS         UINT64_C(1000000000) /* who lives may have to register */

struct control {
    struct gw__driver *observer;
    struct gw__controller *inside; /* NULL: they are processes */
    struct gw__rules *rules;       /* of the one inside */
    struct outbox *outbox;         /* its events */
    int fd;                        /* eventfd: something was told */
    struct ports ports;

    pthread_mutex_t lock;
    /* ---- under `lock` ---- */
    struct gw__news news;
    bool fresh;   /* news that were not taken yet */
    bool refused; /* the admission */
    char text[200];

    /* ---- the supervisor's own ---- */
    bool admitting;
    uint64_t empty_ns; /* since when the ring is empty that was not */
    struct {
        struct gw__id incarnation;
        uint64_t asked_ns;
    } accused[GW__NODES_MAX];
};

/* ---- in the library's threads ---- */

static void on_tell(void *context, const void *data, size_t bytes)
{
    struct control *control = context;
    const struct gw__told *told = data;
    if (bytes != sizeof *told)
        return;
    pthread_mutex_lock(&control->lock);
    switch (told->kind) {
    case GW__TOLD_NEWS: /* the first comes after gw__driver_know */
        control->news = *gw__member_news(gw__driver_state(control->observer));
        control->fresh = true;
        break;
    case GW__TOLD_PARKED:
    case GW__TOLD_GONE:
        snprintf(control->text, sizeof control->text, "%.199s", told->text);
        break;
    case GW__TOLD_UNPARKED:
        control->text[0] = 0;
        break;
    case GW__TOLD_ANSWER:
        control->refused |= told->tag == TAG_ADMIT && told->answer.code;
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&control->lock);
    eventfd_write(control->fd, 1);
}

static void on_leader(void *context, unsigned node)
{
    (void)node;
    eventfd_write(((struct control *)context)->fd, 1);
}

/* ---- starting ---- */

static enum gw_err draw(void *out, size_t bytes, struct gw_error *why)
{
    return getrandom(out, bytes, 0) == (ssize_t)bytes
               ? GW_OK
               : gw_fail_errno(why, "random numbers");
}

static enum gw_err start_inside(struct run *run, struct gw_error *why)
{
    struct control *control = run->control;
    const unsigned nodes[] = {CONTROLLER_NODE};
    const char *const raft[] = {run->raft[0]};
    char directory[PATH_MAX + 8], endpoint[ENDPOINT_MAX];
    struct gw__id id;
    enum gw_err code = draw(&id, sizeof id, why);
    if (!code)
        code = gw__rules_new(run->options.seed, &control->rules, why);
    if (!code)
        code = outbox_new(control->fd, &control->outbox, why);
    if (code)
        return code;
    snprintf(directory, sizeof directory, "%s/c0", run->folder.path);
    post_endpoint_of(run->token, CONTROLLER_NODE, endpoint);
    const struct gw__controller_config config = {
        .index = 0,
        .count = 1,
        .nodes = nodes,
        .raft_addresses = raft,
        .directory = directory,
        .mesh = {.node = CONTROLLER_NODE,
                 .incarnation_high = id.high,
                 .incarnation_low = id.low,
                 .endpoint = endpoint,
                 .token = run->token,
                 .key_file = key_file(),
                 .rules = control->rules},
        .context = control,
        .on_leader = on_leader,
        .events = outbox_sink(control->outbox),
    };
    return gw__controller_start(&config, &control->inside, why);
}

static enum gw_err start_processes(struct run *run, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned c = 0; c < run->controller_count && !code; c++)
        code = child_start(run, &run->controllers[c], why);
    return code;
}

static enum gw_err start_observer(struct run *run, struct gw_error *why)
{
    struct control *control = run->control;
    unsigned count = controllers_all(run);
    char endpoint[ENDPOINT_MAX];
    struct gw__member_config start = {
        .node = OBSERVER_NODE, .role = GW__OBSERVER, .controller_count = count};
    if (draw(&start.incarnation, sizeof start.incarnation, why) ||
        draw(&start.client, sizeof start.client, why))
        return GW_ESYS;
    post_endpoint_of(run->token, OBSERVER_NODE, start.endpoint);
    for (unsigned c = 0; c < count; c++)
        start.controllers[c] = (uint8_t)(CONTROLLER_NODE - c);
    const struct gw__driver_config config = {
        .kind = &gw__member_machine,
        .mesh = {.node = OBSERVER_NODE,
                 .incarnation_high = start.incarnation.high,
                 .incarnation_low = start.incarnation.low,
                 .endpoint = start.endpoint,
                 .token = run->token,
                 .key_file = key_file()},
        .seed = run->options.seed,
        .start = &start,
        .start_bytes = sizeof start,
        .context = control,
        .on_tell = on_tell,
        .describe = gw__member_describe,
    };
    enum gw_err code = gw__driver_start(&config, &control->observer, why);
    for (unsigned c = 0; c < count && !code; c++) {
        post_endpoint_of(run->token, CONTROLLER_NODE - c, endpoint);
        code =
            gw__driver_know(control->observer, CONTROLLER_NODE - c, endpoint);
    }
    return code;
}

enum gw_err control_start(struct run *run, struct gw_error *why)
{
    struct control *control = calloc(1, sizeof *control);
    if (!control)
        return gw_fail(why, GW_ENOMEM, "no memory for the controllers");
    run->control = control;
    pthread_mutex_init(&control->lock, NULL);
    control->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control->fd < 0)
        return gw_fail_errno(why, "eventfd");
    unsigned count = controllers_all(run);
    enum gw_err code = ports_hold(&control->ports, run->raft, count, why);
    if (!code)
        code = run->controller_count ? start_processes(run, why)
                                     : start_inside(run, why);
    return code ? code : start_observer(run, why);
}

void control_stop(struct run *run)
{
    struct control *control = run->control;
    if (!control)
        return;
    struct gw__driver *observer = control->observer; /* it looks at that one */
    gw__driver_stop(&observer);
    if (control->inside)
        gw__controller_stop(&control->inside);
    if (control->rules)
        gw__rules_destroy(&control->rules);
    outbox_destroy(&control->outbox);
    ports_let_go(&control->ports);
    pthread_mutex_destroy(&control->lock);
    if (control->fd >= 0)
        close(control->fd);
    free(control);
    run->control = NULL;
}

int control_fd(const struct run *run)
{
    return run->control->fd;
}

enum gw_err control_error(struct run *run, struct gw_error *why)
{
    struct control *control = run->control;
    enum gw_err code = gw__driver_error(control->observer, why);
    if (!code && control->inside)
        code = gw__controller_error(control->inside, why);
    return code;
}

/* ---- news ---- */

static void look_for_loss(struct run *run, const struct gw__news *before)
{
    if (before->view.ring_count == 0 || run->news.view.ring_count > 0 ||
        run->ending)
        return;
    run->control->empty_ns = gw_now_ns();
    run->states_lost++;
    fprintf(stderr, "epoch %llu: " STATE_LOST "; it begins anew\n",
            (unsigned long long)run->news.view.epoch);
}

static void take_events(struct run *run)
{
    struct gw_event row[POST_EVENTS_MAX];
    size_t count;
    if (!run->control->outbox)
        return;
    outbox_want(run->control->outbox, events_level(run));
    while ((count = outbox_take(run->control->outbox, row)) > 0)
        events_publish(run, row, count);
}

void control_take(struct run *run)
{
    struct control *control = run->control;
    const struct gw__news before = run->news;
    eventfd_t told;
    eventfd_read(control->fd, &told);
    take_events(run);
    pthread_mutex_lock(&control->lock);
    bool fresh = control->fresh;
    control->fresh = false;
    if (fresh)
        run->news = control->news;
    if (control->refused || run->news.view.ring_count > 0)
        control->admitting = control->refused = false;
    pthread_mutex_unlock(&control->lock);
    if (!fresh)
        return;
    look_for_loss(run, &before);
    recovery_view(run, &before);
    resumed_look(run);
    tell_news(run, &before);
    control_accuse(run);
    children_start_awaited(run);
}

void control_accuse_one(struct run *run, unsigned node, struct gw__id id)
{
    struct control *control = run->control;
    uint8_t ask[GW__MEMBER_ASK_MAX];
    uint64_t now = gw_now_ns();
    bool again = gw__id_equal(control->accused[node].incarnation, id);
    if (again && now - control->accused[node].asked_ns < ACCUSE_AGAIN_NS)
        return;
    control->accused[node].incarnation = id;
    control->accused[node].asked_ns = now;
    const struct gw__process who = {node, id};
    size_t bytes = gw__member_ask_lost(ask, who);
    gw__driver_ask(control->observer, ask, bytes);
}

/* Its process, which may have been admitted after the next one had begun. */
static bool has_ended(const struct child *child,
                      const struct gw__ring_member *m)
{
    return child->pid <= 0 || child->process >> GW__LIFE_BITS !=
                                  m->incarnation.high >> GW__LIFE_BITS;
}

void control_accuse(struct run *run)
{
    if (!run->control || !run->control->observer || run->ending)
        return;
    if (has_servers(run))
        crew_accuse(run);
    for (unsigned i = 0; i < run->news.view.ring_count; i++) {
        const struct gw__ring_member *m = &run->news.view.ring[i];
        if (m->node < RUN_RANKS_MAX && has_ended(&run->workers[m->node], m))
            control_accuse_one(run, m->node, m->incarnation);
    }
}

/* ---- the first members ---- */

static bool find_joiner(const struct gw__news *news, unsigned node,
                        struct gw__process *joiner)
{
    for (unsigned i = 0; i < news->joiner_count; i++)
        if (news->joiners[i].node == node) {
            *joiner = news->joiners[i];
            return true;
        }
    return false;
}

void control_command(struct run *run, const struct gw__command *command)
{
    bool advice = command->kind == GW__CMD_PLACE; /* nothing awaits it */
    uint8_t ask[GW__MEMBER_ASK_MAX];
    size_t bytes =
        gw__member_ask_command(ask, command, advice ? TAG_OTHER : TAG_ADMIT);
    run->control->admitting |= !advice;
    gw__driver_ask(run->control->observer, ask, bytes);
}

/* All that the run is to begin with. */
static bool find_first(const struct run *run, struct gw__command *command)
{
    for (unsigned n = 0; n < run->options.ranks; n++)
        if (!find_joiner(&run->news, n,
                         &command->admit.joiners[command->admit.count++]))
            return false;
    return true;
}

/* Those that are left, once all of them have come, or have had time to. */
static bool find_living(const struct run *run, struct gw__command *command)
{
    bool late = gw_now_ns() - run->control->empty_ns > ANEW_NS;
    unsigned missing = 0;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++) {
        const struct child *child = &run->workers[n];
        struct gw__process *next =
            &command->admit.joiners[command->admit.count];
        if (child->pid <= 0 || child->paused || child->leaving)
            continue;
        if (find_joiner(&run->news, child->node, next))
            command->admit.count++;
        else
            missing++;
    }
    return command->admit.count > 0 && (missing == 0 || late);
}

void control_admit(struct run *run)
{
    struct gw__command command = {.kind = GW__CMD_ADMIT};
    if (run->control->admitting || run->news.view.ring_count > 0 || run->ending)
        return;
    if (has_servers(run)) {
        if (!run->formed)
            crew_open_slots(run);
        return;
    }
    command.admit.ring_epoch = run->news.view.ring_epoch;
    ring_wanted(run, &command.admit.order);
    if (run->formed ? find_living(run, &command) : find_first(run, &command))
        control_command(run, &command);
}

/* ---- rules, and where a controller stands ---- */

void control_rules(struct run *run)
{
    struct control *control = run->control;
    if (!control || !control->inside)
        return;
    for (unsigned n = 0; n < GW_RING_NODES; n++) {
        const struct gw_ring_link *link = &run->links.rules[n][CONTROLLER_NODE];
        const struct gw__rule rule = {.delay_us = link->delay_us,
                                      .jitter_us = link->jitter_us,
                                      .rate = link->rate,
                                      .loss_ppm = link->loss_ppm,
                                      .down = link->down};
        gw__rules_set(control->rules, n, &rule);
    }
}

bool control_status(const struct run *run, unsigned number,
                    struct gw__controller_status *status)
{
    *status = run->controllers[number].note.controller;
    if (run->controller_count)
        return run->controllers[number].noted;
    if (!run->control || !run->control->inside)
        return false;
    gw__controller_status(run->control->inside, status);
    return true;
}

const char *control_text(struct run *run, char out[200])
{
    pthread_mutex_lock(&run->control->lock);
    memcpy(out, run->control->text, sizeof run->control->text);
    pthread_mutex_unlock(&run->control->lock);
    return out;
}
