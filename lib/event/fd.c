/* SPDX-License-Identifier: MIT
 *
 * Raw records down a file descriptor, from a rank to its supervisor. A record
 * is smaller than PIPE_BUF, so records of several writers to one pipe never
 * mix. A full pipe blocks the writer, so that no record is lost. If the reader
 * is gone, the sink is silent (the process should ignore SIGPIPE), since a
 * rank's work does not depend on its observers.
 */
#include "base/file.h"
#include "event/sink.h"

#include <stdlib.h>

struct fd_sink {
    struct gw_sink sink;
    int fd;
    bool silent;
};

static void fd_emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct fd_sink *s = (struct fd_sink *)sink;
    if (!s->silent)
        s->silent = !gw__file_write(s->fd, event, sizeof *event);
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
