/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The supervisor: forks n ranks, reads their pipes, waits for all of them.
 *
 * Under an engine, other supervisors have ranks, too. Rank 0's supervisor hears
 * those over sockets (launch_far.c) and starts only its own rank. A remote rank
 * has ended when its socket is closed.
 *
 *     running --(a rank dies or fails)--> closing: 600 ms for the others to
 *        |                                report, then SIGKILL
 *        |------(Ctrl-C, SIGTERM)-------> stopping: SIGTERM to all, 500 ms,
 *        |                                then SIGKILL; Ctrl-C again: at once
 *        |------(all gave a result)-----> leaving: 60 s to exit
 *        '------(a rank is silent)------> it is killed; 200 ms for the others
 *
 * In each state the end is the same: every child has been waited for. SIGINT,
 * SIGTERM and SIGCHLD are blocked meanwhile and read from a signalfd, so that
 * one poll sees pipes and signals and no event is missed in between.
 *
 * It forks before any thread or ZeroMQ context exists in this process; only the
 * children use the library. Read on in launch_rank.c.
 */
#include "common/launch/launch_parts.h"

#include "command.h"
#include "launched.h"

#include <wire/process_inspect.h>

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CLOSE_MS = 600,
    SILENT_MS = 200, /* the silence itself has already taken long */
    STOPPING_MS = 500,
    DRAINING_MS = 10000, /* under an engine, which has its own limit */
    LEAVING_MS = 60000,  /* freeing much memory on a busy machine is slow */
    POLL_INTERVAL_MS = 10
};

/* Sends SIGKILL to all in `ms`, unless that is due earlier already. */
static void end_within(struct supervisor *s, uint64_t ms)
{
    uint64_t at = gw_now_ns() + ms * 1000000;
    if (s->kill_at_ns == 0 || at < s->kill_at_ns)
        s->kill_at_ns = at;
}

/* Does the end of this rank end the run? */
static bool matters(const struct supervisor *s, unsigned rank)
{
    return rank == 0 || !s->launch->expendable;
}

static void hang_up(struct supervisor *s, unsigned rank)
{
    close(s->children[rank].fd);
    s->children[rank].fd = -1;
}

static void far_ended(struct supervisor *s, unsigned rank)
{
    s->children[rank].ended = true;
    s->endings[rank].turn = ++s->ended;
    if (!s->endings[rank].reported)
        end_within(s, CLOSE_MS);
}

/* A program may have started other processes, which are in its group. */
static void signal_child(struct supervisor *s, unsigned rank, int signal)
{
    pid_t pid = s->endings[rank].pid;
    assert(pid > 0);
    kill(s->launch->program ? -pid : pid, signal);
}

/* The state shows whether the rank hung or waited for a CPU. */
static void note_killed(struct ending *ending, bool here)
{
    unsigned long long start;
    ending->killed = true;
    if (!here ||
        !gw__process_watch_stat((uint32_t)ending->pid, &ending->state, &start))
        ending->state = 0;
}

static void signal_all(struct supervisor *s, int signal)
{
    for (unsigned i = 0; i < s->launch->ranks; i++) {
        const struct child *child = &s->children[i];
        if (child->ended || child->kind == CHILD_NONE)
            continue;
        if (signal == SIGKILL)
            note_killed(&s->endings[i], child->kind == CHILD_HERE);
        if (child->kind == CHILD_HERE)
            signal_child(s, i, signal);
        if (signal != SIGKILL)
            continue;
        if (child->kind == CHILD_FAR && child->fd >= 0)
            hang_up(s, i);
        if (child->kind == CHILD_FAR)
            far_ended(s, i);
    }
}

static void on_interrupt(struct supervisor *s, int signal)
{
    int patience = s->launch->launched ? DRAINING_MS : STOPPING_MS;
    interrupted = signal;
    s->interrupts++;
    if (s->interrupts == 1)
        signal_all(s, SIGTERM);
    end_within(s, s->interrupts == 1 ? (uint64_t)patience : 0);
}

static bool serves(const struct supervisor *s, unsigned rank)
{
    return rank + s->launch->servers >= s->launch->ranks;
}

/* Ends the servers: the ranks that used them have ended. */
static void dismiss_servers(struct supervisor *s)
{
    for (unsigned i = 0; i < s->launch->ranks; i++)
        if (serves(s, i) && !s->children[i].ended)
            signal_child(s, i, SIGTERM);
}

static void on_result(struct supervisor *s, unsigned rank,
                      const struct frame *frame)
{
    struct ending *ending = &s->endings[rank];
    memcpy(&ending->result, frame->data, sizeof ending->result);
    ending->result.text[sizeof ending->result.text - 1] = 0;
    s->reported += !ending->reported && !serves(s, rank);
    ending->reported = true;
    bool last =
        s->reported == s->expected || (s->launch->expendable && rank == 0);
    if (ending->result.code && matters(s, rank)) {
        end_within(s, CLOSE_MS);
    } else if (last) {
        dismiss_servers(s);
        end_within(s, LEAVING_MS);
    }
}

static void on_events(const struct launch *launch, const struct frame *frame)
{
    struct gw_event event;
    for (size_t at = 0; at < frame->bytes; at += sizeof event) {
        memcpy(&event, frame->data + at, sizeof event);
        launch->on_event(launch->context, &event);
    }
}

static void on_frame(struct supervisor *s, unsigned rank,
                     const struct frame *frame)
{
    const struct launch *launch = s->launch;
    if (frame->kind == FRAME_RESULT)
        on_result(s, rank, frame);
    else if (frame->kind == FRAME_EVENTS && launch->on_event)
        on_events(launch, frame);
    else if (launch->launched && launch->launched->config.rank != 0)
        s->rank0_receives |= frame->kind == FRAME_REPORT;
    else if (frame->kind == FRAME_REPORT && launch->on_report)
        launch->on_report(launch->context, rank, frame->data, frame->bytes);
}

static enum gw_err read_frames(struct supervisor *s, unsigned rank,
                               struct gw_error *why)
{
    struct frame frame;
    enum gw_err code;
    while (!(code = frames_next(&s->children[rank].frames, &frame, why)))
        on_frame(s, rank, &frame);
    return code;
}

/* A rank that sends invalid frames is disconnected and ends the run. */
static void refuse_rank(struct supervisor *s, unsigned rank,
                        const struct gw_error *why)
{
    char called[RANK_CALLED_MAX];
    gw_fail(&s->error, GW_EINTERNAL, "%s: %s",
            rank_called(s->endings, rank_name(s->launch), rank, called),
            why->text);
    hang_up(s, rank);
    end_within(s, 0);
}

/* Reads once from `rank`; false when there is no more for now. */
static bool listen_to(struct supervisor *s, unsigned rank)
{
    struct child *child = &s->children[rank];
    struct gw_error why;
    enum gw_err code = frames_pull(&child->frames, child->fd, &why);
    if (code == GW_OK)
        child->last_frame_ns = s->attention.clock_ns;
    if (code == GW_OK && read_frames(s, rank, &why) == GW_PENDING)
        return true;
    if (code == GW_ECLOSED)
        hang_up(s, rank);
    else if (code != GW_PENDING)
        refuse_rank(s, rank, &why);
    if (child->kind == CHILD_FAR && child->fd < 0)
        far_ended(s, rank);
    return false;
}

static bool has_succeeded(const struct ending *ending)
{
    return ending->reported && WIFEXITED(ending->status) &&
           WEXITSTATUS(ending->status) == 0;
}

/* The only result of a program is its exit status. The processes it started are
 * killed. */
static void finish_program(struct supervisor *s, unsigned rank)
{
    struct ending *ending = &s->endings[rank];
    int *first = s->launch->program_status;
    kill(-ending->pid, SIGKILL);
    if (ending->reported)
        return;
    ending->program = true;
    if (ending->status == 0) {
        ending->reported = true;
        s->reported++;
    } else if (first && *first == 0 && !ending->killed) {
        *first = WIFEXITED(ending->status) ? WEXITSTATUS(ending->status)
                                           : 128 + WTERMSIG(ending->status);
    }
}

/* Waits for the ranks that have ended, and reads the rest of their pipes. */
static void reap(struct supervisor *s, int flags)
{
    for (unsigned i = 0; i < s->launch->ranks; i++) {
        struct ending *ending = &s->endings[i];
        if (s->children[i].ended || s->children[i].kind != CHILD_HERE ||
            !process_reap(ending->pid, flags, &ending->status))
            continue;
        s->children[i].ended = true;
        ending->turn = ++s->ended;
        while (s->children[i].fd >= 0 && listen_to(s, i))
            continue;
        if (s->children[i].fd >= 0)
            hang_up(s, i);
        if (s->launch->program)
            finish_program(s, i);
        if (!has_succeeded(ending) && matters(s, i))
            end_within(s, CLOSE_MS);
    }
}

static void take_signals(struct supervisor *s)
{
    int number;
    while ((number = signals_next(&s->signals)))
        if (number != SIGCHLD)
            on_interrupt(s, number);
    reap(s, WNOHANG);
}

static int poll_timeout_ms(const struct supervisor *s)
{
    int wait_ms = attention_wait_ms(&s->attention);
    if (s->kill_at_ns == 0)
        return s->launch->on_poll ? POLL_INTERVAL_MS : wait_ms;
    uint64_t now = gw_now_ns();
    if (now >= s->kill_at_ns)
        return 0;
    int kill_ms = (int)((s->kill_at_ns - now) / 1000000) + 1;
    return wait_ms >= 0 && wait_ms < kill_ms ? wait_ms : kill_ms;
}

/* A rank that has given its result owes no further signs of life. */
static void check_silence(struct supervisor *s)
{
    attention_update(&s->attention, gw_now_ns());
    for (unsigned i = 0; i < s->launch->ranks; i++) {
        struct ending *ending = &s->endings[i];
        if (s->children[i].ended || ending->reported ||
            s->children[i].kind != CHILD_HERE || ending->silent_ms > 0)
            continue;
        unsigned silences = attention_confirms_dead(
            &s->attention, s->children[i].last_frame_ns, ending->pid);
        if (silences == 0)
            continue;
        ending->silent_ms = silences * s->launch->silence_ms;
        kill(ending->pid, SIGKILL);
        if (matters(s, i))
            end_within(s, SILENT_MS);
    }
}

static void call_on_poll(struct supervisor *s)
{
    const struct launch *launch = s->launch;
    if (launch->on_poll && s->kill_at_ns == 0 &&
        launch->on_poll(launch->context, &s->error))
        end_within(s, 0);
}

/* A remote rank has connected. A second connection of the same rank is closed.
 */
static void welcome(struct supervisor *s, unsigned rank, int fd,
                    const struct ending *ending)
{
    struct child *child = rank < s->launch->ranks ? &s->children[rank] : NULL;
    if (!child || child->kind != CHILD_FAR || child->ended || child->fd >= 0) {
        close(fd);
        return;
    }
    child->fd = fd;
    s->endings[rank] = *ending;
}

static void answer_callers(struct supervisor *s)
{
    struct ending ending = {.pid = 0};
    unsigned rank;
    int fd;
    while (far_accept(s->far_fd, &s->far, &s->callers, &fd, &rank, &ending))
        welcome(s, rank, fd, &ending);
}

/* The listening socket and the callers that have not sent hello yet. */
static nfds_t poll_callers(struct supervisor *s, struct pollfd *polls)
{
    polls[0] = (struct pollfd){.fd = s->far_fd, .events = POLLIN};
    for (unsigned i = 0; i < s->callers.count; i++)
        polls[1 + i] =
            (struct pollfd){.fd = s->callers.callers[i].fd, .events = POLLIN};
    return 1 + s->callers.count;
}

static bool any_update(const struct pollfd *polls, nfds_t count)
{
    bool any = false;
    for (nfds_t i = 0; i < count; i++)
        any |= polls[i].revents != 0;
    return any;
}

static void wait_and_serve(struct supervisor *s)
{
    unsigned ranks = s->launch->ranks;
    for (unsigned i = 0; i < ranks; i++)
        s->polls[i] =
            (struct pollfd){.fd = s->children[i].fd, .events = POLLIN};
    s->polls[ranks] = (struct pollfd){.fd = s->signals.fd, .events = POLLIN};
    struct pollfd *afar = &s->polls[ranks + 1];
    nfds_t callers = poll_callers(s, afar);
    int ready = poll(s->polls, ranks + 1 + callers, poll_timeout_ms(s));
    for (unsigned i = 0; ready > 0 && i < ranks; i++)
        if (s->polls[i].revents)
            listen_to(s, i);
    if (ready > 0 && any_update(afar, callers))
        answer_callers(s);
    take_signals(s);
    check_silence(s);
    call_on_poll(s);
}

/* Runs until every started child has been waited for. */
static void supervise(struct supervisor *s)
{
    while (s->ended < s->started) {
        wait_and_serve(s);
        if (s->kill_at_ns == 0 || gw_now_ns() < s->kill_at_ns)
            continue;
        signal_all(s, SIGKILL);
        reap(s, 0);
    }
}

static enum gw_err run_ranks(struct supervisor *s, struct gw_error *why)
{
    const struct launched *launched = s->launch->launched;
    enum gw_err code = GW_OK;
    for (unsigned i = 0; i < s->launch->ranks && !code; i++)
        if (!launched || i == launched->config.rank)
            code = start_rank(s, i, &s->error);
    if (code)
        end_within(s, 0);
    supervise(s);
    if (s->interrupts > 0)
        return gw_fail(why, GW_EINTR, "interrupted");
    if (s->error.code)
        return gw_fail(why, s->error.code, "%s", s->error.text);
    if (launched && s->rank0_receives &&
        s->endings[launched->config.rank].reported)
        complain_quietly(); /* rank 0 reports it for all */
    return verdict_of(s->endings, s->launch->expendable ? 1 : s->launch->ranks,
                      rank_name(s->launch), why);
}

enum gw_err launch_run(const struct launch *launch, struct gw_error *why)
{
    enum { RANKS_MAX = 1024 };
    struct supervisor s;
    if (launch->ranks == 0 || launch->ranks > RANKS_MAX)
        return gw_fail(
            why, GW_EINVAL,
            "the number of ranks must be from 1 to %d on this host, not %u",
            RANKS_MAX, launch->ranks);
    assert(launch->rank_main || launch->program);
    fflush(NULL); /* else each child inherits unwritten output */
    if (launch->launched)
        complain_at(NULL); /* from here on sentences name the rank themselves */
    enum gw_err code = supervisor_init(&s, launch, why);
    if (!code && interrupted) /* a signal before signals_acquire */
        code = gw_fail(why, GW_EINTR, "interrupted");
    if (!code)
        code = run_ranks(&s, why);
    supervisor_fini(&s);
    return code;
}
