/* SPDX-License-Identifier: MIT
 *
 * Runs the tree into a builder: loops count, steps begin, transfers are
 * computed, checked and added. An error reports the loop variables' values,
 * because the same line is right for some of them.
 */
#include "text.h"

#include <stdio.h>
#include <string.h>

struct run {
    struct gw__script *script;
    struct gw_builder *builder;
    size_t transfers;
    size_t work;
    unsigned scope; /* slots whose loops are running */
};

static bool run_children(struct run *run, uint32_t parent);

/* " (s=1, i=3)", or nothing outside loops. */
static void write_variables(const struct run *run, char *out, size_t size)
{
    const struct gw__script *script = run->script;
    size_t used = 0;
    out[0] = 0;
    for (unsigned slot = GW__SLOT_LOOPS; slot < run->scope; slot++) {
        const struct gw__token *name = &script->names[slot];
        int length = snprintf(out + used, size - used, "%s%.*s=%lld",
                              used ? ", " : " (", (int)name->length,
                              script->lexer.source->text + name->offset,
                              (long long)script->values[slot]);
        if (length < 0 || used + (size_t)length + sizeof ")" > size)
            break;
        used += (size_t)length;
    }
    if (used)
        snprintf(out + used, size - used, ")");
}

static void fail_at(const struct run *run, struct gw__expr expr,
                    const char *what, int64_t value, unsigned limit)
{
    char variables[96];
    write_variables(run, variables, sizeof variables);
    gw__source_fail(run->script->lexer.source,
                    gw__expr_offset(run->script, expr),
                    "%s%lld must be in 0..%u%s", what, (long long)value,
                    limit - 1, variables);
}

static bool number_below(struct run *run, struct gw__expr expr,
                         const char *what, unsigned limit, unsigned *number)
{
    int64_t value;
    if (!gw__expr_value(run->script, expr, &value))
        return false;
    if (value < 0 || value >= limit) {
        fail_at(run, expr, what, value, limit);
        return false;
    }
    *number = (unsigned)value;
    return true;
}

/* An optional number: 0 if it is not there. */
static bool option_below(struct run *run, struct gw__expr expr,
                         const char *what, unsigned limit, unsigned *number)
{
    *number = 0;
    return expr.begin == expr.end ||
           number_below(run, expr, what, limit, number);
}

/* Where a transfer goes from and to, and its first and last chunk. */
static bool read_transfer(struct run *run, const struct gw__text_node *node,
                          struct gw_transfer *transfer, unsigned *first,
                          unsigned *last)
{
    enum { SCRATCH = GW_SCRATCH_MAX + 1 };
    const struct gw__script *script = run->script;
    const struct gw__expr *expr = node->expr;
    unsigned src, dst, src_scratch, dst_scratch, channel;
    if (!number_below(run, expr[GW__SRC], "rank ", script->ranks, &src) ||
        !number_below(run, expr[GW__DST], "rank ", script->ranks, &dst) ||
        !option_below(run, expr[GW__SRC_SCRATCH], "scratch ", SCRATCH,
                      &src_scratch) ||
        !option_below(run, expr[GW__DST_SCRATCH], "scratch ", SCRATCH,
                      &dst_scratch) ||
        !number_below(run, expr[GW__CHUNK], "c", script->chunks, first) ||
        !option_below(run, expr[GW__CHUNK_LAST], "c", script->chunks, last) ||
        !option_below(run, expr[GW__CHANNEL], "channel ", GW_CHANNELS_MAX,
                      &channel))
        return false;
    if (expr[GW__CHUNK_LAST].begin == expr[GW__CHUNK_LAST].end)
        *last = *first;
    *transfer = (struct gw_transfer){.src = (uint16_t)src,
                                     .dst = (uint16_t)dst,
                                     .channel = channel & 0x3f,
                                     .action = node->action & 3U,
                                     .src_scratch = (uint16_t)src_scratch,
                                     .dst_scratch = (uint16_t)dst_scratch};
    return true;
}

static bool run_transfer(struct run *run, const struct gw__text_node *node)
{
    const struct gw__script *script = run->script;
    struct gw__source *source = script->lexer.source;
    struct gw_transfer x;
    unsigned first, last;
    if (!read_transfer(run, node, &x, &first, &last))
        return false;
    if (x.src == x.dst && x.src_scratch == x.dst_scratch) {
        char variables[96];
        write_variables(run, variables, sizeof variables);
        return gw__source_fail(source, node->offset,
                               "rank %u sends to itself%s", x.src, variables);
    }
    for (unsigned chunk = first; chunk <= last; chunk++) {
        if (run->transfers++ == script->limits->transfers)
            return gw__source_fail(source, node->offset,
                                   "a plan can have at most %zu transfers",
                                   script->limits->transfers);
        x.chunk = chunk & 0xffffff;
        gw_builder_transfer(run->builder, &x);
    }
    return true;
}

/* Each chunk of the range at the rank. */
static bool run_holding(struct run *run, const struct gw__text_node *node)
{
    const struct gw__script *script = run->script;
    const struct gw__expr *expr = node->expr;
    unsigned rank, first, last;
    if (!number_below(run, expr[GW__SRC], "rank ", script->ranks, &rank) ||
        !number_below(run, expr[GW__CHUNK], "c", script->chunks, &first) ||
        !option_below(run, expr[GW__CHUNK_LAST], "c", script->chunks, &last))
        return false;
    if (expr[GW__CHUNK_LAST].begin == expr[GW__CHUNK_LAST].end)
        last = first;
    run->work += last > first ? last - first : 0;
    for (unsigned chunk = first; chunk <= last; chunk++)
        gw_builder_condition(run->builder, rank, chunk, node->condition);
    return true;
}

static bool run_for(struct run *run, uint32_t loop)
{
    struct gw__script *script = run->script;
    const struct gw__text_node *node = &script->nodes[loop];
    int64_t first = 0, last = 0;
    if (!gw__expr_value(script, node->expr[GW__LOOP_FIRST], &first) ||
        !gw__expr_value(script, node->expr[GW__LOOP_LAST], &last))
        return false;
    script->names[node->slot] = (struct gw__token){
        .kind = GW__WORD, .offset = node->offset, .length = node->length};
    bool right = true;
    unsigned outside = run->scope;
    run->scope = node->scope;
    for (int64_t i = first; right && i <= last; i++) {
        script->values[node->slot] = i;
        right = run_children(run, loop);
        if (i == INT64_MAX)
            break;
    }
    run->scope = outside;
    return right;
}

static bool run_node(struct run *run, uint32_t index)
{
    const struct gw__text_node *node = &run->script->nodes[index];
    if (node->kind == GW__TRANSFER)
        return run_transfer(run, node);
    if (node->kind == GW__FOR)
        return run_for(run, index);
    if (node->kind == GW__HOLDING)
        return run_holding(run, node);
    if (node->kind == GW__STEP)
        gw_builder_step(run->builder);
    return run_children(run, index);
}

static bool run_children(struct run *run, uint32_t parent)
{
    struct gw__script *script = run->script;
    const struct gw__text_node *nodes = script->nodes;
    bool right = true;
    for (uint32_t i = nodes[parent].child; right && i; i = nodes[i].next) {
        if (run->work++ >= script->limits->work)
            return gw__source_fail(script->lexer.source, nodes[i].offset,
                                   "the loops execute more than %zu statements",
                                   script->limits->work);
        right = run_node(run, i);
    }
    return right;
}

bool gw__script_run(struct gw__script *script, struct gw_builder *builder)
{
    struct run run = {
        .script = script, .builder = builder, .scope = GW__SLOT_LOOPS};
    return run_children(&run, 0);
}
