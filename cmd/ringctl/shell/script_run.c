/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See script_run.h. Commands from a pipe run as they come, so a program at the
 * other end can wait for an answer before it writes the next one. A command
 * continues in the next line when a quote is open.
 */
#include "script_run.h"

#include "common/command.h"
#include "common/text/visible.h"
#include "session.h"

#include <base/file.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, FILE_BYTES_MAX = 1 << 24, TYPED_MAX = 4096 };

int script_run_command(const struct script_command *command,
                       const char *location)
{
    char typed[TYPED_MAX];
    session_type(command->count, command->words);
    fflush(stdout);
    if (common.verbose)
        fprintf(stderr, "+ %s\n",
                visible(session_typed(), typed, sizeof typed));
    const char *before = complain_at(location);
    int status = tool_line(command->count, command->words);
    complain_at(before);
    return status;
}

static int run_with_location(const struct script_command *command,
                             const struct script_options *o)
{
    char location[PATH_MAX + 16];
    if (!o->name)
        return script_run_command(command, NULL);
    if (!o->by_command) {
        snprintf(location, sizeof location, "%s:%u", o->name, command->line);
        return script_run_command(command, location);
    }
    session_type(command->count, command->words);
    snprintf(location, sizeof location, "%.60s", session_typed());
    return script_run_command(command, location);
}

static int complain_open(const struct script_options *o, unsigned line)
{
    return complain_with(GW_EDATA, "%s:%u: unterminated quote", o->name, line);
}

static bool goes_on(int status, const struct script_options *o)
{
    return !interrupted && !session_quit && (status == 0 || o->keep_going);
}

/* The first command that is sure to fail, such as a wait with an unknown name;
 * `command` is for the caller to free then. */
static bool find_failing(struct script s, struct script_command *command)
{
    while (script_next(&s, command) == SCRIPT_COMMAND) {
        if (tool_line_fails(command->count, command->words))
            return true;
        script_command_fini(command);
    }
    return false;
}

int script_check(const struct script *script,
                 const struct script_options *options)
{
    struct script_command command;
    if (options->keep_going || !find_failing(*script, &command))
        return 0;
    int status = run_with_location(&command, options);
    script_command_fini(&command);
    return status;
}

/* Runs the complete commands in s->text, and moves past them; *next is the
 * reason for stopping. */
static int run_commands(struct script *s, const struct script_options *o,
                        enum script_next *next, unsigned *line)
{
    struct script_command command;
    int first = script_check(s, o);
    *next = SCRIPT_END;
    *line = s->line;
    while (goes_on(first, o)) {
        struct script before = *s;
        *next = script_next(s, &command);
        *line = command.line;
        if (*next == SCRIPT_OPEN)
            *s = before;
        if (*next != SCRIPT_COMMAND)
            break;
        int status = run_with_location(&command, o);
        script_command_fini(&command);
        first = first ? first : status;
    }
    return first;
}

static int end_of(enum script_next next, unsigned line, int status,
                  const struct script_options *o)
{
    if (interrupted)
        return status ? status : gw_err_exit(GW_EINTR);
    if (next == SCRIPT_OPEN && goes_on(status, o))
        return complain_open(o, line);
    if (next == SCRIPT_MEMORY)
        return complain_with(GW_ENOMEM, "%s:%u", o->name, line);
    return status;
}

int script_run_text(const char *text, const struct script_options *options)
{
    struct script script = {.text = text, .line = 1};
    enum script_next next;
    unsigned line;
    int status = run_commands(&script, options, &next, &line);
    return end_of(next, line, status, options);
}

/* ---- files ---- */

static char *read_file(FILE *file, const char *path, struct gw_error *why)
{
    size_t used = 0, room = 4096;
    char *text = malloc(room);
    while (text) {
        used += fread(text + used, 1, room - used - 1, file);
        if (used + 1 < room || used > FILE_BYTES_MAX)
            break;
        char *more = realloc(text, room *= 2);
        if (!more)
            free(text);
        text = more;
    }
    if (!text) {
        gw_fail(why, GW_ENOMEM, "%s", path);
        return NULL;
    }
    text[used] = 0;
    bool failed = ferror(file), binary = strlen(text) != used;
    if (!failed && !binary && used <= FILE_BYTES_MAX)
        return text;
    free(text);
    if (failed)
        gw_fail(why, GW_EDATA, "%s: %s", path, strerror(errno));
    else
        gw_fail(why, GW_EDATA, "%s is not a script", path);
    return NULL;
}

static char *load_script(const char *path, struct gw_error *why)
{
    FILE *file = gw__file_stream(path, why);
    if (!file)
        return NULL;
    char *text = read_file(file, path, why);
    fclose(file);
    return text;
}

int script_run_file(const char *path, bool keep_going)
{
    static unsigned depth;
    const struct script_options options = {.name = path,
                                           .keep_going = keep_going};
    struct gw_error why;
    if (strcmp(path, "-") == 0)
        return script_run_input(keep_going);
    if (depth == DEPTH_MAX)
        return complain_with(
            GW_EDATA,
            "%s: scripts are nested too deeply; at most %d levels are possible",
            path, DEPTH_MAX);
    char *text = load_script(path, &why);
    if (!text)
        return complain(&why);
    depth++;
    int status = script_run_text(text, &options);
    depth--;
    free(text);
    return status;
}

/* ---- input line by line ---- */

/* Input not run yet. */
struct pending {
    char *text;
    size_t length;
    unsigned line; /* of its beginning */
};

static bool append_text(struct pending *p, const char *line, size_t length)
{
    char *text = realloc(p->text, p->length + length + 1);
    if (!text)
        return false;
    memcpy(text + p->length, line, length + 1);
    p->text = text;
    p->length += length;
    return true;
}

static void drop_done(struct pending *p, const struct script *done)
{
    p->length -= done->at;
    memmove(p->text, p->text + done->at, p->length + 1);
    p->line = done->line;
}

int script_run_input(bool keep_going)
{
    const struct script_options options = {.name = "standard input",
                                           .keep_going = keep_going};
    struct pending p = {.line = 1};
    enum script_next next = SCRIPT_END;
    char *line = NULL;
    size_t room = 0;
    unsigned at = 1;
    int first = 0;
    ssize_t length;
    while (goes_on(first, &options) &&
           (length = getline(&line, &room, stdin)) > 0 &&
           append_text(&p, line, (size_t)length)) {
        struct script s = {.text = p.text, .line = p.line};
        int status = run_commands(&s, &options, &next, &at);
        first = first ? first : status;
        drop_done(&p, &s);
    }
    free(line);
    free(p.text);
    return end_of(next, at, first, &options);
}
