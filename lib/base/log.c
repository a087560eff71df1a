/* SPDX-License-Identifier: MIT
 *
 * The log; see log.h. The variable is read once, by the first place that might
 * log. An invalid value turns the log off; the tools refuse it (gw__log_check).
 */
#include "log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Atomic int gw__log_level = GW__LOG_UNREAD;
static _Atomic int output = STDERR_FILENO;

/* *file: the part after the colon, or NULL. */
static int parse(const char *text, const char **file)
{
    static const char *const names[] = {[GW__LOG_OFF] = "off",
                                        [GW__LOG_INFO] = "info",
                                        [GW__LOG_DEBUG] = "debug"};
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    *file = colon && colon[1] ? colon + 1 : NULL;
    for (int level = GW__LOG_OFF; level <= GW__LOG_DEBUG; level++)
        if (strlen(names[level]) == length &&
            strncmp(text, names[level], length) == 0 && (!colon || *file))
            return level;
    return GW__LOG_UNREAD;
}

static int open_file(const char *file)
{
    return open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

int gw__log_read_level(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int level = atomic_load(&gw__log_level);
    if (level == GW__LOG_UNREAD) {
        const char *text = getenv("GRADWIRE_LOG"), *file = NULL;
        level = text && *text ? parse(text, &file) : GW__LOG_OFF;
        int fd = file && level > GW__LOG_OFF ? open_file(file) : STDERR_FILENO;
        if (level == GW__LOG_UNREAD || fd < 0)
            level = GW__LOG_OFF;
        else
            atomic_store(&output, fd);
        atomic_store(&gw__log_level, level);
    }
    pthread_mutex_unlock(&lock);
    return level;
}

void gw__log_write(const char *module, const char *format, ...)
{
    char line[512];
    va_list values;
    uint64_t now_ns = gw_now_ns();
    int head =
        snprintf(line, sizeof line,
                 "%" PRIu64 ".%06" PRIu64 " %ld %s: ", now_ns / 1000000000,
                 now_ns / 1000 % 1000000, (long)getpid(), module);
    size_t used = head > 0 ? (size_t)head : 0, room = sizeof line - 1 - used;
    va_start(values, format);
    int text = vsnprintf(line + used, room, format, values);
    va_end(values);
    if (text > 0)
        used += (size_t)text < room ? (size_t)text : room - 1;
    line[used++] = '\n';
    ssize_t written = write(atomic_load(&output), line, used);
    (void)written; /* a failing log must not stop anything */
}

enum gw_err gw__log_check(struct gw_error *why)
{
    const char *text = getenv("GRADWIRE_LOG"), *file = NULL;
    if (!text || !*text)
        return GW_OK;
    if (parse(text, &file) == GW__LOG_UNREAD)
        return gw_fail(why, GW_EINVAL,
                       "GRADWIRE_LOG=%s: use off, info or debug, or info:FILE "
                       "or debug:FILE",
                       text);
    int fd = file ? open_file(file) : -1;
    if (file && fd < 0)
        return gw_fail_errno(why, "GRADWIRE_LOG: %s", file);
    if (fd >= 0)
        close(fd);
    return GW_OK;
}
