/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processes of a run. Each is this same program, started again with a
 * hidden word and a socket. It dies with the supervisor by a parent-death
 * signal (post.c).
 *
 *   (none) --start--> running <--SIGSTOP, SIGCONT--> paused
 *      ^                 |                              |
 *      +---- reaped <----+------------------------------+
 *
 * A worker's number is given to a new process only when the former one is out
 * of the ring (`awaits`), so that two processes never have the same number.
 */
#include "supervisor_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 500, PATIENCE_MS = 5 };

/* ---- finding children ---- */

struct child *child_at(struct run *run, unsigned i)
{
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        if (run->workers[n].known && i-- == 0)
            return &run->workers[n];
    for (unsigned n = 0; n < RUN_SERVERS_MAX; n++)
        if (run->servers[n].known && i-- == 0)
            return &run->servers[n];
    for (unsigned c = 0; c < run->controller_count; c++)
        if (run->controllers[c].known && i-- == 0)
            return &run->controllers[c];
    return NULL;
}

static unsigned node_number(enum gw__role role, unsigned number)
{
    return role == GW__CONTROLLER ? CONTROLLER_NODE - number
           : role == GW__SERVER   ? SERVER_NODE + number
                                  : number;
}

void child_init(struct child *child, enum gw__role role, unsigned number)
{
    *child = (struct child){.role = role,
                            .number = number,
                            .node = node_number(role, number),
                            .fd = -1};
}

const char *child_name(const struct child *child, char out[32])
{
    bool plain = child->role == GW__WORKER && !child->ps_members;
    snprintf(out, 32, "%s %u", plain ? "node" : gw__role_name(child->role),
             child->number);
    return out;
}

const char *child_short(const struct child *child, char out[32])
{
    bool plain = child->role == GW__WORKER && !child->ps_members;
    snprintf(out, 32, "%.1s%u", plain ? "" : gw__role_name(child->role),
             child->number);
    return out;
}

struct child *child_of_node(struct run *run, unsigned node)
{
    if (!has_servers(run))
        return node < RUN_RANKS_MAX ? &run->workers[node] : NULL;
    if (node < RUN_WORKERS_MAX)
        return &run->workers[node];
    return node >= SERVER_NODE && node < SERVER_NODE + RUN_SERVERS_MAX
               ? &run->servers[node - SERVER_NODE]
               : NULL;
}

bool child_is_member(const struct run *run, const struct child *child)
{
    if (child->ps_members)
        return ps_members_find(&run->update, child->node) != NULL;
    return child->role == GW__WORKER &&
           gw__view_rank(&run->update.view, child->node) >= 0;
}

bool child_lives(const struct child *child)
{
    return child->pid > 0 || child->awaits;
}

static bool is_in(const struct gw__view *view, const struct gw__ring_member *m)
{
    int rank = gw__view_rank(view, m->node);
    return rank >= 0 &&
           gw__id_equal(view->ring[rank].incarnation, m->incarnation);
}

void children_removed(struct run *run,
                      const struct gw__membership_update *before)
{
    const struct gw__view *view = &run->update.view;
    for (unsigned i = 0; i < before->view.ring_count; i++) {
        const struct gw__ring_member *m = &before->view.ring[i];
        if (m->node < RUN_RANKS_MAX && !is_in(view, m))
            run->workers[m->node].removed_epoch = view->epoch;
    }
}

bool child_is_whole(const struct run *run, const struct child *child)
{
    const struct node_status *status = &child->status;
    return child_is_member(run, child) &&
           (child->role != GW__WORKER || child->ps_members ||
            (status->stage == STAGE_MEMBER && !status->ring.gone &&
             status->ring.epoch >= child->removed_epoch));
}

unsigned members_alive(const struct run *run)
{
    unsigned count = 0;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        count += run->workers[n].pid > 0 && !run->workers[n].awaits &&
                 child_is_whole(run, &run->workers[n]);
    return count + ps_members_alive(run, GW__SERVER);
}

unsigned controllers_all(const struct run *run)
{
    return run->controller_count ? run->controller_count : 1;
}

bool controller_is_alive(const struct run *run, unsigned number)
{
    const struct child *child = &run->controllers[number];
    return run->controller_count == 0 /* the supervisor itself */ ||
           (child->pid > 0 && !child->paused);
}

unsigned controllers_alive(const struct run *run)
{
    unsigned count = 0;
    for (unsigned c = 0; c < controllers_all(run); c++)
        count += controller_is_alive(run, c);
    return count;
}

/* ---- starting ---- */

static void make_desired_state(const struct run *run, const struct child *child,
                               struct desired_state *desired)
{
    memset(desired, 0, sizeof *desired);
    desired->work = run->work;
    desired->pace_ns = run->pace_ns;
    ring_wanted(run, &desired->order);
    desired->slow_ns = child->slow_ns;
    desired->clock_rate = child->clock_rate > 0 ? child->clock_rate : 1;
    desired->events = events_level(run);
    desired->describe = run->known.request_count;
    desired->leave = child->leaving;
    desired->end = run->ending;
    links_desired_state(&run->links, child->node, desired);
    ps_members_desired_state(run, child, desired);
}

static void set_file(char out[FILE_MAX], const char *name)
{
    if (name)
        snprintf(out, FILE_MAX, "%s", name);
}

static void make_child_config(const struct run *run, const struct child *child,
                              struct child_config *config)
{
    memset(config, 0, sizeof *config);
    config->role = child->role;
    config->number = child->number;
    config->process = child->process;
    config->token = run->token;
    config->seed = run->options.seed;
    config->controllers = controllers_all(run);
    config->servers = run->options.servers;
    set_file(config->straggler, run->options.straggler);
    set_file(config->suspicion, run->options.suspicion);
    set_file(config->algos, run->options.algos);
    set_file(config->restore, run->options.restore);
    config->lockstep = run->options.lockstep != NULL;
    config->hold_count = run->lockstep.count;
    memcpy(config->holds, run->lockstep.holds, sizeof config->holds);
    snprintf(config->wire, sizeof config->wire, "%s",
             run->options.wire ? run->options.wire : "shm");
    snprintf(config->directory, sizeof config->directory, "%.4000s/c%u",
             run->folder.path, child->number);
    memcpy(config->raft, run->raft, sizeof config->raft);
    make_desired_state(run, child, &config->desired);
}

static enum gw_err spawn(struct run *run, struct child *child, int fd,
                         struct gw_error *why)
{
    char node_word[] = NODE_WORD, controller_word[] = CONTROLLER_WORD,
         parent[16], label[64];
    char *const arguments[] = {program_invocation_short_name,
                               child->role == GW__CONTROLLER ? controller_word
                                                             : node_word,
                               parent, label, NULL};
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    snprintf(label, sizeof label, "%s/%u", run->folder.name, child->number);
    pid_t pid = fork();
    if (pid < 0)
        return gw_fail_errno(why, "a process for %s %u",
                             gw__role_name(child->role), child->number);
    if (pid == 0)
        child_channel_become(fd, false, arguments);
    child->pid = pid;
    return GW_OK;
}

/* Resets the fields that a new process of the same number does not inherit. */
static void forget_former(struct child *child)
{
    struct child fresh;
    child_init(&fresh, child->role, child->number);
    fresh.slow_ns = child->slow_ns;
    fresh.ps_members = child->ps_members;
    if (child->fd >= 0)
        close(child->fd);
    *child = fresh;
}

enum gw_err child_start(struct run *run, struct child *child,
                        struct gw_error *why)
{
    int ends[2];
    struct child_config *config = malloc(sizeof *config);
    forget_former(child);
    if (!config)
        return gw_fail(why, GW_ENOMEM, "no memory for a process");
    enum gw_err code = GW_OK;
    if (getrandom(&child->process, sizeof child->process, 0) !=
        sizeof child->process) {
        free(config);
        return gw_fail_errno(why, "random numbers");
    }
    make_child_config(run, child, config);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        code = gw_fail_errno(why, "a socket pair");
    } else {
        child->fd = ends[0];
        child->known = true;
        child_channel_send(child->fd, CHILD_CHANNEL_CHILD_CONFIG, config,
                           sizeof *config, false);
        program_send_orders(run, child, &config->desired);
        code = spawn(run, child, ends[1], why);
        close(ends[1]);
    }
    free(config);
    if (code)
        snprintf(child->text, sizeof child->text, "%.199s", why->text);
    return code;
}

void children_start_awaited(struct run *run)
{
    struct gw_error why;
    struct child *child;
    for (unsigned i = 0; (child = child_at(run, i)); i++) {
        if (!child->awaits || child->pid > 0 || child_is_member(run, child))
            continue;
        if (child_start(run, child, &why))
            fprintf(stderr, "%s\n", why.text);
    }
}

/* ---- orders ---- */

void child_send_desired(struct run *run, struct child *child)
{
    struct desired_state desired;
    if (child->pid <= 0 || child->fd < 0)
        return;
    make_desired_state(run, child, &desired);
    if (program_send_orders(run, child, &desired))
        return;
    child->late =
        child_channel_send(child->fd, CHILD_CHANNEL_DESIRED_STATE, &desired,
                           sizeof desired, false) == GW_PENDING;
}

void children_send_desired(struct run *run)
{
    struct child *child;
    for (unsigned i = 0; (child = child_at(run, i)); i++)
        child_send_desired(run, child);
    control_set_links(run);
}

static void receive_status(struct run *run, struct child *child,
                           const struct node_status *status)
{
    static struct node_status before; /* large */
    node_status_copy(&before, &child->status);
    node_status_copy(&child->status, status);
    child->left = child->status.stage == STAGE_LEFT;
    recovery_on_status(run, child, child->has_status ? &before : NULL);
    ps_members_on_status(run, child, child->has_status ? &before : NULL);
    child->has_status = true;
    resumed_check(run);
    report_status(run, child);
}

static void handle_message(struct run *run, struct child *child,
                           enum child_channel_kind kind, size_t bytes)
{
    static struct node_status status; /* large */
    const void *data = run->buffer;
    const struct gw_error *error = data;
    switch (kind) {
    case CHILD_CHANNEL_STATUS:
        if (node_status_unpack(data, bytes, &status))
            receive_status(run, child, &status);
        break;
    case CHILD_CHANNEL_PROGRAM_STATUS:
        program_node_status(run, data, &status);
        receive_status(run, child, &status);
        break;
    case CHILD_CHANNEL_EVENTS:
    case CHILD_CHANNEL_PROGRAM_EVENTS:
        events_publish(run, data, bytes / sizeof(struct gw_event));
        break;
    case CHILD_CHANNEL_KNOWN:
        known_notified(run, child, data, bytes);
        break;
    case CHILD_CHANNEL_EXIT:
        snprintf(child->text, sizeof child->text, "%.199s", error->text);
        if (!run->formed && !run->failed.code)
            run->failed = *error;
        break;
    default:
        break;
    }
}

void child_receive(struct run *run, struct child *child, unsigned most)
{
    enum child_channel_kind kind = CHILD_CHANNEL_KINDS;
    size_t bytes;
    for (unsigned i = 0; child->fd >= 0 && i < most; i++) {
        enum gw_err code =
            child_channel_receive(child->fd, run->buffer, &kind, &bytes);
        if (code == GW_PENDING)
            return;
        if (code == GW_OK)
            handle_message(run, child, kind, bytes);
        if (code == GW_ECLOSED) {
            close(child->fd);
            child->fd = -1;
        }
    }
}

/* ---- ends of processes ---- */

static void report_end(struct run *run, struct child *child, int status)
{
    char name[32], end[PROCESS_END_MAX];
    size_t room = sizeof child->text;
    child_name(child, name);
    if (child->left)
        snprintf(child->text, room, "left");
    else if (child->text[0])
        return; /* its own last sentence */
    else if (WIFEXITED(status) && WEXITSTATUS(status) == EXEC_FAILED &&
             !child->has_status)
        snprintf(child->text, room, "the program could not be started");
    else
        snprintf(child->text, room, "%s", process_end(status, end));
    if (!run->formed && !run->ending && !run->failed.code)
        gw_fail(&run->failed, GW_ELOST, "%s: %s", name, child->text);
}

static void ended(struct run *run, struct child *child, int status)
{
    char name[32];
    child->pid = 0;
    child->paused = child->leaving = child->killed = false;
    child->finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    child->ended_ns = gw_now_ns();
    control_suspect(run); /* first of all: others wait for it */
    child_receive(run, child, UINT_MAX);
    report_end(run, child, status);
    if (child->fd >= 0)
        close(child->fd);
    child->fd = -1;
    if (!run->ending)
        fprintf(stderr, "%s: %s\n", child_name(child, name), child->text);
    events_ended(run, child);
    program_ended(run, child);
}

void children_reap(struct run *run)
{
    struct child *child;
    int status;
    for (unsigned i = 0; (child = child_at(run, i)); i++)
        if (child->pid > 0 && process_reap(child->pid, WNOHANG, &status))
            ended(run, child, status);
}

static unsigned running(struct run *run)
{
    struct child *child;
    unsigned count = 0;
    for (unsigned i = 0; (child = child_at(run, i)); i++)
        count += child->pid > 0;
    return count;
}

static void signal_all(struct run *run, bool paused_alone, int number)
{
    struct child *child;
    for (unsigned i = 0; (child = child_at(run, i)); i++)
        if (child->pid > 0 && (!paused_alone || child->paused))
            kill(child->pid, number);
}

void children_end(struct run *run)
{
    uint64_t deadline = gw_now_ns() + GRACE_MS * UINT64_C(1000000);
    run->ending = true;
    children_send_desired(run);
    signal_all(run, true, SIGKILL); /* paused ones cannot receive orders */
    if (is_program(run))
        signal_all(run, false, SIGTERM); /* a program receives only signals */
    while (running(run) > 0) {
        if (gw_now_ns() >= deadline)
            signal_all(run, false, SIGKILL);
        poll(NULL, 0, PATIENCE_MS);
        children_reap(run);
    }
}
