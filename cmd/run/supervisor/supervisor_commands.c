/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The file `commands` in a run's directory: a script that repeats the
 * experiment. Its first line starts the run, and each request that a command
 * sent adds the command. A person types a fault when the run has made some
 * progress, so before each command, and at the end, the script waits until as
 * many ops are complete as at that time.
 *
 * A recording goes into the run's directory, wherever the command wrote it.
 */
#include "supervisor_experiment.h"
#include "supervisor_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static void append_line(const struct run *run, const char *line)
{
    int fd = openat(run->folder.fd, "commands",
                    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || dprintf(fd, "%s\n", line) < 0)
        fprintf(stderr, "commands: %s\n", strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void append_wait(struct run *run)
{
    struct progress_of progress;
    char line[64];
    run_progress(run, &progress);
    if (progress.op <= run->commands_op)
        return;
    run->commands_op = progress.op;
    snprintf(line, sizeof line, "wait op>=%" PRIu64, progress.op);
    append_line(run, line);
}

void commands_begin(struct run *run)
{
    if (run->options.line)
        append_line(run, run->options.line);
}

void commands_add(struct run *run, const json_t *request)
{
    const char *verb = json_string_value(json_object_get(request, "verb"));
    const char *line = json_string_value(json_object_get(request, "command"));
    if (!line || !verb || !run->options.line)
        return;
    if (strcmp(verb, "record") == 0)
        line = json_is_false(json_object_get(request, "on")) ? "record off"
                                                             : "record";
    if (strcmp(verb, "wait") != 0)
        append_wait(run);
    append_line(run, line);
}

void commands_end(struct run *run)
{
    if (!run->options.line || !run->control)
        return;
    append_wait(run);
    append_line(run, "down");
}
