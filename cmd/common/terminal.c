/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Output for a person: colour, the progress line, and pages.
 */
#include "common/text/visible.h"
#include "internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

bool person_types;

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

bool is_screen(int fd)
{
    const char *term = getenv("TERM");
    return is_terminal(fd) && term && *term && strcmp(term, "dumb") != 0;
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
    return is_screen(fd);
}

int terminal_columns(int fd)
{
    enum { USUAL = 80, LEAST = 10 };
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    if (is_terminal(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width < LEAST ? USUAL : width;
}

void progress(const char *format, ...)
{
    static char shown[256];
    char line[sizeof shown], escaped[4 * sizeof shown];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (strcmp(line, shown) == 0 || !is_screen(STDERR_FILENO))
        return;
    int room = terminal_columns(STDERR_FILENO) - 1;
    fprintf(stderr, "\r\033[K%.*s", room,
            visible(line, escaped, sizeof escaped));
    fflush(stderr);
    memcpy(shown, line, sizeof shown);
}

/* ---- pages ---- */

/* The last row is for the question. */
static unsigned page_rows(void)
{
    enum { USUAL = 24, LEAST = 4 };
    struct winsize size = {.ws_row = 0};
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return (size.ws_row < LEAST ? USUAL : size.ws_row) - 1u;
}

/* Without the echo of the answer, whose time is not known: it may have been typed
 * before the question. */
static ssize_t read_answer(char *answer, size_t room)
{
    struct termios usual, silent;
    bool known = tcgetattr(STDIN_FILENO, &usual) == 0;
    if (known) {
        silent = usual;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSANOW, &silent);
    }
    ssize_t length = read(STDIN_FILENO, answer, room);
    if (known)
        tcsetattr(STDIN_FILENO, TCSANOW, &usual);
    return length;
}

static bool next_page(void)
{
    char answer[256];
    fputs("-- Enter: next page, q: end -- ", stdout);
    fflush(stdout);
    if (read_answer(answer, sizeof answer) <= 0 || interrupted)
        return false;
    fputs("\r\033[K", stdout); /* the question's line */
    return *answer == '\n';
}

void print_pages(const char *text)
{
    unsigned rows = page_rows();
    for (unsigned row = 0; *text; row++) {
        if (row == rows && !next_page())
            return;
        row %= rows;
        size_t length = strcspn(text, "\n") + 1;
        length -= text[length - 1] == 0;
        fwrite(text, 1, length, stdout);
        text += length;
    }
}
