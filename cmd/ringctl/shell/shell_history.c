/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The shell's history. Each line is written when it is typed, so two shells at
 * the same time, or one that dies, lose nothing.
 */
#include "shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <readline/history.h>

enum { PATH_BYTES = 4096, LINES_MAX = 2000 };

static char path[PATH_BYTES]; /* "": not stored */

/* Makes the missing folders of the file's path. */
static void make_folders(char *file)
{
    for (char *slash = strchr(file + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(file, 0700);
        *slash = '/';
    }
}

static void find_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (state && *state == '/')
        length =
            snprintf(path, sizeof path, "%s/gradwire/ringctl_history", state);
    else if (home && *home)
        length = snprintf(path, sizeof path,
                          "%s/.local/state/gradwire/ringctl_history", home);
    if (length < 0 || (size_t)length >= sizeof path)
        *path = 0;
}

void shell_history_begin(void)
{
    using_history();
    stifle_history(LINES_MAX);
    find_path();
    if (!*path)
        return;
    make_folders(path);
    if (read_history(path) == 0)
        return;
    FILE *file = fopen(path, "ae"); /* append_history needs an existing file */
    if (file)
        fclose(file);
}

/* Skips a repeated line. */
void shell_history_add(const char *line)
{
    const HIST_ENTRY *last =
        history_length > 0 ? history_get(history_base + history_length - 1)
                           : NULL;
    if (line[strspn(line, " \t\n")] == 0 ||
        (last && strcmp(last->line, line) == 0))
        return;
    add_history(line);
    if (*path)
        append_history(1, path);
}

void shell_history_end(void)
{
    if (*path)
        history_truncate_file(path, LINES_MAX);
}
