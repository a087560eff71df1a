/* SPDX-License-Identifier: MIT
 *
 * See file.h. The kind of a file is checked before it is opened, because
 * opening some devices has an effect, and opening a socket or a pipe may wait.
 */
#include "file.h"

#include "memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum gw_err check_kind(const char *path, struct gw_error *why)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return gw_fail(why, GW_EDATA, "%.200s: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return gw_fail(why, GW_EDATA, "%.200s: %s", path, strerror(EISDIR));
    if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode))
        return gw_fail(why, GW_EDATA,
                       "%.200s: is a %s; use a regular file or a pipe", path,
                       S_ISSOCK(about.st_mode) ? "socket" : "device");
    return GW_OK;
}

enum gw_err gw__file_open(const char *path, int *fd, struct gw_error *why)
{
    *fd = -1;
    enum gw_err err = check_kind(path, why);
    if (err)
        return err;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*fd >= 0)
        return GW_OK;
    if (errno == EINTR)
        return gw_fail_errno(why, "%.200s", path);
    return gw_fail(why, GW_EDATA, "%.200s: %s", path, strerror(errno));
}

FILE *gw__file_stream(const char *path, struct gw_error *why)
{
    int fd;
    if (gw__file_open(path, &fd, why))
        return NULL;
    FILE *file = fdopen(fd, "r");
    if (!file) {
        gw_fail_errno(why, "%.200s", path);
        close(fd);
    }
    return file;
}

short gw__file_wait(int fd, short events, int ms)
{
    struct pollfd item = {.fd = fd, .events = events};
    if (poll(&item, 1, ms) >= 0)
        return item.revents;
    return errno == EINTR ? 0 : POLLNVAL;
}

bool gw__file_write(int fd, const void *data, size_t bytes)
{
    for (const char *from = data; bytes > 0;) {
        ssize_t n = write(fd, from, bytes);
        if (n < 0 && errno == EAGAIN)
            gw__file_wait(fd, POLLOUT, -1);
        else if (n < 0 && errno != EINTR)
            return false;
        from += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- the limit ---- */

uint64_t gw__file_bytes_max(void)
{
    return gw__memory_limit() / 4;
}

enum gw_err gw__file_too_long(const char *path, struct gw_error *why)
{
    uint64_t mega = gw__file_bytes_max() >> 20;
    return gw_fail(why, GW_EDATA,
                   "%.200s: more than %" PRIu64
                   " MB, which is a quarter of the memory of this process; use "
                   "a smaller file or raise the limit",
                   path, mega);
}
