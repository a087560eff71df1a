/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The supervisor: forks n ranks, reads their pipes, waits for all of them.
 *
 *     running --(a rank dies or fails)--> closing: 600 ms for the others to
 *        |                                say what they saw, then SIGKILL
 *        |------(Ctrl-C, SIGTERM)-------> stopping: SIGTERM to all, 500 ms,
 *        |                                then SIGKILL; Ctrl-C again: at once
 *        |------(all told a result)-----> leaving: 1 s to exit
 *        '------(a rank is silent)------> it is killed; 200 ms for the others
 *
 * In each state the end is the same: every child has been waited for. SIGINT,
 * SIGTERM and SIGCHLD are blocked for the duration and read from a signalfd, so
 * that one poll sees pipes and signals and nothing can slip in between.
 *
 * It forks before any thread or ZeroMQ context exists in this process; the
 * library is used by the children only. Read on in launch_rank.c.
 */
#include "launch_parts.h"

#include "command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CLOSING_MS = 600,
    SILENT_MS = 200, /* the silence itself has taken long enough */
    STOPPING_MS = 500,
    LEAVING_MS = 1000
};

/* SIGKILL to all in `ms`, unless that is decided for earlier already. */
static void end_within(struct supervisor *s, uint64_t ms)
{
    uint64_t at = gw_now_ns() + ms * 1000000;
    if (s->kill_at_ns == 0 || at < s->kill_at_ns)
        s->kill_at_ns = at;
}

static void signal_all(struct supervisor *s, int signal)
{
    for (unsigned i = 0; i < s->started; i++) {
        if (s->children[i].ended)
            continue;
        kill(s->endings[i].pid, signal);
        if (signal == SIGKILL)
            s->endings[i].shot = true;
    }
}

static void on_interrupt(struct supervisor *s)
{
    interrupted = 1;
    s->interrupts++;
    if (s->interrupts == 1)
        signal_all(s, SIGTERM);
    end_within(s, s->interrupts == 1 ? STOPPING_MS : 0);
}

static void on_result(struct supervisor *s, unsigned rank,
                      const struct frame *frame)
{
    struct ending *ending = &s->endings[rank];
    memcpy(&ending->result, frame->data, sizeof ending->result);
    ending->result.text[sizeof ending->result.text - 1] = 0;
    s->told += !ending->told;
    ending->told = true;
    if (ending->result.code)
        end_within(s, CLOSING_MS);
    else if (s->told == s->launch->ranks)
        end_within(s, LEAVING_MS);
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
    else if (frame->kind == FRAME_REPORT && launch->on_report)
        launch->on_report(launch->context, rank, frame->data, frame->bytes);
}

static enum gw_err take_frames(struct supervisor *s, unsigned rank,
                               struct gw_error *why)
{
    struct frame frame;
    enum gw_err code;
    while (!(code = frames_next(&s->children[rank].frames, &frame, why)))
        on_frame(s, rank, &frame);
    return code;
}

static void hang_up(struct supervisor *s, unsigned rank)
{
    close(s->children[rank].fd);
    s->children[rank].fd = -1;
}

/* A rank that writes nonsense is not listened to any more, and ends the run. */
static void refuse(struct supervisor *s, unsigned rank,
                   const struct gw_error *why)
{
    gw_fail(&s->error, GW_EINTERNAL, "%s %u: %s", rank_name(s->launch), rank,
            why->text);
    hang_up(s, rank);
    end_within(s, 0);
}

/* Reads once what `rank` has written; false when there is no more for now. */
static bool listen_to(struct supervisor *s, unsigned rank)
{
    struct child *child = &s->children[rank];
    struct gw_error why;
    enum gw_err code = frames_pull(&child->frames, child->fd, &why);
    if (code == GW_OK)
        child->heard_ns = s->attention.clock_ns;
    if (code == GW_OK && take_frames(s, rank, &why) == GW_PENDING)
        return true;
    if (code == GW_ECLOSED)
        hang_up(s, rank);
    else if (code != GW_PENDING)
        refuse(s, rank, &why);
    return false;
}

static bool ended_well(const struct ending *ending)
{
    return ending->told && WIFEXITED(ending->status) &&
           WEXITSTATUS(ending->status) == 0;
}

/* Waits for whoever has ended; what they wrote before is still heard. */
static void reap(struct supervisor *s, int flags)
{
    for (unsigned i = 0; i < s->started; i++) {
        struct ending *ending = &s->endings[i];
        if (s->children[i].ended ||
            waitpid(ending->pid, &ending->status, flags) != ending->pid)
            continue;
        s->children[i].ended = true;
        ending->turn = ++s->ended;
        while (s->children[i].fd >= 0 && listen_to(s, i))
            continue;
        if (s->children[i].fd >= 0)
            hang_up(s, i);
        if (!ended_well(ending))
            end_within(s, CLOSING_MS);
    }
}

static void take_signal_fd(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signal_fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            on_interrupt(s);
    reap(s, WNOHANG);
}

static int poll_timeout_ms(const struct supervisor *s)
{
    int look_ms = attention_wait_ms(&s->attention);
    if (s->kill_at_ns == 0)
        return look_ms;
    uint64_t now = gw_now_ns();
    if (now >= s->kill_at_ns)
        return 0;
    int kill_ms = (int)((s->kill_at_ns - now) / 1000000) + 1;
    return look_ms >= 0 && look_ms < kill_ms ? look_ms : kill_ms;
}

/* Who has told a result owes nothing more. */
static void look_for_silence(struct supervisor *s)
{
    attention_look(&s->attention, gw_now_ns());
    for (unsigned i = 0; i < s->started; i++) {
        struct ending *ending = &s->endings[i];
        if (s->children[i].ended || ending->told || ending->silent_ms > 0 ||
            !attention_misses(&s->attention, s->children[i].heard_ns))
            continue;
        ending->silent_ms = s->launch->silence_ms;
        kill(ending->pid, SIGKILL);
        end_within(s, SILENT_MS);
    }
}

static void wait_and_serve(struct supervisor *s)
{
    for (unsigned i = 0; i < s->started; i++)
        s->polls[i] =
            (struct pollfd){.fd = s->children[i].fd, .events = POLLIN};
    s->polls[s->started] =
        (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
    int ready = poll(s->polls, s->started + (nfds_t)1, poll_timeout_ms(s));
    for (unsigned i = 0; ready > 0 && i < s->started; i++)
        if (s->polls[i].revents)
            listen_to(s, i);
    take_signal_fd(s);
    look_for_silence(s);
}

/* Until every child that was started has been waited for. */
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

static enum gw_err run(struct supervisor *s, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned i = 0; i < s->launch->ranks && !code; i++)
        code = start_rank(s, i, &s->error);
    if (code)
        end_within(s, 0);
    supervise(s);
    if (s->interrupts > 0)
        return gw_fail(why, GW_EINTR, "interrupted");
    if (s->error.code)
        return gw_fail(why, s->error.code, "%s", s->error.text);
    return verdict_of(s->endings, s->launch->ranks, rank_name(s->launch), why);
}

enum gw_err launch_run(const struct launch *launch, struct gw_error *why)
{
    enum { RANKS_MAX = 1024 };
    struct supervisor s;
    if (launch->ranks == 0 || launch->ranks > RANKS_MAX)
        return gw_fail(why, GW_EINVAL, "1 to %d ranks fit here, not %u",
                       RANKS_MAX, launch->ranks);
    assert(launch->rank_main);
    fflush(NULL); /* else each child holds a copy of what is not written yet */
    enum gw_err code = supervisor_init(&s, launch, why);
    if (!code && interrupted) /* before the signals were ours */
        code = gw_fail(why, GW_EINTR, "interrupted");
    if (!code)
        code = run(&s, why);
    supervisor_fini(&s);
    return code;
}
