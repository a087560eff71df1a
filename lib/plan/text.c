/* SPDX-License-Identifier: MIT
 *
 * Reads the text form of plans: the header, the statements as a tree, then the
 * tree run into a builder. The language is described in gradwire-plan(5); the
 * parts are listed in text.h.
 */
#include "text.h"

#include "plan/formats/formats.h"

#include <stdlib.h>

const struct gw__text_limits gw__text_limits = {
    .bytes = 16 << 20, .transfers = 1 << 24, .work = 1 << 26};

bool gw__script_grow(struct gw__script *script, void **array, size_t *capacity,
                     size_t count, size_t item)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity ? 2 * *capacity : 64;
    void *moved = realloc(*array, larger * item);
    if (!moved)
        return gw__source_exhausted(script->lexer.source);
    *array = moved;
    *capacity = larger;
    return true;
}

/* From a parsed script to a plan. */
static enum gw_err build(struct gw__script *script, struct gw_plan **plan,
                         struct gw_error *why)
{
    struct gw_builder *builder;
    enum gw_err err =
        gw_builder_new(script->collective, script->ranks, script->chunks,
                       script->root, &builder, why);
    if (err)
        return err;
    gw_builder_ports(builder, script->ports);
    gw_builder_name(builder, script->algo);
    if (gw__script_run(script, builder))
        return gw_builder_finish(&builder, plan, why);
    gw_builder_destroy(&builder);
    return GW_EDATA;
}

enum gw_err gw__plan_parse_within(const struct gw__text_limits *limits,
                                  const char *text, size_t bytes,
                                  const char *name, unsigned ranks,
                                  struct gw_plan **plan, struct gw_error *why)
{
    *plan = NULL;
    if (bytes > limits->bytes)
        return gw_fail(why, GW_EDATA,
                       "%.200s:1:1: the text has more than %zu bytes", name,
                       limits->bytes);
    struct gw__source source = {.name = name, .text = text, .bytes = bytes};
    struct gw__script script = {
        .lexer = {.source = &source},
        .limits = limits,
        .nodes = calloc(1, sizeof *script.nodes),
        .node_count = 1,
        .node_capacity = 1,
        .scope = GW__SLOT_LOOPS,
    };
    enum gw_err err = GW_EDATA;
    if (!script.nodes)
        gw__source_exhausted(&source);
    else {
        script.nodes[0].scope = GW__SLOT_LOOPS;
        if (gw__header_parse(&script, ranks) && gw__statements_parse(&script))
            err = build(&script, plan, why);
    }
    free(script.nodes);
    free(script.ops);
    return source.error.code
               ? gw_fail(why, source.error.code, "%s", source.error.text)
               : err;
}

static enum gw_err parse_other(const struct gw__format_text *other,
                               unsigned ranks, struct gw_plan **plan,
                               struct gw_error *why)
{
    enum gw_err err = gw__format_read(other, plan, why);
    if (err || ranks == 0 || (*plan)->ranks == ranks)
        return err;
    gw_fail(why, GW_EDATA, "%.200s: the schedule is for %u ranks, not for %u",
            other->name, (*plan)->ranks, ranks);
    gw_plan_destroy(plan);
    return GW_EDATA;
}

enum gw_err gw_plan_parse(const char *text, size_t bytes, const char *name,
                          unsigned ranks, struct gw_plan **plan,
                          struct gw_error *why)
{
    const struct gw__format_text other = {name, text, bytes};
    if (gw__format_of(&other))
        return parse_other(&other, ranks, plan, why);
    return gw__plan_parse_within(&gw__text_limits, text, bytes, name, ranks,
                                 plan, why);
}

enum gw_err gw_plan_load(const char *path, unsigned ranks,
                         struct gw_plan **plan, struct gw_error *why)
{
    size_t bytes;
    char *text;
    *plan = NULL;
    enum gw_err err =
        gw__text_load(path, GW__FORMAT_BYTES_MAX, &text, &bytes, why);
    if (!err)
        err = gw_plan_parse(text, bytes, path, ranks, plan, why);
    free(text);
    return err;
}
