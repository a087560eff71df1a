/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * events: the events of a run. Without --follow, those that `record` wrote into
 * the run's directory; with it, new ones, until Ctrl-C, the end of the run or
 * --for. With --trace the output is a Chrome trace.
 */
#include "ringctl/ringctl.h"
#include "ringctl/shell/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool follow, chunks;
static uint64_t for_ns;
static const char *trace;
static unsigned last;

static const struct option_spec options[] = {
    {"follow", 'f', OPTION_FLAG, &follow, NULL,
     "Print new events until the run ends.", NULL},
    {"chunks", 'c', OPTION_FLAG, &chunks, NULL,
     "Also print the events of each chunk (with --follow).", NULL},
    {"for", 0, OPTION_DURATION, &for_ns, "TIME",
     "End after TIME (with --follow).", NULL},
    {"last", 'n', OPTION_UNSIGNED, &last, "N",
     "Print only the last N events of a recording.", NULL},
    {"trace", 0, OPTION_TEXT, &trace, "FILE.json",
     "Write a Chrome trace for Perfetto, and print nothing.", NULL},
    {0},
};

/* Prints events in the format of -o; times begin with the first. */
struct printer {
    uint64_t first_ns;
    bool begun;
    struct gw_sink *sink; /* JSON lines or a trace; NULL: sentences */
    FILE *file;           /* of the trace */
};

static enum gw_err printer_begin(struct printer *p, struct gw_error *why)
{
    *p = (struct printer){0};
    if (trace) {
        p->file = fopen(trace, "we");
        return p->file ? gw_sink_chrome(p->file, &p->sink, why)
                       : gw_fail_errno(why, "%s", trace);
    }
    if (strcmp(common.output, "jsonl") == 0)
        return gw_sink_jsonl(stdout, 1, &p->sink, why);
    if (strcmp(common.output, "table") == 0)
        return GW_OK;
    return gw_fail(why, GW_ENOTSUP,
                   "events: -o json and csv are not supported; use text or -o "
                   "jsonl");
}

/* Completes the file, or returns the error in *why. */
static enum gw_err printer_end(struct printer *p, struct gw_error *why)
{
    gw_sink_close(&p->sink);
    if (!p->file)
        return GW_OK;
    bool bad = ferror(p->file) != 0;
    bad |= fclose(p->file) != 0;
    return bad ? gw_fail_errno(why, "%s", trace) : GW_OK;
}

static void printer_print(struct printer *p, const struct gw_event *event)
{
    char text[256];
    if (p->sink) {
        gw_emit(p->sink, event);
        return;
    }
    if (!p->begun)
        p->first_ns = event->time_ns;
    p->begun = true;
    gw_event_text(event, text, sizeof text);
    double seconds = ((double)event->time_ns - (double)p->first_ns) / 1e9;
    printf("%10.6f  %s\n", seconds, text);
    fflush(stdout);
}

/* ---- as they come ---- */

static enum gw_err follow_run(struct rpc_client *client,
                              struct printer *printer, struct gw_error *why)
{
    uint64_t end_ns = for_ns ? gw_now_ns() + for_ns : UINT64_MAX;
    enum gw_err code = rpc_client_listen(client, chunks, why);
    while (!code) {
        struct gw_event event;
        code = rpc_client_event(client, end_ns, &event, why);
        if (!code)
            printer_print(printer, &event);
        else if (code == GW_PENDING && !interrupted && gw_now_ns() < end_ns)
            code = GW_OK;
    }
    if (code == GW_ECLOSED || (code == GW_PENDING && !interrupted))
        return GW_OK;
    return interrupted ? gw_fail(why, GW_EINTR, "interrupted") : code;
}

static enum gw_err print_coming(struct printer *printer, struct gw_error *why)
{
    struct rpc_client *client;
    enum gw_err code = rpc_client_open(session_run(), &client, why);
    if (!code)
        code = follow_run(client, printer, why);
    rpc_client_close(&client);
    return code;
}

/* ---- as recorded ---- */

static unsigned long count_lines(FILE *file)
{
    unsigned long count = 0;
    for (int c; (c = getc(file)) != EOF;)
        count += c == '\n';
    rewind(file);
    return count;
}

static enum gw_err print_lines(struct printer *printer, FILE *file,
                               const char *path, struct gw_error *why)
{
    unsigned long number = 0, total = last ? count_lines(file) : 0;
    unsigned long skip = total > last ? total - last : 0;
    char *line = NULL;
    size_t room = 0;
    enum gw_err code = GW_OK;
    while (!code && !interrupted && getline(&line, &room, file) >= 0) {
        struct gw_event event;
        if (number++ < skip)
            continue;
        if (gw_event_parse(line, &event, why))
            code = gw_wrap(why, GW_EDATA, "%s:%lu", path, number);
        else
            printer_print(printer, &event);
    }
    free(line);
    return !code && interrupted ? gw_fail(why, GW_EINTR, "interrupted") : code;
}

static enum gw_err print_recorded(struct printer *printer, struct gw_error *why)
{
    char path[PATH_MAX];
    if (rpc_client_directory(session_run(), path, sizeof path, why))
        return why->code;
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "/events.jsonl");
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOENT)
        return gw_fail(why, GW_EUNREACH,
                       "no recording of this run; start one with: ringctl "
                       "record, or print new events with: ringctl events "
                       "--follow");
    if (!file)
        return gw_fail_errno(why, "%s", path);
    enum gw_err code = print_lines(printer, file, path, why);
    fclose(file);
    return code;
}

/* ---- */

static int run_events(int operand_count, char **operands)
{
    struct printer printer;
    struct gw_error why;
    (void)operand_count;
    (void)operands;
    enum gw_err code = printer_begin(&printer, &why);
    if (!code)
        code = follow ? print_coming(&printer, &why)
                      : print_recorded(&printer, &why);
    struct gw_error late;
    if (printer_end(&printer, &late) && !code) {
        code = late.code;
        why = late;
    }
    return code ? complain(&why) : 0;
}

const struct command command_events = {
    .name = "events",
    .help = "print the recorded events, or new ones with --follow",
    .examples = "ringctl events --follow\n"
                "ringctl events --follow --chunks --for 2s -o jsonl\n"
                "ringctl events --last 20\n"
                "ringctl events --trace kill.json\n",
    .options = options,
    .computes = true,
    .run = run_events,
};
