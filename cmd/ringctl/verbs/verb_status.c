/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * status: all that the supervisor knows of its run, as one object or as a table
 * with one row per node. For an ended run, its summary.
 */
#include "answer_output.h"
#include "common/output.h"
#include "read_only.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "ringctl/runs.h"
#include "ringctl/shell/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct field fields[] = {
    {"node", NULL, FIELD_INTEGER, 0, false},
    {"role", NULL, FIELD_TEXT, 0, false},
    {"state", NULL, FIELD_TEXT, 0, false},
    {"rank", NULL, FIELD_TEXT, 0, false},
    {"op", NULL, FIELD_INTEGER, 0, false},
    {"phase", NULL, FIELD_TEXT, 0, false},
    {"waits_for", "waits for", FIELD_TEXT, 0, false},
    {"step", NULL, FIELD_INTEGER, 0, false},
    {"loss", NULL, FIELD_REAL, 4, false},
    {"pid", NULL, FIELD_INTEGER, 0, true},
    {"digest", NULL, FIELD_TEXT, 0, true},
    {"text", NULL, FIELD_TEXT, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* If a node is well, its last trouble is history. */
static const char *trouble_of(const json_t *node)
{
    const char *text = text_of(node, "text", "");
    bool alive = strcmp(text_of(node, "state", ""), "alive") == 0;
    return *text && (!alive || common.verbose) ? text : NULL;
}

/* A number of 0 or more; "-" if it is negative or null. */
static const char *or_dash(const json_t *object, const char *name, char out[24])
{
    int64_t value = integer_of(object, name, -1);
    snprintf(out, 24, "%" PRId64, value);
    return value < 0 ? "-" : out;
}

static const char *digest_of(const json_t *node, char out[24])
{
    const json_t *digest = json_object_get(node, "digest");
    if (json_is_string(digest))
        return json_string_value(digest);
    snprintf(out, 24, "%016" PRIx64, (uint64_t)json_integer_value(digest));
    return digest ? out : NULL;
}

static void print_node(struct output *output, const json_t *node)
{
    char rank[24], waits[24], digest[24];
    const union value row[FIELDS] = {
        {.integer = integer_of(node, "node", -1)},
        {.text = text_of(node, "role", "worker")},
        {.text = text_of(node, "state", "?")},
        {.text = or_dash(node, "rank", rank)},
        {.integer = integer_of(node, "op", 0)},
        {.text = text_of(node, "phase", "-")},
        {.text = or_dash(node, "waits_for", waits)},
        {.integer = integer_of(node, "step", 0)},
        {.real = real_of(node, "loss")},
        {.integer = integer_of(node, "pid", 0)},
        {.text = digest_of(node, digest)},
        {.text = trouble_of(node)},
    };
    output_row(output, row);
}

/* ---- notes above and below the rows ---- */

static void note_ps_members(struct output *output, const json_t *s)
{
    char text[160];
    snprintf(text, sizeof text,
             "%" PRId64 " servers, %" PRId64 " workers, %zu slots, %" PRId64
             " of %" PRId64 " replicas",
             integer_of(s, "servers", 0), integer_of(s, "workers", 0),
             json_array_size(json_object_get(s, "slots")),
             integer_of(s, "replicas", 0), integer_of(s, "replicas_wanted", 0));
    output_note_text(output, "members", text);
}

static void note_ring(struct output *output, const json_t *status)
{
    char text[512] = "none";
    size_t i, used = 0;
    json_t *node;
    json_array_foreach(json_object_get(status, "ring"), i,
                       node) if (used < sizeof text) used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? " " : "",
                         (int)json_integer_value(node));
    output_note_text(output, "ring", text);
}

/* In a run with --algo. */
static void note_algo(struct output *output, const json_t *status)
{
    char text[96];
    const char *algo = text_of(status, "algo", NULL);
    if (!algo)
        return;
    if (strcmp(algo, "built-in") == 0)
        snprintf(text, sizeof text, "built-in; --algo has none for %zu members",
                 json_array_size(json_object_get(status, "ring")));
    else
        snprintf(text, sizeof text, "%s", algo);
    output_note_text(output, "plan", text);
}

/* Of ops that are not all-reduces. */
static void note_collective(struct output *output, const json_t *status)
{
    const char *collective = text_of(status, "collective", "allreduce");
    char text[64];
    snprintf(text, sizeof text, "%s, %" PRId64 " wrong", collective,
             integer_of(status, "wrong", 0));
    if (strcmp(collective, "allreduce") != 0)
        output_note_text(output, "collective", text);
}

/* For people: related values in one line. */
static void notes_for_people(struct output *output, const json_t *s)
{
    char text[256], loss[48] = "", rate[48] = "";
    output_note_text(output, "run", text_of(s, "run", "?"));
    snprintf(text, sizeof text, "%s, epoch %" PRId64 ", %" PRId64 " alive",
             text_of(s, "state", "?"), integer_of(s, "epoch", 0),
             integer_of(s, "alive", 0));
    output_note_text(output, "state", text);
    if (text_of(s, "error", NULL))
        output_note_text(output, "error", text_of(s, "error", NULL));
    if (json_object_get(s, "slots"))
        note_ps_members(output, s);
    else
        note_ring(output, s);
    note_collective(output, s);
    note_algo(output, s);
    if (!isnan(real_of(s, "loss")))
        snprintf(loss, sizeof loss, ", loss %.6g", real_of(s, "loss"));
    if (json_object_get(s, "items_per_second"))
        snprintf(rate, sizeof rate, " (%.1f/s)",
                 real_of(s, "items_per_second"));
    snprintf(text, sizeof text,
             "step %" PRId64 ", %s %" PRId64 "%s%s, %" PRId64 " lost, %" PRId64
             " doubled",
             integer_of(s, "step", 0),
             json_object_get(s, "slots") ? "work item" : "op",
             integer_of(s, "op", 0), rate, loss, integer_of(s, "lost", 0),
             integer_of(s, "doubled", 0));
    output_note_text(output, "progress", text);
}

/* For programs: one note per value. */
static void notes_for_programs(struct output *output, const json_t *s)
{
    static const char *const names[] = {"epoch", "alive",   "step",  "op",
                                        "lost",  "doubled", "parked"};
    output_note_text(output, "run", text_of(s, "run", NULL));
    output_note_text(output, "run_state", text_of(s, "state", NULL));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        output_note_integer(output, names[i], integer_of(s, names[i], 0));
    if (!json_object_get(s, "slots"))
        return;
    output_note_real(output, "items_per_second",
                     real_of(s, "items_per_second"));
    output_note_text(output, "placement", text_of(s, "placement", NULL));
    output_note_real(output, "uneven", real_of(s, "uneven"));
}

static void print_times(const json_t *r, char *out, size_t room)
{
    static const struct {
        const char *name, *word;
    } times[] = {{"detected_ms", "detected"},
                 {"decided_ms", "decided"},
                 {"resumed_ms", "resumed"}};
    size_t used = 0;
    *out = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        double ms = real_of(r, times[i].name);
        if (!isnan(ms) && used < room)
            used += (size_t)snprintf(out + used, room - used, ", %s %.1f ms",
                                     times[i].word, ms);
    }
}

static void print_nodes(const json_t *nodes, char *out, size_t room)
{
    size_t i, used = 0;
    json_t *node;
    *out = 0;
    json_array_foreach(nodes, i, node) if (used < room) used +=
        (size_t)snprintf(out + used, room - used, " %d",
                         (int)json_integer_value(node));
}

/* The fate of the interrupted op. It may not be decided yet, or there was
 * none. */
static void print_fate(const json_t *r, char *out, size_t room)
{
    const char *fate = text_of(r, "fate", NULL);
    if (fate)
        snprintf(out, room, "op %" PRId64 " %s", integer_of(r, "op", 0), fate);
    else
        snprintf(out, room, "%s",
                 isnan(real_of(r, "decided_ms")) ? "not decided yet"
                                                 : "between two ops");
}

/* "node 2 (exit): epoch 2, op 7 forward, detected 1.2 ms, ..." */
static void note_recovery(struct output *output, const json_t *r)
{
    char text[512], fate[64], times[128], nodes[128];
    print_fate(r, fate, sizeof fate);
    print_times(r, times, sizeof times);
    print_nodes(json_object_get(r, "nodes"), nodes, sizeof nodes);
    snprintf(text, sizeof text,
             "node%s (%s): epoch %" PRId64 ", %s%s, %" PRId64
             " chunks kept, %" PRId64 " redone, %" PRId64 " fresh",
             nodes, text_of(r, "how", "?"), integer_of(r, "epoch", 0), fate,
             times, integer_of(r, "chunks_kept", 0),
             integer_of(r, "chunks_redone", 0),
             integer_of(r, "chunks_fresh", 0));
    output_note_text(output, "recovery", text);
}

/* "server 0 (exit): epoch 9, detected 0.2 ms, ..." */
static void note_ps_recovery(struct output *output, const json_t *r)
{
    char text[512] = "", times[128];
    size_t i, used = 0;
    json_t *name;
    print_times(r, times, sizeof times);
    json_array_foreach(json_object_get(r, "names"), i, name)
    {
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     i ? ", " : "", json_string_value(name));
    }
    if (used < sizeof text)
        snprintf(text + used, sizeof text - used, " (%s): epoch %" PRId64 "%s",
                 text_of(r, "how", "?"), integer_of(r, "epoch", 0), times);
    output_note_text(output, "recovery", text);
}

static void note_recoveries(struct output *output, const json_t *status)
{
    enum { SHOWN_MAX = 8 };
    const json_t *list = json_object_get(status, "recoveries");
    size_t count = json_array_size(list);
    size_t first = count > SHOWN_MAX ? count - SHOWN_MAX : 0;
    for (size_t i = first; i < count; i++)
        (json_object_get(status, "slots") ? note_ps_recovery : note_recovery)(
            output, json_array_get(list, i));
    const json_t *result = json_object_get(status, "result");
    if (!json_is_object(result))
        return;
    output_note_text(output, "ended", text_of(result, "ended", NULL));
    output_note_real(output, "train_loss", real_of(result, "train_loss"));
    if (!isnan(real_of(result, "train_accuracy")))
        output_note_real(output, "train_accuracy",
                         real_of(result, "train_accuracy"));
    if (!isnan(real_of(result, "test_accuracy")))
        output_note_real(output, "test_accuracy",
                         real_of(result, "test_accuracy"));
    if (strcmp(text_of(result, "quality", "accuracy"), "accuracy") == 0)
        return;
    output_note_text(output, "quality", text_of(result, "quality", "?"));
    output_note_real(output, "train_quality", real_of(result, "train_quality"));
    output_note_real(output, "test_quality", real_of(result, "test_quality"));
}

static int print_rows(json_t *status)
{
    struct gw_error why;
    struct output *output;
    size_t i;
    json_t *node;
    bool people = strcmp(common.output, "table") == 0;
    if (output_begin("ringctl status", common.output, fields, FIELDS, &output,
                     &why))
        return complain(&why);
    output_collect(output);
    output_spare(output, "op loss phase");
    if (is_read_only(status))
        read_only_notes(output, status);
    else
        (people ? notes_for_people : notes_for_programs)(output, status);
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        print_node(output, node);
    }
    if (people && !is_read_only(status))
        note_recoveries(output, status);
    output_end(&output, NULL, false);
    return 0;
}

/* ---- */

/* The status of a living run, or the summary of an ended one. */
static enum gw_err find_status(json_t **status, struct gw_error *why)
{
    enum gw_err code = request_status(status, why);
    if (code != GW_EUNREACH)
        return code;
    *status = runs_summary(session_run());
    return *status ? GW_OK : code;
}

static int run_status(int operand_count, char **operands)
{
    struct gw_error why;
    json_t *status;
    (void)operand_count;
    (void)operands;
    if (find_status(&status, &why))
        return complain(&why);
    int result =
        is_json_output() ? report_object("status", status) : print_rows(status);
    json_decref(status);
    return result;
}

const struct command command_status = {
    .name = "status",
    .help = "print the state of the run: ring, nodes, progress, recoveries",
    .examples = "ringctl status\n"
                "ringctl status -o json\n",
    .run = run_status,
};
