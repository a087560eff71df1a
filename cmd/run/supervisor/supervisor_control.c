/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The supervisor and its controllers. It runs one itself, or starts three or
 * five. In any case it is an observer: a member machine
 * (lib/cluster/member/member.h) that is in no ring, receives membership
 * updates, and makes two kinds of proposals: to admit the first members, and to
 * confirm the death of a node whose process has ended. The latter is the
 * shortest way from a death to a new view, because the kernel notifies the
 * parent at once.
 *
 * A ring that loses all members with its state is empty afterwards. The
 * surviving processes are then the first members of the next one, which starts
 * again.
 *
 * The machine runs in the library's thread. Its reports are stored under a lock
 * until the supervisor's poll loop takes them.
 */
#include "run/node/node_events.h"
#include "supervisor_parts.h"

#include "common/ports.h"

#include <cluster/controller/controller.h>
#include <cluster/session/session.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TAG_ADMIT = 1, TAG_OTHER };
#define SUSPECT_AGAIN_NS UINT64_C(300000000)
#define ANEW_NS          UINT64_C(1000000000) /* to let survivors register */

struct control {
    struct gw__session observer;
    struct gw__controller *inside;      /* NULL: they are processes */
    struct gw__link_profiles *profiles; /* of the one inside */
    struct event_queue *queue;          /* its events */
    int fd;                             /* eventfd: there are reports */
    struct ports ports;

    /* ---- with the observer's lock held ---- */
    bool fresh;   /* an update not yet taken */
    bool refused; /* the admission */

    /* ---- the supervisor's own ---- */
    bool admitting;
    uint64_t empty_ns; /* since when the ring is empty, after it was not */
    struct {
        struct gw__id incarnation;
        uint64_t reported_ns;
    } suspected[GW__NODES_MAX];
};

/* ---- in the library's threads ---- */

static void on_notification(void *context,
                            const struct gw__notification *notification)
{
    struct control *control = context;
    control->fresh |= notification->kind == GW__NOTIFY_UPDATE;
    control->refused |= notification->kind == GW__NOTIFY_ANSWER &&
                        notification->tag == TAG_ADMIT &&
                        notification->answer.code;
    eventfd_write(control->fd, 1);
}

static void on_leader(void *context, unsigned node)
{
    (void)node;
    eventfd_write(((struct control *)context)->fd, 1);
}

/* ---- starting ---- */

static enum gw_err start_inside(struct run *run, struct gw_error *why)
{
    struct control *control = run->control;
    const unsigned nodes[] = {CONTROLLER_NODE};
    const char *const raft[] = {run->raft[0]};
    char directory[PATH_MAX + 8], endpoint[ENDPOINT_MAX];
    enum gw_err code =
        gw__link_profiles_new(run->options.seed, &control->profiles, why);
    if (!code)
        code = event_queue_new(control->fd, &control->queue, why);
    if (code)
        return code;
    snprintf(directory, sizeof directory, "%s/c0", run->folder.path);
    child_channel_endpoint_of(run->token, CONTROLLER_NODE, endpoint);
    const struct gw__controller_config config = {
        .index = 0,
        .count = 1,
        .nodes = nodes,
        .raft_addresses = raft,
        .directory = directory,
        .channel = {.node = CONTROLLER_NODE,
                    .endpoint = endpoint,
                    .security = {run->token, key_file(), false},
                    .profiles = control->profiles},
        .context = control,
        .on_leader = on_leader,
        .events = event_queue_sink(control->queue),
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

static enum gw_err init_observer(struct run *run, struct gw_error *why)
{
    char own[ENDPOINT_MAX], endpoints[GW__CLIENT_CONTROLLERS][ENDPOINT_MAX];
    struct gw__session_config config = {
        .node = OBSERVER_NODE,
        .role = GW__OBSERVER,
        .endpoint = own,
        .security = {run->token, key_file(), false},
        .controller_count = controllers_all(run),
        .context = run->control,
        .on_notification = on_notification};
    child_channel_endpoint_of(run->token, OBSERVER_NODE, own);
    for (unsigned c = 0; c < config.controller_count; c++) {
        child_channel_endpoint_of(run->token, CONTROLLER_NODE - c,
                                  endpoints[c]);
        config.controllers[c] =
            (struct gw__driver_peer){CONTROLLER_NODE - c, endpoints[c]};
    }
    return gw__session_init(&run->control->observer, &config, why);
}

enum gw_err control_start(struct run *run, struct gw_error *why)
{
    struct control *control = calloc(1, sizeof *control);
    if (!control)
        return gw_fail(why, GW_ENOMEM, "no memory for the controllers");
    run->control = control;
    control->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control->fd < 0)
        return gw_fail_errno(why, "eventfd");
    enum gw_err code = init_observer(run, why);
    if (!code)
        code =
            ports_hold(&control->ports, run->raft, controllers_all(run), why);
    if (!code)
        code = run->controller_count ? start_processes(run, why)
                                     : start_inside(run, why);
    return code ? code : gw__session_start(&control->observer, 0, why);
}

void control_stop(struct run *run)
{
    struct control *control = run->control;
    if (!control)
        return;
    gw__session_fini(&control->observer);
    if (control->inside)
        gw__controller_stop(&control->inside);
    if (control->profiles)
        gw__link_profiles_destroy(&control->profiles);
    event_queue_destroy(&control->queue);
    ports_let_go(&control->ports);
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
    enum gw_err code = gw__driver_error(control->observer.driver, why);
    if (!code && control->inside)
        code = gw__controller_error(control->inside, why);
    return code;
}

/* ---- updates ---- */

static void check_loss(struct run *run,
                       const struct gw__membership_update *before)
{
    if (before->view.ring_count == 0 || run->update.view.ring_count > 0 ||
        run->ending || program_is_complete(run))
        return;
    run->control->empty_ns = gw_now_ns();
    run->states_lost++;
    fprintf(stderr, "epoch %llu: " STATE_LOST "; it is being restarted\n",
            (unsigned long long)run->update.view.epoch);
}

static void publish_events(struct run *run)
{
    struct gw_event row[CHILD_CHANNEL_EVENTS_MAX];
    size_t count;
    if (!run->control->queue)
        return;
    event_queue_want(run->control->queue, events_level(run));
    while ((count = event_queue_pop(run->control->queue, row)) > 0)
        events_publish(run, row, count);
}

void control_apply_update(struct run *run)
{
    struct control *control = run->control;
    const struct gw__membership_update before = run->update;
    eventfd_t reported;
    eventfd_read(control->fd, &reported);
    publish_events(run);
    gw__session_lock(&control->observer);
    bool fresh = control->fresh;
    control->fresh = false;
    if (fresh)
        run->update = control->observer.update;
    if (control->refused || run->update.view.ring_count > 0)
        control->admitting = control->refused = false;
    gw__session_unlock(&control->observer);
    if (!fresh)
        return;
    children_removed(run, &before);
    check_loss(run, &before);
    recovery_view(run, &before);
    resumed_check(run);
    report_update(run, &before);
    control_suspect(run);
    children_start_awaited(run);
}

void control_suspect_one(struct run *run, unsigned node, struct gw__id id)
{
    struct control *control = run->control;
    uint64_t now = gw_now_ns();
    bool again = gw__id_equal(control->suspected[node].incarnation, id);
    if (again && now - control->suspected[node].reported_ns < SUSPECT_AGAIN_NS)
        return;
    control->suspected[node].incarnation = id;
    control->suspected[node].reported_ns = now;
    gw__session_lost(&control->observer, (struct gw__process){node, id});
}

/* Its process has ended. It may have been admitted after its successor was
 * started. */
static bool child_has_ended(const struct child *child,
                            const struct gw__ring_member *m)
{
    return child->pid <= 0 || child->process >> GW__LIFE_BITS !=
                                  m->incarnation.high >> GW__LIFE_BITS;
}

void control_suspect(struct run *run)
{
    if (!run->control || !run->control->observer.driver || run->ending)
        return;
    if (has_servers(run))
        ps_members_suspect(run);
    for (unsigned i = 0; i < run->update.view.ring_count; i++) {
        const struct gw__ring_member *m = &run->update.view.ring[i];
        if (m->node < RUN_RANKS_MAX &&
            child_has_ended(&run->workers[m->node], m))
            control_suspect_one(run, m->node, m->incarnation);
    }
}

/* ---- the first members ---- */

static bool find_joiner(const struct gw__membership_update *update,
                        unsigned node, struct gw__process *joiner)
{
    for (unsigned i = 0; i < update->joiner_count; i++)
        if (update->joiners[i].node == node) {
            *joiner = update->joiners[i];
            return true;
        }
    return false;
}

void control_command(struct run *run, const struct gw__command *command)
{
    bool advice = command->kind == GW__CMD_PLACE; /* nothing awaits it */
    run->control->admitting |= !advice;
    gw__session_command(&run->control->observer, command,
                        advice ? TAG_OTHER : TAG_ADMIT);
}

/* Finds all first members. */
static bool find_first(const struct run *run, struct gw__command *command)
{
    for (unsigned n = 0; n < run->options.ranks; n++)
        if (!find_joiner(&run->update, n,
                         &command->admit.joiners[command->admit.count++]))
            return false;
    return true;
}

/* The survivors, once all of them have registered or have had time to. */
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
        if (find_joiner(&run->update, child->node, next))
            command->admit.count++;
        else
            missing++;
    }
    return command->admit.count > 0 && (missing == 0 || late);
}

void control_admit(struct run *run)
{
    struct gw__command command = {.kind = GW__CMD_ADMIT};
    if (run->control->admitting || run->update.view.ring_count > 0 ||
        run->ending)
        return;
    if (has_servers(run)) {
        if (!run->formed)
            ps_members_open_slots(run);
        return;
    }
    command.admit.ring_epoch = run->update.view.ring_epoch;
    ring_wanted(run, &command.admit.order);
    if (run->formed ? find_living(run, &command) : find_first(run, &command))
        control_command(run, &command);
}

/* ---- links, and the status of a controller ---- */

void control_set_links(struct run *run)
{
    struct control *control = run->control;
    if (!control || !control->inside)
        return;
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        gw__link_profiles_set(control->profiles, n,
                              &run->links.profiles[n][CONTROLLER_NODE]);
}

bool control_status(const struct run *run, unsigned number,
                    struct gw__controller_status *status)
{
    *status = run->controllers[number].status.controller;
    if (run->controller_count)
        return run->controllers[number].has_status;
    if (!run->control || !run->control->inside)
        return false;
    gw__controller_status(run->control->inside, status);
    return true;
}

const char *control_text(struct run *run, char out[200])
{
    struct gw__session *observer = &run->control->observer;
    gw__session_lock(observer);
    memcpy(out, observer->gone ? observer->gone_text : observer->parked_text,
           sizeof observer->parked_text);
    gw__session_unlock(observer);
    return out;
}
