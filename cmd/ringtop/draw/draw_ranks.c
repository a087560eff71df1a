/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of ranks. In a ring with views, a row is a node, with its rank in
 * the view; the nodes that are gone come last, dimmed, and are hidden later.
 */
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *rank_condition_name(enum condition condition)
{
    static const char *const names[] = {
        [RANK_UNKNOWN] = "-",       [RANK_IDLE] = "idle",
        [RANK_BUSY] = "busy",       [RANK_LATE] = "late",
        [RANK_JOINING] = "joining", [RANK_PARKED] = "parked",
        [RANK_LEFT] = "left",       [RANK_PAUSED] = "paused",
        [RANK_SUSPECT] = "SUSPECT", [RANK_FAILED] = "FAILED",
        [RANK_LOST] = "LOST",       [RANK_DEAD] = "DEAD",
    };
    return names[condition];
}

enum style rank_condition_style(enum condition condition)
{
    return condition >= RANK_FAILED    ? STYLE_BAD
           : condition >= RANK_LATE    ? STYLE_WARN
           : condition == RANK_BUSY    ? STYLE_GOOD
           : condition == RANK_UNKNOWN ? STYLE_DIM
                                       : STYLE_PLAIN;
}

bool rank_is_shown(const struct picture *p, unsigned r)
{
    return p->view->gone ? p->state->ranks[r].known : state_minds(p->state, r);
}

/* ---- order ---- */

static uint64_t wait_ns(const struct state *s, unsigned r)
{
    const struct rank *rank = &s->ranks[r];
    if (rank->waits_on == GW_NONE)
        return 0;
    return s->now_ns > rank->active_ns ? s->now_ns - rank->active_ns : 0;
}

/* The sort key, the largest first. */
static uint64_t weight_of(const struct picture *p, unsigned r)
{
    const struct rank *rank = &p->state->ranks[r];
    switch (p->view->sort) {
    case SORT_STATE:
        return state_condition(p->state, r);
    case SORT_OP: /* the slowest first */
        return rank->op == GW_NONE ? UINT64_MAX : UINT32_MAX - rank->op;
    case SORT_WAIT:
        return wait_ns(p->state, r);
    case SORT_SENT:
        return rank->sent_bytes;
    default:
        return 0;
    }
}

static int compare_ranks(const void *a, const void *b, void *context)
{
    const struct picture *p = *(const struct picture **)context;
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    int gone = state_gone(p->state, x) - state_gone(p->state, y);
    if (gone)
        return gone;
    uint64_t wx = weight_of(p, x), wy = weight_of(p, y);
    if (wx != wy)
        return wx < wy ? 1 : -1;
    return (x > y) - (x < y);
}

unsigned rank_order(const struct picture *p, unsigned order[RANKS_MAX])
{
    unsigned count = 0;
    for (unsigned r = 0; r < p->state->rank_count; r++)
        if (rank_is_shown(p, r))
            order[count++] = r;
    qsort_r(order, count, sizeof *order, compare_ranks, &p);
    return count;
}

/* ---- columns ---- */

static void write_rank(const struct picture *p, unsigned r, char *out,
                       size_t size)
{
    (void)p;
    snprintf(out, size, "%4u", r);
}

/* The rank of a node: its place in the view. */
static void write_place(const struct picture *p, unsigned r, char *out,
                        size_t size)
{
    unsigned ring[RANKS_MAX], place = 0;
    unsigned count = p->state->ring_count ? state_ring(p->state, ring) : 0;
    while (place < count && ring[place] != r)
        place++;
    table_number(place < count, place, 4, out, size);
}

static void write_state(const struct picture *p, unsigned r, char *out,
                        size_t size)
{
    snprintf(out, size, "%s",
             rank_condition_name(state_condition(p->state, r)));
}

static void write_op(const struct picture *p, unsigned r, char *out,
                     size_t size)
{
    const struct rank *rank = &p->state->ranks[r];
    table_number(rank->op != GW_NONE, rank->op, 6, out, size);
}

static void write_step(const struct picture *p, unsigned r, char *out,
                       size_t size)
{
    const struct rank *rank = &p->state->ranks[r];
    const struct op *op = state_op(p->state);
    if (rank->step == GW_NONE || !op || rank->op != op->op)
        snprintf(out, size, "-");
    else
        snprintf(out, size, "%" PRIu32 "/%u", rank->step + 1,
                 state_steps(p->state));
}

static void write_phase(const struct picture *p, unsigned r, char *out,
                        size_t size)
{
    static const char *const phases[] = {[ACTION_REPLACE] = "spread",
                                         [ACTION_ADD] = "reduce",
                                         [ACTION_TOKEN] = "sync"};
    const struct rank *rank = &p->state->ranks[r];
    snprintf(out, size, "%s",
             !rank->in_op   ? "-"
             : !rank->acted ? "begin"
                            : phases[rank->action]);
}

static void write_wait(const struct picture *p, unsigned r, char *out,
                       size_t size)
{
    const struct rank *rank = &p->state->ranks[r];
    uint64_t ns = wait_ns(p->state, r);
    char since[16];
    format_ns(ns, since);
    if (rank->waits_on == GW_NONE)
        snprintf(out, size, "-");
    else
        snprintf(out, size, "%" PRIu32 " %s", rank->waits_on, ns ? since : "");
}

static void write_bytes(uint64_t bytes, char *out, size_t size)
{
    char text[16];
    gw_format_bytes(bytes, text);
    snprintf(out, size, "%6s", text);
}

static void write_sent(const struct picture *p, unsigned r, char *out,
                       size_t size)
{
    write_bytes(p->state->ranks[r].sent_bytes, out, size);
}

static void write_received(const struct picture *p, unsigned r, char *out,
                           size_t size)
{
    write_bytes(p->state->ranks[r].received_bytes, out, size);
}

/* How many of the op's chunks are complete here. */
static void write_done(const struct picture *p, unsigned r, char *out,
                       size_t size)
{
    const struct op *op = state_op(p->state);
    unsigned chunks = state_chunks(p->state), done = 0;
    if (!op || chunks == 0) {
        snprintf(out, size, "-");
        return;
    }
    for (unsigned c = 0; c < chunks; c++)
        done += op_complete(op, r, op_copy(op, r, c));
    snprintf(out, size, "%u/%u", done, chunks);
}

static void write_rate(const struct picture *p, unsigned r, char *out,
                       size_t size)
{
    draw_sparkline(p, &p->state->rates, p->state->rank_count, r, out, size);
}

static enum style row_style(const struct picture *p, unsigned r)
{
    return state_gone(p->state, r) ? STYLE_DIM : STYLE_PLAIN;
}

static enum style state_style(const struct picture *p, unsigned r)
{
    return state_gone(p->state, r)
               ? STYLE_DIM
               : rank_condition_style(state_condition(p->state, r));
}

#define AFTER_PLACE                                                            \
    {"    op", 6, 2, write_op, row_style},                                     \
        {"step", 7, 3, write_step, row_style},                                 \
        {"phase", 6, 5, write_phase, row_style},                               \
        {"waits on", 10, 4, write_wait, row_style},                            \
        {"done", 7, 8, write_done, row_style},                                 \
        {"  sent", 6, 6, write_sent, row_style},                               \
        {"  recv", 6, 9, write_received, row_style},                           \
    {                                                                          \
        "rate", RATE_BUCKETS, 7, write_rate, row_style                         \
    }

static const struct table_column of_ranks[] = {
    {"rank", 4, 0, write_rank, row_style},
    {"state", 7, 1, write_state, state_style},
    AFTER_PLACE};
static const struct table_column of_nodes[] = {
    {"node", 4, 0, write_rank, row_style},
    {"state", 7, 1, write_state, state_style},
    {"rank", 4, 3, write_place, row_style},
    AFTER_PLACE};

static struct table fit_columns(const struct picture *p, int width)
{
    return state_has_nodes(p->state)
               ? table_fit(of_nodes, sizeof of_nodes / sizeof *of_nodes, width)
               : table_fit(of_ranks, sizeof of_ranks / sizeof *of_ranks, width);
}

/* ---- the table ---- */

int draw_ranks_height(const struct picture *p)
{
    int rows = 1, hidden = 0;
    for (unsigned r = 0; r < p->state->rank_count; r++) {
        rows += rank_is_shown(p, r);
        hidden += p->state->ranks[r].known && !rank_is_shown(p, r);
    }
    rows += hidden > 0; /* one line for all of them */
    return rows > 1 ? rows : 2;
}

/* A line about the rows that do not fit, or that are hidden. */
static void report_rest(const struct picture *p, const struct area *area,
                        unsigned more, unsigned hidden)
{
    int y = area->height - 1;
    const char *noun = state_noun(p->state);
    if (more > 0)
        area_print(area, 1, y, STYLE_DIM, "%u more %ss; Up and Down scroll",
                   more, noun);
    else if (hidden > 0)
        area_print(area, 1, y, STYLE_DIM, "%u gone %s%s hidden; d shows %s",
                   hidden, noun, hidden > 1 ? "s" : "",
                   hidden > 1 ? "them" : "it");
}

void draw_ranks(const struct picture *p, const struct area *area)
{
    unsigned order[RANKS_MAX], hidden = 0;
    unsigned count = rank_order(p, order);
    unsigned rows = area->height > 1 ? (unsigned)area->height - 1 : 0;
    struct table table = fit_columns(p, area->width - 1);
    table_heading(&table, area);
    for (unsigned r = 0; r < p->state->rank_count; r++)
        hidden += p->state->ranks[r].known && !rank_is_shown(p, r);
    if (count + hidden == 0)
        area_text(area, 1, 1, STYLE_DIM, "no rank has reported yet");
    rows -= rows > 0 && (count > rows || hidden > 0);
    unsigned top = table_top(&table, p, order, count, (int)rows);
    for (unsigned i = 0; i < rows && top + i < count; i++)
        table_row(&table, p, area, 1 + (int)i, order[top + i]);
    report_rest(p, area, count > rows ? count - rows : 0, hidden);
}
