/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See read_only.h. The members of a tool's status are not known here: each of
 * its plain values becomes a line.
 */
#include "read_only.h"

#include "common/text/json_get.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool is_read_only(const json_t *status)
{
    return json_is_string(json_object_get(status, "tool"));
}

/* Printed in another line, or not useful here. */
static bool is_omitted(const char *name)
{
    static const char *const omitted[] = {"run",   "tool",    "state",
                                          "pid",   "version", "events_dropped",
                                          "alive", "step",    "command"};
    for (size_t i = 0; i < sizeof omitted / sizeof *omitted; i++)
        if (strcmp(name, omitted[i]) == 0)
            return true;
    return false;
}

static void note_value(struct output *output, const char *name,
                       const json_t *value)
{
    if (json_is_string(value))
        output_note_text(output, name, json_string_value(value));
    else if (json_is_integer(value))
        output_note_integer(output, name, json_integer_value(value));
    else if (json_is_real(value))
        output_note_real(output, name, json_real_value(value));
}

static void note_pipeline(struct output *output, const json_t *status)
{
    const json_t *pipeline = json_object_get(status, "pipeline");
    char text[160];
    if (!json_is_object(pipeline))
        return;
    int64_t ns = integer_of(pipeline, "predicted_ns", 0);
    int used = snprintf(
        text, sizeof text,
        "step %" PRId64 ", %" PRId64 " stages, %" PRId64 " micro-batches",
        integer_of(status, "step", 0), integer_of(pipeline, "stages", 0),
        integer_of(pipeline, "micros", 0));
    if (ns > 0 && used > 0 && (size_t)used < sizeof text)
        snprintf(text + used, sizeof text - (size_t)used,
                 ", predicted step time %.3f ms", (double)ns * 1e-6);
    output_note_text(output, "pipeline", text);
}

static void note_verbs(struct output *output, const json_t *status)
{
    const json_t *verb;
    char text[160] = "";
    size_t i, used = 0;
    json_array_foreach(json_object_get(status, "verbs"), i, verb)
    {
        const char *name = json_string_value(verb);
        if (name && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     i ? ", " : "", name);
    }
    if (used > 0 && used < sizeof text)
        snprintf(text + used, sizeof text - used, "; it belongs to %s",
                 text_of(status, "tool", "?"));
    output_note_text(output, "verbs", text);
}

void read_only_notes(struct output *output, json_t *status)
{
    char text[160];
    const char *name;
    json_t *value;
    output_note_text(output, "run", text_of(status, "run", "?"));
    snprintf(text, sizeof text, "%s, %s, pid %" PRId64,
             text_of(status, "state", "?"), text_of(status, "tool", "?"),
             integer_of(status, "pid", 0));
    output_note_text(output, "state", text);
    output_note_text(output, "command", text_of(status, "command", ""));
    note_pipeline(output, status);
    json_object_foreach(status, name, value)
    {
        if (!is_omitted(name))
            note_value(output, name, value);
    }
    note_verbs(output, status);
}
