/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See train_stream.h. The thread waits for input in short intervals, so that it
 * ends soon when the training ends before its input.
 */
#include "train_stream.h"

#include "psnode/psnode.h"

#include <base/thread.h>
#include <learn/data/row_stream.h>

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { WAIT_MS = 50, AT_ONCE = 1 << 16 };

static struct stream {
    char folder[256]; /* "": no stream */
    struct gw__row_spool spool;
    pthread_t thread;
    bool reads;
    atomic_bool over;
} stream;

enum gw_err train_stream_open(const char **folder, struct gw_error *why)
{
    *folder = stream.folder;
    if (*stream.folder)
        return GW_OK;
    if (!directory_make(stream.folder, sizeof stream.folder)) {
        *stream.folder = 0;
        return gw_fail_errno(why, "a folder for the stream");
    }
    return gw__row_spool_open(&stream.spool, stream.folder, why);
}

static void *pump(void *context)
{
    static char text[AT_ONCE];
    struct stream *s = context;
    struct gw_error why = {.code = GW_OK};
    while (!atomic_load(&s->over)) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&input, 1, WAIT_MS) <= 0)
            continue;
        ssize_t bytes = read(STDIN_FILENO, text, sizeof text);
        if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (bytes <= 0)
            break;
        if (gw__row_spool_add(&s->spool, text, (size_t)bytes, &why))
            break;
    }
    if (gw__row_spool_close(&s->spool, &why) || why.code)
        fprintf(stderr, "psnode train: %s\n", why.text);
    return NULL;
}

enum gw_err train_stream_begin(struct gw_error *why)
{
    if (!*stream.folder)
        return GW_OK;
    enum gw_err code =
        gw__thread_start(&stream.thread, pump, &stream, "the stream", why);
    stream.reads = code == GW_OK;
    return code;
}

void train_stream_end(void)
{
    atomic_store(&stream.over, true);
    if (stream.reads)
        pthread_join(stream.thread, NULL);
    if (*stream.folder)
        directory_remove(stream.folder);
}
