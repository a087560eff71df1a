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
    bool plain = child->role == GW__WORKER && !child->crew;
    snprintf(out, 32, "%s %u", plain ? "node" : gw__role_name(child->role),
             child->number);
    return out;
}

const char *child_short(const struct child *child, char out[32])
{
    bool plain = child->role == GW__WORKER && !child->crew;
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
    if (child->crew)
        return crew_find(&run->update, child->node) != NULL;
    return child->role == GW__WORKER &&
           gw__view_rank(&run->update.view, child->node) >= 0;
}

bool child_lives(const struct child *child)
{
    return child->pid > 0 || child->awaits;
}

bool child_is_whole(const struct run *run, const struct child *child)
{
    return child_is_member(run, child) &&
           (child->role != GW__WORKER || child->crew ||
            child->note.stage == STAGE_MEMBER);
}

unsigned members_alive(const struct run *run)
{
    unsigned count = 0;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        count += run->workers[n].pid > 0 && !run->workers[n].awaits &&
                 child_is_whole(run, &run->workers[n]);
    return count + crew_alive(run, GW__SERVER);
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

static void make_orders(const struct run *run, const struct child *child,
                        struct orders *orders)
{
    memset(orders, 0, sizeof *orders);
    orders->work = run->work;
    orders->pace_ns = run->pace_ns;
    ring_wanted(run, &orders->order);
    orders->slow_ns = child->slow_ns;
    orders->clock_rate = child->clock_rate > 0 ? child->clock_rate : 1;
    orders->events = events_level(run);
    orders->describe = run->known.asked;
    orders->leave = child->leaving;
    orders->end = run->ending;
    links_orders(&run->links, child->node, orders);
    crew_orders(run, child, orders);
}

static void make_birth(const struct run *run, const struct child *child,
                       struct birth *birth)
{
    memset(birth, 0, sizeof *birth);
    birth->role = child->role;
    birth->number = child->number;
    birth->process = child->process;
    birth->token = run->token;
    birth->seed = run->options.seed;
    birth->controllers = controllers_all(run);
    birth->servers = run->options.servers;
    if (run->options.straggler)
        snprintf(birth->straggler, sizeof birth->straggler, "%s",
                 run->options.straggler);
    if (run->options.suspicion)
        snprintf(birth->suspicion, sizeof birth->suspicion, "%s",
                 run->options.suspicion);
    if (run->options.restore)
        snprintf(birth->restore, sizeof birth->restore, "%s",
                 run->options.restore);
    snprintf(birth->wire, sizeof birth->wire, "%s",
             run->options.wire ? run->options.wire : "shm");
    snprintf(birth->directory, sizeof birth->directory, "%.4000s/c%u",
             run->folder.path, child->number);
    memcpy(birth->raft, run->raft, sizeof birth->raft);
    make_orders(run, child, &birth->orders);
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
        post_become(fd, false, arguments);
    child->pid = pid;
    return GW_OK;
}

/* Resets the fields that a new process of the same number does not inherit. */
static void forget_former(struct child *child)
{
    struct child fresh;
    child_init(&fresh, child->role, child->number);
    fresh.slow_ns = child->slow_ns;
    fresh.crew = child->crew;
    if (child->fd >= 0)
        close(child->fd);
    *child = fresh;
}

enum gw_err child_start(struct run *run, struct child *child,
                        struct gw_error *why)
{
    int ends[2];
    struct birth *birth = malloc(sizeof *birth);
    forget_former(child);
    if (!birth)
        return gw_fail(why, GW_ENOMEM, "no memory for a process");
    enum gw_err code = GW_OK;
    if (getrandom(&child->process, sizeof child->process, 0) !=
        sizeof child->process) {
        free(birth);
        return gw_fail_errno(why, "random numbers");
    }
    make_birth(run, child, birth);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        code = gw_fail_errno(why, "a socket pair");
    } else {
        child->fd = ends[0];
        child->known = true;
        post_send(child->fd, POST_BIRTH, birth, sizeof *birth, false);
        code = spawn(run, child, ends[1], why);
        close(ends[1]);
    }
    free(birth);
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

void child_order(struct run *run, struct child *child)
{
    struct orders orders;
    if (child->pid <= 0 || child->fd < 0)
        return;
    make_orders(run, child, &orders);
    child->late = post_send(child->fd, POST_ORDERS, &orders, sizeof orders,
                            false) == GW_PENDING;
}

void children_order(struct run *run)
{
    struct child *child;
    for (unsigned i = 0; (child = child_at(run, i)); i++)
        child_order(run, child);
    control_rules(run);
}

/* ---- their messages ---- */

static void take_note(struct run *run, struct child *child)
{
    const struct node_note before = child->note;
    memcpy(&child->note, run->buffer, sizeof child->note);
    child->left = child->note.stage == STAGE_LEFT;
    recovery_note(run, child, child->noted ? &before : NULL);
    crew_note(run, child, child->noted ? &before : NULL);
    child->noted = true;
    resumed_look(run);
    tell_note(run, child);
}

static void take_message(struct run *run, struct child *child,
                         enum post_kind kind, size_t bytes)
{
    const void *data = run->buffer;
    const struct gw_error *last = data;
    switch (kind) {
    case POST_NOTE:
        take_note(run, child);
        break;
    case POST_EVENTS:
        events_publish(run, data, bytes / sizeof(struct gw_event));
        break;
    case POST_KNOWN:
        known_told(run, child, data, bytes);
        break;
    case POST_LAST:
        snprintf(child->text, sizeof child->text, "%.199s", last->text);
        if (!run->formed && !run->failed.code)
            run->failed = *last;
        break;
    default:
        break;
    }
}

void child_receive(struct run *run, struct child *child, unsigned most)
{
    enum post_kind kind = POST_KINDS;
    size_t bytes;
    for (unsigned i = 0; child->fd >= 0 && i < most; i++) {
        enum gw_err code = post_receive(child->fd, run->buffer, &kind, &bytes);
        if (code == GW_PENDING)
            return;
        if (code == GW_OK)
            take_message(run, child, kind, bytes);
        if (code == GW_ECLOSED) {
            close(child->fd);
            child->fd = -1;
        }
    }
}

/* ---- ends of processes ---- */

static void tell_end(struct run *run, struct child *child, int status)
{
    char name[32], end[PROCESS_END_MAX];
    size_t room = sizeof child->text;
    child_name(child, name);
    if (child->left)
        snprintf(child->text, room, "left");
    else if (child->text[0])
        return; /* its own last sentence */
    else if (WIFEXITED(status) && WEXITSTATUS(status) == EXEC_FAILED &&
             !child->noted)
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
    child->ended_ns = gw_now_ns();
    control_accuse(run); /* first of all: others wait for it */
    child_receive(run, child, UINT_MAX);
    tell_end(run, child, status);
    if (child->fd >= 0)
        close(child->fd);
    child->fd = -1;
    if (!run->ending)
        fprintf(stderr, "%s: %s\n", child_name(child, name), child->text);
    events_ended(run, child);
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
    children_order(run);
    signal_all(run, true, SIGKILL); /* paused ones cannot receive orders */
    while (running(run) > 0) {
        if (gw_now_ns() >= deadline)
            signal_all(run, false, SIGKILL);
        poll(NULL, 0, PATIENCE_MS);
        children_reap(run);
    }
}
