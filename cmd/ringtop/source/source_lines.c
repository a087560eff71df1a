/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events as JSON lines from a file or a pipe. An invalid line is reported with
 * its number, and reading continues after it. A last line without an end of
 * line, from an interrupted writer, is parsed all the same.
 */
#include "source.h"

#include "common/command.h"

#include <base/file.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 1 << 16 };

struct lines {
    struct source source;
    char name[256];
    char buffer[LINE_BYTES_MAX];
    size_t begin, end; /* bytes read but not parsed yet */
    size_t scanned;    /* no end of line before here */
    uint64_t number;   /* of the line at `begin`, counted from 1 */
    bool ended;        /* no more can be read */
    bool skipping;     /* within a line that is too long */
    bool own;          /* the descriptor must be closed */
};

/* The line at `begin`, terminated in place; NULL when it is incomplete. */
static char *pop_line(struct lines *l)
{
    char *from = l->buffer + l->scanned;
    char *newline = memchr(from, '\n', l->end - l->scanned);
    if (!newline) {
        l->scanned = l->end;
        return NULL;
    }
    char *line = l->buffer + l->begin;
    *newline = 0;
    l->begin = l->scanned = (size_t)(newline - l->buffer) + 1;
    l->number++;
    return line;
}

static enum gw_err parse(const struct lines *l, const char *line,
                         struct gw_event *event, struct gw_error *why)
{
    enum gw_err err = gw_event_parse(line, event, why);
    if (err)
        gw_wrap(why, err, "%s:%llu", l->name, (unsigned long long)l->number);
    return err;
}

/* The rest without an end of line. */
static enum gw_err pop_rest(struct lines *l, struct gw_event *event,
                            struct gw_error *why)
{
    size_t bytes = l->end - l->begin;
    char *rest = l->buffer + l->begin;
    bool skipped = l->skipping;
    l->skipping = false;
    if (bytes == 0 || skipped)
        return gw_fail(why, GW_ECLOSED, "%s: the end", l->name);
    rest[bytes] = 0;
    l->begin = l->scanned = l->end;
    l->number++;
    if (gw_event_parse(rest, event, why) == GW_OK)
        return GW_OK;
    return gw_fail(why, GW_EDATA,
                   "%s:%llu: incomplete line at the end of the file", l->name,
                   (unsigned long long)l->number);
}

/* Makes room for at least one byte more, and one to terminate. */
static enum gw_err reserve_line(struct lines *l, struct gw_error *why)
{
    if (l->begin > 0) {
        memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->scanned -= l->begin;
        l->begin = 0;
    }
    if (l->end + 1 < sizeof l->buffer)
        return GW_OK;
    l->end = l->scanned = 0;
    if (l->skipping)
        return GW_OK;
    l->skipping = true;
    return gw_fail(why, GW_EDATA, "%s:%llu: the line is longer than %d bytes",
                   l->name, (unsigned long long)l->number + 1, LINE_BYTES_MAX);
}

static int wait_ms(uint64_t deadline_ns)
{
    uint64_t now_ns = gw_now_ns();
    uint64_t ms = deadline_ns > now_ns ? (deadline_ns - now_ns) / 1000000 : 0;
    return ms < 1000000 ? (int)ms : 1000000;
}

/* Reads once; GW_PENDING when nothing came in time. */
static enum gw_err read_more(struct lines *l, uint64_t deadline_ns,
                             struct gw_error *why)
{
    struct pollfd wait = {.fd = l->source.fd, .events = POLLIN};
    int ready = poll(&wait, 1, wait_ms(deadline_ns));
    if (ready == 0 || (ready < 0 && errno == EINTR))
        return GW_PENDING;
    ssize_t got =
        read(l->source.fd, l->buffer + l->end, sizeof l->buffer - 1 - l->end);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return GW_PENDING;
    l->ended = got <= 0;
    if (got < 0)
        return gw_fail(why, GW_EDATA, "%s: %s", l->name, strerror(errno));
    l->end += (size_t)got;
    return GW_OK;
}

static enum gw_err lines_next(struct source *source, uint64_t deadline_ns,
                              struct gw_event *event, struct gw_error *why)
{
    struct lines *l = (struct lines *)source;
    for (bool filled = false;; filled = true) {
        char *line = pop_line(l);
        if (line && l->skipping)
            l->skipping = false;
        else if (line && line[strspn(line, " \t\r")])
            return parse(l, line, event, why);
        if (line)
            continue;
        if (l->ended)
            return pop_rest(l, event, why);
        if (filled && (interrupted || gw_now_ns() >= deadline_ns))
            return GW_PENDING;
        enum gw_err err = reserve_line(l, why);
        if (!err)
            err = read_more(l, deadline_ns, why);
        if (err)
            return err;
    }
}

static void lines_close(struct source *source)
{
    struct lines *l = (struct lines *)source;
    if (l->own)
        close(source->fd);
    free(l);
}

enum gw_err source_lines(const char *path, struct source **source,
                         struct gw_error *why)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = STDIN_FILENO;
    *source = NULL;
    enum gw_err err = is_stdin ? GW_OK : gw__file_open(path, &fd, why);
    if (err)
        return err;
    struct lines *l = calloc(1, sizeof *l);
    if (!l) {
        if (!is_stdin)
            close(fd);
        return gw_fail(why, GW_ENOMEM, "reading %.200s", path);
    }
    l->source = (struct source){
        .next = lines_next, .close = lines_close, .fd = fd, .live = is_stdin};
    l->own = !is_stdin;
    size_t length = strnlen(path, sizeof l->name - 1);
    memcpy(l->name, is_stdin ? "stdin" : path, is_stdin ? 5 : length);
    *source = &l->source;
    return GW_OK;
}

void source_close(struct source **source)
{
    if (*source)
        (*source)->close(*source);
    *source = NULL;
}
