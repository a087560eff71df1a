/* SPDX-License-Identifier: MIT
 *
 * Printer of fault schedules; faults.h has the form. Durations are integers of
 * the largest possible unit, so that parsing gives equal values.
 */
#include "faults.h"

#include <inttypes.h>
#include <stdarg.h>

const struct gw__fault_verb gw__fault_verbs[GW__FAULT_KINDS] = {
    [GW__CRASH] = {"crash", GW__OF_NODES, true},
    [GW__RESTART] = {"restart", GW__OF_NODES, false},
    [GW__PAUSE] = {"pause", GW__OF_NODES, true},
    [GW__RESUME] = {"resume", GW__OF_NODES, false},
    [GW__CUT] = {"cut", GW__OF_LINK, true},
    [GW__DROP] = {"drop", GW__OF_LINK, true},
    [GW__DUP] = {"dup", GW__OF_LINK, true},
    [GW__DELAY] = {"delay", GW__OF_LINK, true},
    [GW__CLOCK] = {"clock", GW__OF_NODES, true},
    [GW__HEAL] = {"heal", GW__OF_NONE, false},
};

bool gw__fault_joins(const struct gw__fault *fault, unsigned nodes)
{
    struct gw_nodes all = gw__nodes_first(nodes);
    struct gw_nodes from = gw__nodes_and(fault->nodes, all);
    struct gw_nodes to = gw__nodes_and(fault->to, all);
    return !gw__nodes_is_empty(from) && !gw__nodes_is_empty(to) &&
           !(gw__nodes_count(from) == 1 && gw__nodes_equal(from, to));
}

struct line {
    char *text;
    size_t length;
};

/* Large enough for every second node on both sides. */
GW_PRINTF(2, 3)
static void append_text(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int wrote = vsnprintf(line->text + line->length,
                          GW__FAULT_TEXT_MAX - line->length, format, args);
    va_end(args);
    line->length += wrote > 0 ? (size_t)wrote : 0;
    if (line->length >= GW__FAULT_TEXT_MAX)
        line->length = GW__FAULT_TEXT_MAX - 1;
}

void gw__format_ns(uint64_t ns, char text[32])
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    unsigned unit = 0;
    while (ns % units[unit].ns)
        unit++;
    snprintf(text, 32, "%" PRIu64 "%s", ns / units[unit].ns, units[unit].name);
}

static void put_ns(struct line *line, const char *before, uint64_t ns)
{
    char text[32];
    gw__format_ns(ns, text);
    append_text(line, "%s%s", before, text);
}

/* The last node of the row of nodes that begins with this one. */
static unsigned last_in_row(const struct gw_nodes *nodes, unsigned node)
{
    while (node + 1 < GW__NODES_MAX && gw__nodes_has(nodes, node + 1))
        node++;
    return node;
}

/* A few nodes in a row are listed, many are a range. */
static void put_nodes(struct line *line, const struct gw_nodes *nodes)
{
    enum { LISTED = 4 };
    const char *comma = "";
    if (gw__nodes_equal(*nodes, GW__ALL_NODES)) {
        append_text(line, "*");
        return;
    }
    for (unsigned node = gw__nodes_next(nodes, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(nodes, node + 1)) {
        unsigned last = last_in_row(nodes, node);
        append_text(line, "%s%u", comma, node);
        comma = ",";
        if (last - node < LISTED)
            continue;
        append_text(line, "-%u", last);
        node = last;
    }
}

/* Writes millionths as a decimal number without trailing zeros. */
static void put_chance(struct line *line, uint32_t millionths)
{
    append_text(line, " %u.%06u", millionths / 1000000, millionths % 1000000);
    while (line->text[line->length - 1] == '0')
        line->length--;
    if (line->text[line->length - 1] == '.')
        line->length--;
    line->text[line->length] = 0;
}

static void put_place(struct line *line, const struct gw__fault *fault)
{
    append_text(line, "at op %u ", fault->op);
    if (fault->chunk != GW__ANY_CHUNK)
        append_text(line, "chunk %u ", fault->chunk);
    if (fault->transfer)
        append_text(line, "transfer %u ", fault->transfer);
}

static void put_operand(struct line *line, const struct gw__fault *fault)
{
    enum gw__fault_operand operand = gw__fault_verbs[fault->kind].operand;
    if (operand == GW__OF_NONE)
        return;
    append_text(line, " ");
    put_nodes(line, &fault->nodes);
    if (operand == GW__OF_LINK) {
        append_text(line, fault->both_ways ? "|" : ">");
        put_nodes(line, &fault->to);
    }
}

static void put_amount(struct line *line, const struct gw__fault *fault)
{
    switch (fault->kind) {
    case GW__CRASH:
        if (fault->after != GW__AT_ONCE)
            append_text(line, " after %u", fault->after);
        break;
    case GW__DROP:
    case GW__DUP:
        put_chance(line, fault->chance);
        break;
    case GW__DELAY:
        put_ns(line, " ", fault->least_ns);
        if (fault->most_ns != fault->least_ns)
            put_ns(line, "..", fault->most_ns);
        break;
    case GW__CLOCK:
        append_text(line, " %+dppm", fault->ppm);
        break;
    default:
        break;
    }
}

void gw__fault_format(const struct gw__fault *fault,
                      char text[GW__FAULT_TEXT_MAX])
{
    struct line line = {text, 0};
    text[0] = 0;
    if (fault->by_op)
        put_place(&line, fault);
    if (fault->at_ns) {
        put_ns(&line, "at ", fault->at_ns);
        append_text(&line, " ");
    }
    append_text(&line, "%s", gw__fault_verbs[fault->kind].name);
    put_operand(&line, fault);
    put_amount(&line, fault);
    if (fault->for_ns)
        put_ns(&line, " for ", fault->for_ns);
}

enum gw_err gw__faults_print(const struct gw__faults *faults, FILE *file,
                             struct gw_error *why)
{
    for (size_t i = 0; i < faults->count; i++) {
        char text[GW__FAULT_TEXT_MAX];
        gw__fault_format(&faults->items[i], text);
        fprintf(file, "%s\n", text);
    }
    if (fflush(file) || ferror(file))
        return gw_fail_errno(why, "printing faults");
    return GW_OK;
}
