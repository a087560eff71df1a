/* SPDX-License-Identifier: MIT
 *
 * Raw records down a file descriptor, from a rank to its supervisor. A record
 * is smaller than PIPE_BUF, so records of several writers to one pipe never
 * mix. A full pipe blocks the writer, so that no record is lost. If the reader
 * is gone, the sink is silent (the process should ignore SIGPIPE), since a
 * rank's work does not depend on its observers.
 */
#include "event/sink.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

struct fd_sink {
    struct gw_sink sink;
    int fd;
    bool silent;
};

/* Waits until a non-blocking descriptor accepts bytes again. */
static bool wait_for_room(int fd)
{
    struct pollfd full = {.fd = fd, .events = POLLOUT};
    int ready = poll(&full, 1, -1);
    return ready > 0 || errno == EINTR;
}

static bool write_all(int fd, const void *data, size_t bytes)
{
    const char *next = data;
    while (bytes > 0) {
        ssize_t wrote = write(fd, next, bytes);
        if (wrote >= 0) {
            next += wrote;
            bytes -= (size_t)wrote;
        } else if (errno == EAGAIN) {
            if (!wait_for_room(fd))
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void fd_emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct fd_sink *s = (struct fd_sink *)sink;
    if (!s->silent)
        s->silent = !write_all(s->fd, event, sizeof *event);
}

/* The descriptor is the caller's. */
static void fd_close(struct gw_sink *sink)
{
    free(sink);
}

enum gw_err gw_sink_fd(int fd, struct gw_sink **sink, struct gw_error *why)
{
    enum gw_err code =
        gw__sink_new(sizeof(struct fd_sink), fd_emit, fd_close, sink, why);
    if (code == GW_OK)
        ((struct fd_sink *)*sink)->fd = fd;
    return code;
}
