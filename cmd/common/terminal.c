/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Output for a person: colour and the progress line.
 */
#include "common/text/visible.h"
#include "internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

/* Open MPI gives rank 0 a terminal of its own, and prints its text
 * elsewhere. */
static bool is_relayed(void)
{
    return is_set("OMPI_COMM_WORLD_RANK") || is_set("PMIX_RANK") ||
           is_set("PMI_RANK");
}

bool is_terminal(int fd)
{
    return isatty(fd) == 1 && !is_relayed();
}

static bool capable_terminal(int fd)
{
    const char *kind = getenv("TERM");
    return is_terminal(fd) && kind && strcmp(kind, "dumb") != 0;
}

/* --color, then NO_COLOR (no-color.org), then CLICOLOR_FORCE, then the
 * terminal. */
bool color_on(int fd)
{
    if (strcmp(common.color, "auto") != 0)
        return strcmp(common.color, "always") == 0;
    if (is_set("NO_COLOR"))
        return false;
    const char *force = getenv("CLICOLOR_FORCE");
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return capable_terminal(fd);
}

int terminal_columns(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_col < 10)
        return 80;
    return size.ws_col;
}

void progress(const char *format, ...)
{
    static char shown[256];
    char line[sizeof shown], escaped[4 * sizeof shown];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (strcmp(line, shown) == 0 || !capable_terminal(STDERR_FILENO))
        return;
    int room = terminal_columns(STDERR_FILENO) - 1;
    fprintf(stderr, "\r\033[K%.*s", room,
            visible(line, escaped, sizeof escaped));
    fflush(stderr);
    memcpy(shown, line, sizeof shown);
}
