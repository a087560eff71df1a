/* SPDX-License-Identifier: MIT
 *
 * Explains how a chunk came to hold the wrong set: the shortest history that
 * shows it.
 *
 * The chunk is executed again up to the fault, then followed backwards from the
 * wrong values: a transfer belongs to the history if it wrote a value that
 * still mattered. If a rank is counted twice, only the transfers that carried
 * that rank's data matter, and they form two paths that meet.
 *
 *     step 1: 0>1 c0 +  {1} + {0} = {0-1}
 *     step 1: 0>2 c0 +  {2} + {0} = {0,2}
 *     step 2: 1>2 c0 +  {0,2} + {0-1} shares {0}
 */
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SET_TEXT = 28, RANKS_TEXT = 96, LINES_MAX = 28, ALL_MEMBERS = -1 };

struct history {
    const struct gw__index *index;
    const struct gw_plan *plan;
    const struct gw__finding *finding;
    struct gw_verdict *verdict;
    struct gw__sets sets;
    uint64_t *wrong;      /* the ranks counted twice, or those that are
                             missing */
    int member;           /* follow this one only, or ALL_MEMBERS */
    const uint32_t *item; /* the chunk's transfers, up to the fault */
    uint32_t items;
    bool *carries; /* of each item: the value that it carries matters */
    bool *listed;  /* of each item: it is in the history */
    bool *live;    /* of each row: its value, at this step, matters */
    uint32_t omitted_lines;
};

static const struct gw_transfer *at(const struct history *s, uint32_t i)
{
    return &s->plan->transfers[s->item[i]];
}

static uint32_t step_at(const struct history *s, uint32_t i)
{
    return s->index->step[s->item[i]];
}

/* The item at fault; a fault at the end has none. */
static bool is_fault(const struct history *s, uint32_t i)
{
    return s->finding->fault == GW_FAULT_DOUBLE && i + 1 == s->items;
}

static const char *plural(const struct history *s, const uint64_t *set)
{
    return gw__sets_count(&s->sets, set) == 1 ? "rank" : "ranks";
}

static uint32_t source_at(const struct history *s, uint32_t i)
{
    return gw__src_row(s->plan, at(s, i));
}

static uint32_t target_at(const struct history *s, uint32_t i)
{
    return gw__dst_row(s->plan, at(s, i));
}

/* Executes the items and shows each to `see` before it writes. */
static void replay(struct history *s, void (*visit)(struct history *, uint32_t))
{
    unsigned chunk = s->verdict->chunk;
    gw__sets_commit(&s->sets);
    for (uint32_t row = 0; row < gw__rows(s->plan); row++)
        gw__sets_begin(&s->sets, s->plan, row, row, chunk);
    for (uint32_t i = 0; i < s->items; i++) {
        if (i > 0 && step_at(s, i) != step_at(s, i - 1))
            gw__sets_commit(&s->sets);
        visit(s, i);
        if (!is_fault(s, i))
            gw__sets_write(&s->sets, target_at(s, i), source_at(s, i),
                           at(s, i)->action);
    }
    if (s->finding->fault != GW_FAULT_DOUBLE)
        gw__sets_commit(&s->sets);
}

static void visit_nothing(struct history *s, uint32_t i)
{
    (void)s;
    (void)i;
}

static void visit_carried(struct history *s, uint32_t i)
{
    const uint64_t *sent = gw__sets_before(&s->sets, source_at(s, i));
    s->carries[i] =
        s->member == ALL_MEMBERS || gw__sets_has(sent, (unsigned)s->member);
}

static void visit_listed(struct history *s, uint32_t i)
{
    if (!s->listed[i] || (s->omitted_lines > 0 && s->omitted_lines--))
        return;
    const struct gw_transfer *x = at(s, i);
    const struct gw__sets *sets = &s->sets;
    char had[SET_TEXT], sent[SET_TEXT], sum[SET_TEXT];
    const uint64_t *before = gw__sets_value(sets, target_at(s, i));
    const uint64_t *adds = gw__sets_before(sets, source_at(s, i));
    gw__sets_text(sets, before, had, sizeof had);
    gw__sets_text(sets, adds, sent, sizeof sent);
    char name[GW__TRANSFER_TEXT], line[sizeof name + 24];
    char sign = gw__action_sign(x->action);
    snprintf(line, sizeof line, "step %u: %s", step_at(s, i) + 1,
             gw__transfer_text(x, name));
    for (unsigned w = 0; w < sets->words; w++)
        s->wrong[w] =
            is_fault(s, i) ? before[w] & adds[w] : before[w] | adds[w];
    gw__sets_text(sets, s->wrong, sum, sizeof sum);
    if (sets->members == 1)
        gw__history_add(s->verdict, "%s", line);
    else if (x->action == GW_REPLACE)
        gw__history_add(s->verdict, "%s  {%s}", line, sent);
    else
        gw__history_add(s->verdict, "%s  {%s} %c {%s} %s {%s}", line, had, sign,
                        sent, is_fault(s, i) ? "shares" : "=", sum);
}

/* One step backwards: a transfer that wrote a live value is included; the
 * source's own value, from before the step, becomes live in its place. */
static void mark_step(struct history *s, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++)
        if (s->live[target_at(s, i)] && s->carries[i])
            s->listed[i] = true;
    for (uint32_t i = begin; i < end; i++) {
        bool only_source =
            s->member != ALL_MEMBERS || at(s, i)->action == GW_REPLACE;
        if (s->listed[i] && only_source)
            s->live[target_at(s, i)] = false;
    }
    for (uint32_t i = begin; i < end; i++)
        if (s->listed[i])
            s->live[source_at(s, i)] = true;
}

/* Marks the faulty transfer, and the earlier additions of its step that carried
 * the doubled rank. If there are none, the rank came in an earlier step.
 * Returns where the step begins. */
static uint32_t mark_fault(struct history *s)
{
    uint32_t fault = s->items - 1, i = fault;
    uint32_t target = target_at(s, fault);
    s->listed[fault] = true;
    s->live[source_at(s, fault)] = s->live[target] = true;
    while (i > 0 && step_at(s, i - 1) == step_at(s, fault)) {
        i--;
        if (target_at(s, i) != target || !s->carries[i])
            continue;
        s->listed[i] = true;
        s->live[target] = false;
        s->live[source_at(s, i)] = true;
    }
    return i;
}

static void mark(struct history *s)
{
    uint32_t end = s->items;
    if (s->finding->fault == GW_FAULT_DOUBLE)
        end = mark_fault(s);
    else
        s->live[gw__row(s->plan, s->verdict->dst, 0)] = true;
    while (end > 0) {
        uint32_t begin = end - 1;
        while (begin > 0 && step_at(s, begin - 1) == step_at(s, end - 1))
            begin--;
        mark_step(s, begin, end);
        end = begin;
    }
    uint32_t lines = 0;
    for (uint32_t i = 0; i < s->items; i++)
        lines += s->listed[i];
    s->omitted_lines = lines > LINES_MAX ? lines - LINES_MAX : 0;
    if (s->omitted_lines)
        gw__history_add(s->verdict, "(%u earlier transfers)", s->omitted_lines);
}

static void describe_double(struct history *s)
{
    struct gw_verdict *v = s->verdict;
    char ranks[RANKS_TEXT], name[GW__TRANSFER_TEXT];
    uint32_t fault = s->items - 1;
    const uint64_t *has = gw__sets_value(&s->sets, target_at(s, fault));
    const uint64_t *adds = gw__sets_before(&s->sets, source_at(s, fault));
    gw__moves_text(at(s, fault), name);
    for (unsigned w = 0; w < s->sets.words; w++)
        s->wrong[w] = has[w] & adds[w];
    s->member = 0;
    while (!gw__sets_has(s->wrong, (unsigned)s->member))
        s->member++;
    if (s->sets.members == 1)
        snprintf(v->sentence, sizeof v->sentence,
                 "step %u: %s + would count c%u twice", v->step, name,
                 v->chunk);
    else {
        gw__sets_text(&s->sets, s->wrong, ranks, sizeof ranks);
        snprintf(v->sentence, sizeof v->sentence,
                 "step %u: %s would count %s %s twice", v->step, name,
                 plural(s, s->wrong), ranks);
    }
}

static void describe_incomplete(struct history *s)
{
    struct gw_verdict *v = s->verdict;
    char ranks[RANKS_TEXT];
    const uint64_t *has =
        gw__sets_before(&s->sets, gw__row(s->plan, v->dst, 0));
    gw__sets_lacking(&s->sets, s->plan, v->dst, v->chunk, has, s->wrong);
    bool lacks = gw__sets_count(&s->sets, s->wrong) > 0;
    if (!lacks)
        gw__sets_excess(&s->sets, s->plan, v->dst, v->chunk, has, s->wrong);
    gw__sets_text(&s->sets, s->wrong, ranks, sizeof ranks);
    if (s->sets.members == 1)
        snprintf(v->sentence, sizeof v->sentence,
                 "after step %u: rank %u does not hold c%u", v->step, v->dst,
                 v->chunk);
    else
        snprintf(v->sentence, sizeof v->sentence,
                 s->plan->collective == GW_BARRIER
                     ? "after step %u: rank %u c%u has no token of %s %s"
                 : lacks ? "after step %u: rank %u c%u lacks %s %s"
                         : "after step %u: rank %u c%u still has %s %s",
                 v->step, v->dst, v->chunk, plural(s, s->wrong), ranks);
}

static void write_history(struct history *s)
{
    struct gw_verdict *v = s->verdict;
    replay(s, visit_nothing);
    if (s->finding->fault == GW_FAULT_DOUBLE)
        describe_double(s);
    else
        describe_incomplete(s);
    replay(s, visit_carried);
    mark(s);
    replay(s, visit_listed);
    if (s->finding->fault == GW_FAULT_DOUBLE)
        return;
    char has[SET_TEXT];
    uint32_t row = gw__row(s->plan, v->dst, 0);
    gw__sets_text(&s->sets, gw__sets_before(&s->sets, row), has, sizeof has);
    if (s->sets.members == 1)
        gw__history_add(v, "end: rank %u never receives c%u", v->dst, v->chunk);
    else
        gw__history_add(v, "end: rank %u c%u has {%s}", v->dst, v->chunk, has);
}

enum gw_err gw__history_describe(const struct gw__index *index,
                                 const struct gw__finding *finding,
                                 struct gw_verdict *verdict,
                                 struct gw_error *why)
{
    const struct gw_plan *plan = index->plan;
    uint32_t begin = index->by_chunk.begin[verdict->chunk];
    uint32_t end = index->by_chunk.begin[verdict->chunk + 1];
    struct history s = {.index = index,
                        .plan = plan,
                        .finding = finding,
                        .verdict = verdict,
                        .member = ALL_MEMBERS,
                        .item = index->by_chunk.item + begin};
    while (begin + s.items < end && (finding->fault == GW_FAULT_INCOMPLETE ||
                                     s.item[s.items] <= finding->transfer))
        s.items++;
    enum gw_err err = gw__sets_init(&s.sets, plan, gw__rows(plan), why);
    if (err)
        return err;
    gw__sets_from(&s.sets, index->start);
    s.wrong = calloc(s.sets.words, sizeof *s.wrong);
    s.carries = calloc(s.items + 1, sizeof *s.carries);
    s.listed = calloc(s.items + 1, sizeof *s.listed);
    s.live = calloc(gw__rows(plan), sizeof *s.live);
    bool room = s.wrong && s.carries && s.listed && s.live;
    if (room)
        write_history(&s);
    free(s.live);
    free(s.listed);
    free(s.carries);
    free(s.wrong);
    gw__sets_fini(&s.sets);
    return room ? GW_EPLAN : gw_fail(why, GW_ENOMEM, "history of a chunk");
}
