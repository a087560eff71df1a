/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tool's side of announcing (run_publisher.h). An event is one write, which
 * fits into the pipe or is dropped. The summary at the end waits for room.
 *
 * The tool keeps the reading end open, too, so that a write does not fail after
 * the process has died. The pipe then fills up, and all further events are
 * dropped.
 */
#include "run_publisher_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, CLOSE_MS = 10000 };

struct run_publisher {
    char name[RUN_NAME_MAX];
    pid_t pid;
    int ends[2];      /* of the pipe; the tool keeps both open */
    uint64_t dropped; /* events */
};

/* ---- opening ---- */

static enum gw_err await_ready(int fd, struct run_publisher *a,
                               struct gw_error *why)
{
    struct publish_run_ready ready;
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

static enum gw_err start_process(const struct publish_options *options,
                                 struct run_publisher *a, struct gw_error *why)
{
    int ready[2];
    pid_t tool = getpid();
    if (pipe2(a->ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return gw_fail_errno(why, "a pipe");
    fcntl(a->ends[1], F_SETPIPE_SZ, PIPE_BYTES);
    if (pipe2(ready, O_CLOEXEC) < 0)
        return gw_fail_errno(why, "a pipe");
    fflush(NULL); /* else the child inherits unwritten output */
    a->pid = fork();
    if (a->pid == 0) {
        const struct publish_run_config config = {.options = options,
                                                  .frames = a->ends[0],
                                                  .ready = ready[1],
                                                  .tool = tool};
        publish_run_live(&config);
    }
    close(ready[1]);
    enum gw_err code = a->pid < 0
                           ? gw_fail_errno(why, "announcement of the run")
                           : await_ready(ready[0], a, why);
    close(ready[0]);
    return code;
}

static void free_publish_run(struct run_publisher *a)
{
    for (int i = 0; i < 2; i++)
        if (a->ends[i] >= 0)
            close(a->ends[i]);
    free(a);
}

enum gw_err publish_run_open(const struct publish_options *options,
                             struct run_publisher **publisher,
                             struct gw_error *why)
{
    *publisher = NULL;
    enum gw_err code =
        options->name ? run_name_check(options->name, why) : GW_OK;
    if (code)
        return code;
    struct run_publisher *a = calloc(1, sizeof *a);
    if (!a)
        return gw_fail(why, GW_ENOMEM, "announcement of the run");
    a->ends[0] = a->ends[1] = -1;
    a->pid = -1;
    code = start_process(options, a, why);
    if (code && a->pid > 0)
        waitpid(a->pid, NULL, 0); /* it ends by itself */
    if (code)
        free_publish_run(a);
    else
        *publisher = a;
    return code;
}

const char *publish_run_name(const struct run_publisher *publisher)
{
    return publisher->name;
}

/* ---- writing ---- */

void publish_run_event(struct run_publisher *a, const struct gw_event *event)
{
    unsigned char frame[FRAME_HEAD_BYTES + sizeof *event];
    if (!a)
        return;
    frame_head(frame, FRAME_EVENTS, sizeof *event);
    memcpy(frame + FRAME_HEAD_BYTES, event, sizeof *event);
    _Static_assert(sizeof frame <= 512, "no write of it is torn: PIPE_BUF");
    a->dropped += write(a->ends[1], frame, sizeof frame) < 0;
}

/* ---- closing ---- */

/* Writes all bytes, unless the process has died or the time is over. */
static void write_whole(struct run_publisher *a, const unsigned char *bytes,
                        size_t left, uint64_t deadline_ns)
{
    struct pollfd room = {.fd = a->ends[1], .events = POLLOUT};
    enum { POLL_INTERVAL_MS = 20 };
    while (left > 0 && gw_now_ns() < deadline_ns) {
        ssize_t written = write(a->ends[1], bytes, left);
        if (written > 0) {
            bytes += written;
            left -= (size_t)written;
            continue;
        }
        if (waitpid(a->pid, NULL, WNOHANG) != 0) {
            a->pid = -1;
            return;
        }
        poll(&room, 1, POLL_INTERVAL_MS);
    }
}

/* Steals `summary`. */
static void write_summary(struct run_publisher *a, json_t *summary,
                          uint64_t deadline_ns)
{
    json_t *json = json_pack("{s:o, s:I}", "summary", summary, "dropped",
                             (json_int_t)a->dropped);
    char *text = json_dumps(json, JSON_COMPACT);
    size_t length = text ? strlen(text) : 0;
    unsigned char head[FRAME_HEAD_BYTES];
    json_decref(json);
    if (text && length <= FRAME_BYTES_MAX) {
        frame_head(head, FRAME_REPORT, length);
        write_whole(a, head, sizeof head, deadline_ns);
        if (a->pid > 0)
            write_whole(a, (unsigned char *)text, length, deadline_ns);
    }
    free(text);
}

static void reap_process(struct run_publisher *a, uint64_t deadline_ns)
{
    const struct timespec interval = {.tv_nsec = 2000000};
    while (waitpid(a->pid, NULL, WNOHANG) == 0) {
        if (gw_now_ns() >= deadline_ns)
            kill(a->pid, SIGKILL); /* the next waitpid finds it */
        nanosleep(&interval, NULL);
    }
}

void publish_run_close(struct run_publisher **publisher, json_t *summary)
{
    struct run_publisher *a = *publisher;
    uint64_t deadline_ns = gw_now_ns() + CLOSE_MS * UINT64_C(1000000);
    *publisher = NULL;
    if (!a) {
        json_decref(summary);
        return;
    }
    write_summary(a, summary ? summary : json_null(), deadline_ns);
    if (a->pid > 0)
        reap_process(a, deadline_ns);
    free_publish_run(a);
}
