/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Errors for a person, on stderr. Quoted text may contain any bytes and is made
 * visible here, for all callers. The first error is kept: output.c puts it into
 * the document when the output is JSON.
 */
#include "common/text/visible.h"
#include "internal.h"

#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

static struct gw_error first;
static const char *error_prefix;
static bool quiet, under_engine;

void complain_quietly(void)
{
    quiet = true;
}

void exit_for_engine(void)
{
    under_engine = true;
}

int exit_status(enum gw_err code)
{
    enum { TO_BE_RESTARTED = 75 };
    bool lost = code == GW_ELOST || code == GW_ECLOSED;
    bool reported_to_end = code == GW_EINTR && interrupted != SIGINT;
    return under_engine && (lost || reported_to_end) ? TO_BE_RESTARTED
                                                     : gw_err_exit(code);
}

const struct gw_error *complaint(void)
{
    return first.code ? &first : NULL;
}

int complaint_status(void)
{
    return first.code ? exit_status(first.code) : 0;
}

void complaint_clear(void)
{
    first.code = GW_OK;
}

const char *complain_at(const char *place)
{
    const char *before = error_prefix;
    error_prefix = place;
    return before;
}

int complain(const struct gw_error *error)
{
    struct gw_error launched;
    char text[4 * sizeof launched.text];
    gw_fail(&launched, error->code, "%s",
            error->text); /* with the code's text */
    if (error_prefix)
        gw_wrap(&launched, launched.code, "%s", error_prefix);
    bool red = color_on(STDERR_FILENO);
    progress("%s", "");
    output_flush(stdout);
    if (!quiet)
        fprintf(stderr, "%s%s: %s%s\n", red ? "\033[31m" : "",
                the_tool ? the_tool->name : "gradwire",
                visible(launched.text, text, sizeof text), red ? "\033[m" : "");
    if (!first.code)
        first = launched;
    return exit_status(error->code);
}

/* One line at once: it may come from any thread. */
static void print_notice(void *context, const char *sentence)
{
    char text[1024], line[1200];
    (void)context;
    int bytes = snprintf(line, sizeof line, "%s: %s\n",
                         the_tool ? the_tool->name : "gradwire",
                         visible(sentence, text, sizeof text));
    ssize_t written = write(STDERR_FILENO, line, (size_t)bytes);
    (void)written;
}

void notices_on_stderr(void)
{
    gw_notice_to(print_notice, NULL);
}

int complain_with(enum gw_err code, const char *format, ...)
{
    struct gw_error error = {.code = code};
    va_list args;
    va_start(args, format);
    vsnprintf(error.text, sizeof error.text, format, args);
    va_end(args);
    return complain(&error);
}
