/* SPDX-License-Identifier: MIT
 *
 * GOAL (Hoefler, Siebert, Lumsdaine 2009), the schedules of LogGOPSim: sends,
 * receives and calculations of each rank, and what requires what.
 *
 *     num_ranks 2
 *     rank 0 {
 *     l1: send 1024b to 1 tag 7
 *     l2: recv 1024b from 1 tag 8
 *     l2 requires l1
 *     }
 *
 * A GOAL file does not contain which data a message carries. Files that collrun
 * export has written have it in comments, "// gradwire: ..."; any other file is
 * checked and then refused. `goal_check.c` matches messages and finds cycles.
 */
#include "goal.h"

#include "formats.h"
#include "recall.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "gradwire: ";

enum gw_err gw__goal_refuse(const struct gw__goal *g, unsigned line,
                            const char *reason, const char *detail)
{
    return gw_fail(g->why, GW_EDATA, "%.200s:%u: %s%.48s", g->name, line,
                   reason, detail);
}

/* ---- words ---- */

struct goal_line {
    const char *at, *end;
    unsigned number;
    char word[32]; /* the current one */
};

/* The next word of the line: letters and digits, or one other character. */
static const char *next_word(struct goal_line *l)
{
    size_t used = 0;
    while (l->at < l->end &&
           (*l->at == ' ' || *l->at == '\t' || *l->at == '\r'))
        l->at++;
    while (l->at < l->end && used + 1 < sizeof l->word) {
        char c = *l->at;
        bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                      (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && used > 0)
            break;
        l->word[used++] = c;
        l->at++;
        if (!letter)
            break;
    }
    l->word[used] = 0;
    return l->word;
}

static bool next_is(struct goal_line *l, const char *word)
{
    return strcmp(next_word(l), word) == 0;
}

static bool number_of(const char *word, const char *unit, uint64_t *number)
{
    char *end;
    if (*word < '0' || *word > '9')
        return false;
    *number = strtoull(word, &end, 10);
    return strcmp(end, unit) == 0 && *number <= UINT32_MAX * (uint64_t)1024;
}

/* ---- statements ---- */

static enum gw_err refuse_word(const struct gw__goal *g,
                               const struct goal_line *l, const char *expected)
{
    return gw__goal_refuse(g, l->number, expected,
                           *l->word ? l->word : "the end");
}

static enum gw_err grow_ops(struct gw__goal *g, struct gw__goal_op **made)
{
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 256;
        void *moved = realloc(g->ops, room * sizeof *g->ops);
        if (!moved)
            return gw_fail(g->why, GW_ENOMEM, "%.200s", g->name);
        g->ops = moved;
        g->room = room;
    }
    *made = &g->ops[g->count++];
    **made = (struct gw__goal_op){.peer_op = GW__GOAL_NONE,
                                  .requires = GW__GOAL_NONE,
                                  .note = GW__GOAL_NONE,
                                  .slot = GW__GOAL_NONE};
    return GW_OK;
}

/* PEER [tag T] [cpu C] [nic N] */
static enum gw_err read_peer(struct gw__goal *g, struct goal_line *l,
                             struct gw__goal_op *op)
{
    uint64_t number;
    const char *way = op->kind == GW__GOAL_SEND ? "to" : "from";
    if (!next_is(l, way))
        return refuse_word(g, l, "expected \"to\" or \"from\", found ");
    if (!number_of(next_word(l), "", &number) || number >= g->ranks)
        return refuse_word(g, l, "the peer must be a rank, not ");
    op->peer = (uint32_t)number;
    while (*next_word(l)) {
        bool tag = strcmp(l->word, "tag") == 0;
        if (!tag && strcmp(l->word, "cpu") != 0 && strcmp(l->word, "nic") != 0)
            return refuse_word(g, l, "expected tag, cpu or nic, found ");
        if (!number_of(next_word(l), "", &number))
            return refuse_word(g, l, "expected a number, found ");
        op->tag = tag ? number : op->tag;
    }
    return GW_OK;
}

static enum gw_err read_op(struct gw__goal *g, struct goal_line *l,
                           const char *label)
{
    static const char *const kinds[] = {"send", "recv", "calc"};
    struct gw__goal_op *op = NULL;
    int kind = 0;
    while (kind < 3 && strcmp(l->word, kinds[kind]) != 0)
        kind++;
    if (g->count - g->rank_begin == GW__GOAL_OPS_MAX)
        return refuse_word(g, l, "too many operations in a rank at ");
    if (kind == 3)
        return refuse_word(g, l, "expected send, recv or calc, found ");
    enum gw_err err = grow_ops(g, &op);
    if (err)
        return err;
    op->kind = (enum gw__goal_kind)kind;
    op->line = l->number;
    op->rank = (uint32_t)g->rank;
    op->note = g->pending_note;
    g->pending_note = GW__GOAL_NONE;
    memcpy(op->label, label, strlen(label) + 1);
    if (!number_of(next_word(l), kind == 2 ? "" : "b", &op->size))
        return refuse_word(g, l,
                           kind == 2 ? "expected a number, found "
                                     : "expected a size such as 8b, found ");
    if (kind < 2)
        return read_peer(g, l, op);
    if (*next_word(l) && strcmp(l->word, "cpu") == 0 &&
        number_of(next_word(l), "", &(uint64_t){0}))
        next_word(l);
    return *l->word ? refuse_word(g, l, "unexpected ") : GW_OK;
}

static enum gw_err read_requirement(struct gw__goal *g, struct goal_line *l,
                                    const char *label)
{
    const char *on = next_word(l);
    uint32_t from = gw__goal_find(g, label), to = gw__goal_find(g, on);
    if (from == GW__GOAL_NONE || to == GW__GOAL_NONE)
        return gw__goal_refuse(g, l->number,
                               "the rank has no operation with the label ",
                               from == GW__GOAL_NONE ? label : on);
    return gw__goal_require(g, from, to);
}

/* LABEL: OP, or LABEL requires LABEL, or OP. */
static enum gw_err read_statement(struct gw__goal *g, struct goal_line *l)
{
    char label[sizeof l->word];
    memcpy(label, l->word, sizeof label);
    if (strcmp(label, "send") == 0 || strcmp(label, "recv") == 0 ||
        strcmp(label, "calc") == 0)
        return read_op(g, l, "");
    next_word(l);
    if (strcmp(l->word, ":") == 0) {
        if (gw__goal_find(g, label) != GW__GOAL_NONE)
            return gw__goal_refuse(
                g, l->number, "the label occurs twice in this rank: ", label);
        next_word(l);
        return read_op(g, l, label);
    }
    if (strcmp(l->word, "requires") == 0 || strcmp(l->word, "irequires") == 0)
        return read_requirement(g, l, label);
    return refuse_word(g, l, "expected `:`, requires or irequires, found ");
}

static enum gw_err read_head(struct gw__goal *g, struct goal_line *l)
{
    uint64_t number;
    if (strcmp(l->word, "num_ranks") == 0) {
        if (!number_of(next_word(l), "", &number) || number == 0 ||
            number > GW__GOAL_RANKS_MAX)
            return refuse_word(g, l, "num_ranks must be in 1..4096, not ");
        g->ranks = (unsigned)number;
        return GW_OK;
    }
    if (strcmp(l->word, "rank") != 0)
        return refuse_word(g, l, "expected num_ranks or rank, found ");
    if (!number_of(next_word(l), "", &number) || number >= g->ranks)
        return refuse_word(g, l, "the rank must be below num_ranks, not ");
    if (!next_is(l, "{"))
        return refuse_word(g, l, "expected `{`, found ");
    g->rank = (int)number;
    g->rank_begin = (uint32_t)g->count;
    return GW_OK;
}

/* ---- lines ---- */

static void take_comment(struct gw__goal *g, const struct goal_line *l)
{
    size_t length = sizeof mark - 1;
    const char *at = l->at;
    while (at < l->end && *at == ' ')
        at++;
    if ((size_t)(l->end - at) <= length || memcmp(at, mark, length) != 0)
        return;
    at += length;
    if (!g->header) {
        g->header = at;
        g->header_length = (size_t)(l->end - at);
    } else if (g->note_count < g->note_room &&
               gw__note_parse(at, (size_t)(l->end - at),
                              &g->notes[g->note_count]))
        g->pending_note = (uint32_t)g->note_count++;
}

static enum gw_err read_line(struct gw__goal *g, struct goal_line *l)
{
    next_word(l);
    if (*l->word == 0)
        return GW_OK;
    if (strcmp(l->word, "/") == 0 && l->at < l->end && *l->at == '/') {
        l->at++;
        take_comment(g, l);
        return GW_OK;
    }
    if (g->rank < 0)
        return read_head(g, l);
    if (strcmp(l->word, "}") != 0)
        return read_statement(g, l);
    g->rank = -1;
    gw__goal_forget(g);
    return GW_OK;
}

static enum gw_err read_goal(struct gw__goal *g,
                             const struct gw__format_text *text)
{
    struct goal_line l = {.number = 1};
    const char *at = text->bytes, *end = text->bytes + text->size;
    enum gw_err err = GW_OK;
    for (; at < end && !err; l.number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        l.at = at;
        l.end = newline ? newline : end;
        at = newline ? newline + 1 : end;
        if (l.end > l.at && l.end[-1] == '\r')
            l.end--;
        err = read_line(g, &l);
    }
    if (!err && g->rank >= 0)
        err = gw__goal_refuse(g, l.number, "the last rank has no `}`", "");
    return err;
}

/* Each note must be of the send, or calculation, that follows it. */
static bool notes_agree(const struct gw__goal *g)
{
    size_t noted = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct gw__goal_op *op = &g->ops[i];
        if (op->note == GW__GOAL_NONE)
            continue;
        unsigned src = (unsigned)strtoul(g->notes[op->note].text, NULL, 10);
        noted++;
        if (src != op->rank || op->kind == GW__GOAL_RECV)
            return false;
    }
    return noted == g->note_count;
}

static enum gw_err plan_goal(struct gw__goal *g, struct gw_plan **plan)
{
    if (!g->header)
        return gw_fail(g->why, GW_EDATA,
                       "%.200s: GOAL does not contain the data that its "
                       "messages carry, so no plan can be made of it; only "
                       "files of \"collrun export\" have it, in comments",
                       g->name);
    if (!notes_agree(g))
        return gw_fail(g->why, GW_EDATA,
                       "%.200s: the notes of gradwire do not agree with the "
                       "operations",
                       g->name);
    return gw__recall(g->header, g->header_length, g->notes, g->note_count,
                      g->name, plan, g->why);
}

enum gw_err gw__goal_import(const struct gw__format_text *text,
                            struct gw_plan **plan, struct gw_error *why)
{
    struct gw__goal g = {.name = text->name,
                         .rank = -1,
                         .pending_note = GW__GOAL_NONE,
                         .note_room = text->size / (sizeof mark + 8) + 1,
                         .why = why};
    *plan = NULL;
    g.notes = calloc(g.note_room, sizeof *g.notes);
    enum gw_err err = g.notes ? gw__goal_begin(&g)
                              : gw_fail(why, GW_ENOMEM, "%.200s", g.name);
    if (!err)
        err = read_goal(&g, text);
    if (!err)
        err = gw__goal_check(&g);
    if (!err)
        err = plan_goal(&g, plan);
    gw__goal_end(&g);
    free(g.notes);
    free(g.ops);
    return err;
}
