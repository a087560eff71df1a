/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tool's side of announcing (announce.h). An event is one write that either
 * fits into the pipe or is dropped. A status may be longer than such a write:
 * what has begun to be written goes on before anything else, and of what waits
 * only the newest status is kept.
 *
 * The tool holds the reading end, too, so that writing is no error when the
 * process has died: then the pipe is full one day, and all is dropped.
 */
#include "announce_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, CLOSE_MS = 2000 };

/* Bytes that are to be written as they are. */
struct letter {
    unsigned char *bytes; /* NULL: there is none */
    size_t at, end;
};

struct announce {
    char name[RUN_NAME_MAX];
    pid_t pid;
    int ends[2]; /* of the pipe: both are ours */
    struct letter open, next;
    uint64_t dropped; /* events */
};

/* ---- opening ---- */

static enum gw_err await_ready(int fd, struct announce *a, struct gw_error *why)
{
    struct announce_ready ready;
    ssize_t got;
    do
        got = read(fd, &ready, sizeof ready);
    while (got < 0 && errno == EINTR);
    if (got != sizeof ready)
        return gw_fail(why, GW_EINTERNAL,
                       "the process that announces the run ended immediately");
    if (ready.why.code)
        return gw_fail(why, ready.why.code, "%s", ready.why.text);
    memcpy(a->name, ready.name, sizeof a->name);
    return GW_OK;
}

static enum gw_err start(const struct announce_options *options,
                         struct announce *a, struct gw_error *why)
{
    int ready[2];
    pid_t tool = getpid();
    if (pipe2(a->ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return gw_fail_errno(why, "a pipe");
    fcntl(a->ends[1], F_SETPIPE_SZ, PIPE_BYTES);
    if (pipe2(ready, O_CLOEXEC) < 0)
        return gw_fail_errno(why, "a pipe");
    fflush(NULL); /* else the child holds a copy of what is not written yet */
    a->pid = fork();
    if (a->pid == 0) {
        const struct announce_birth birth = {.options = options,
                                             .frames = a->ends[0],
                                             .ready = ready[1],
                                             .tool = tool};
        announce_live(&birth);
    }
    close(ready[1]);
    enum gw_err code = a->pid < 0
                           ? gw_fail_errno(why, "announcement of the run")
                           : await_ready(ready[0], a, why);
    close(ready[0]);
    return code;
}

static void release(struct announce *a)
{
    for (int i = 0; i < 2; i++)
        if (a->ends[i] >= 0)
            close(a->ends[i]);
    free(a->open.bytes);
    free(a->next.bytes);
    free(a);
}

enum gw_err announce_open(const struct announce_options *options,
                          struct announce **announce, struct gw_error *why)
{
    *announce = NULL;
    enum gw_err code =
        options->name ? run_name_check(options->name, why) : GW_OK;
    if (code)
        return code;
    struct announce *a = calloc(1, sizeof *a);
    if (!a)
        return gw_fail(why, GW_ENOMEM, "announcement of the run");
    a->ends[0] = a->ends[1] = -1;
    a->pid = -1;
    code = start(options, a, why);
    if (code && a->pid > 0)
        waitpid(a->pid, NULL, 0); /* it ends by itself */
    if (code)
        release(a);
    else
        *announce = a;
    return code;
}

const char *announce_name(const struct announce *announce)
{
    return announce->name;
}

/* ---- writing ---- */

/* Goes on with what has begun; false while it is not done. */
static bool push(struct announce *a)
{
    while (a->open.bytes) {
        ssize_t written = write(a->ends[1], a->open.bytes + a->open.at,
                                a->open.end - a->open.at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        a->open.at += (size_t)written;
        if (a->open.at < a->open.end)
            continue;
        free(a->open.bytes);
        a->open = a->next;
        a->next = (struct letter){.bytes = NULL};
    }
    return true;
}

void announce_event(struct announce *a, const struct gw_event *event)
{
    unsigned char frame[FRAME_HEAD_BYTES + sizeof *event];
    if (!a)
        return;
    frame_head(frame, FRAME_EVENTS, sizeof *event);
    memcpy(frame + FRAME_HEAD_BYTES, event, sizeof *event);
    _Static_assert(sizeof frame <= 512, "no write of it is torn: PIPE_BUF");
    a->dropped += !push(a) || write(a->ends[1], frame, sizeof frame) < 0;
}

static struct letter letter_of(json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;
    struct letter letter = {.bytes = NULL};
    json_decref(json);
    if (text && length <= FRAME_BYTES_MAX)
        letter.bytes = malloc(FRAME_HEAD_BYTES + length);
    if (letter.bytes) {
        letter.end = FRAME_HEAD_BYTES + length;
        frame_head(letter.bytes, FRAME_REPORT, length);
        memcpy(letter.bytes + FRAME_HEAD_BYTES, text, length);
    }
    free(text);
    return letter;
}

/* Steals `value`. The newest takes the place of one that has not begun. */
static void post(struct announce *a, const char *name, json_t *value)
{
    struct letter letter = letter_of(json_pack(
        "{s:o, s:I}", name, value, "dropped", (json_int_t)a->dropped));
    struct letter *place =
        a->open.bytes && a->open.at > 0 ? &a->next : &a->open;
    if (!letter.bytes)
        return;
    free(place->bytes);
    *place = letter;
    push(a);
}

void announce_status(struct announce *a, json_t *status)
{
    if (a)
        post(a, "status", status);
    else
        json_decref(status);
}

/* ---- closing ---- */

static int ms_until(uint64_t deadline_ns)
{
    uint64_t now_ns = gw_now_ns();
    return now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / 1000000) + 1
                                : 0;
}

/* Until the process has taken all, or has died, or time is over. */
static void finish(struct announce *a, uint64_t deadline_ns)
{
    struct pollfd room = {.fd = a->ends[1], .events = POLLOUT};
    enum { LOOK_MS = 20 };
    while (!push(a) && gw_now_ns() < deadline_ns) {
        int ms = ms_until(deadline_ns);
        if (waitpid(a->pid, NULL, WNOHANG) != 0) {
            a->pid = -1;
            return;
        }
        poll(&room, 1, ms < LOOK_MS ? ms : LOOK_MS);
    }
}

static void bury(struct announce *a, uint64_t deadline_ns)
{
    const struct timespec look = {.tv_nsec = 2000000};
    while (waitpid(a->pid, NULL, WNOHANG) == 0) {
        if (gw_now_ns() >= deadline_ns)
            kill(a->pid, SIGKILL); /* the next look finds it */
        nanosleep(&look, NULL);
    }
}

void announce_close(struct announce **announce, json_t *summary)
{
    struct announce *a = *announce;
    uint64_t deadline_ns = gw_now_ns() + CLOSE_MS * UINT64_C(1000000);
    *announce = NULL;
    if (!a) {
        json_decref(summary);
        return;
    }
    post(a, "summary", summary ? summary : json_null());
    finish(a, deadline_ns);
    if (a->pid > 0)
        bury(a, deadline_ns);
    release(a);
}
