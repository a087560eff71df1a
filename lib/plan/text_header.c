/* SPDX-License-Identifier: MIT
 *
 * Parses the first line of a plan: the collective and its sizes.
 *
 *     COLLECTIVE ranks=N chunks=N [root=R] [ports=K] [name=WORD]
 *
 * Entries come in any order, but each can use only the values of those before
 * it; `ranks=P` (or `any`) leaves the number of ranks to the caller.
 */
#include "index.h"
#include "text.h"

#include <string.h>

struct entry {
    const char *key;
    bool (*parse)(struct gw__script *script, unsigned ranks);
};

static bool parse_number(struct gw__script *script, const char *what,
                         int64_t least, int64_t most, unsigned *number)
{
    struct gw__expr expr;
    uint32_t offset = script->lexer.token.offset;
    int64_t value;
    if (!gw__expr_parse(script, &expr) || !gw__expr_value(script, expr, &value))
        return false;
    if (value < least || value > most)
        return gw__source_fail(
            script->lexer.source, offset, "%s must be in %lld..%lld, not %lld",
            what, (long long)least, (long long)most, (long long)value);
    *number = (unsigned)value;
    return true;
}

static void set_parameter(struct gw__script *script, unsigned slot,
                          unsigned value)
{
    script->known[slot] = true;
    script->values[slot] = value;
}

static bool parse_ranks(struct gw__script *script, unsigned ranks)
{
    struct gw__lexer *lexer = &script->lexer;
    uint32_t offset;
    gw__lex_next(lexer);
    offset = lexer->token.offset;
    if (gw__lex_is_word(lexer, "P") || gw__lex_is_word(lexer, "any")) {
        gw__lex_next(lexer);
        if (ranks == 0)
            return gw__source_fail(
                lexer->source, offset,
                "the plan is for any number of ranks; give the number");
        if (ranks > GW_RANKS_MAX)
            return gw__source_fail(lexer->source, offset,
                                   "ranks must be in 1..%d, not %u",
                                   GW_RANKS_MAX, ranks);
        script->ranks = ranks;
    } else if (!parse_number(script, "ranks", 1, GW_RANKS_MAX, &script->ranks))
        return false;
    else if (ranks && ranks != script->ranks)
        return gw__source_fail(lexer->source, offset,
                               "the plan is for %u ranks, not for %u",
                               script->ranks, ranks);
    set_parameter(script, GW__SLOT_P, script->ranks);
    return true;
}

static bool parse_chunks(struct gw__script *script, unsigned ranks)
{
    (void)ranks;
    gw__lex_next(&script->lexer);
    uint32_t offset = script->lexer.token.offset;
    if (!parse_number(script, "chunks", 1, GW_CHUNKS_MAX, &script->chunks))
        return false;
    set_parameter(script, GW__SLOT_C, script->chunks);
    script->chunks_offset = offset;
    return true;
}

/* Entries that are limited by the ranks need the number of ranks. */
static bool need_ranks(struct gw__script *script, const char *key)
{
    return script->known[GW__SLOT_P] ||
           gw__source_fail(script->lexer.source, script->lexer.token.offset,
                           "%s= must come after ranks=", key);
}

static bool parse_root(struct gw__script *script, unsigned ranks)
{
    (void)ranks;
    uint32_t offset = script->lexer.token.offset;
    if (!need_ranks(script, "root"))
        return false;
    if (!gw_collective_rooted(script->collective))
        return gw__source_fail(script->lexer.source, offset,
                               "%s does not use a root",
                               gw_collective_name(script->collective));
    gw__lex_next(&script->lexer);
    if (!parse_number(script, "root", 0, script->ranks - 1, &script->root))
        return false;
    set_parameter(script, GW__SLOT_ROOT, script->root);
    return true;
}

static bool parse_ports(struct gw__script *script, unsigned ranks)
{
    (void)ranks;
    if (!need_ranks(script, "ports"))
        return false;
    gw__lex_next(&script->lexer);
    return parse_number(script, "ports", 0, script->ranks, &script->ports);
}

static bool parse_name(struct gw__script *script, unsigned ranks)
{
    (void)ranks;
    struct gw__source *source = script->lexer.source;
    struct gw__token name = gw__lex_raw(&script->lexer);
    if (name.length == 0)
        return gw__source_fail(source, name.offset, "name= needs a word");
    if (name.length >= sizeof((struct gw_plan *)NULL)->algo)
        return gw__source_fail(source, name.offset,
                               "the name must have at most %zu characters",
                               sizeof((struct gw_plan *)NULL)->algo - 1);
    memcpy(script->algo, source->text + name.offset, name.length);
    return true;
}

static const struct entry entries[] = {
    {"ranks", parse_ranks}, {"chunks", parse_chunks}, {"root", parse_root},
    {"ports", parse_ports}, {"name", parse_name},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* KEY=VALUE; `seen` has a bit for each key so far. */
static bool parse_entry(struct gw__script *script, unsigned ranks,
                        unsigned *seen)
{
    struct gw__lexer *lexer = &script->lexer;
    uint32_t offset = lexer->token.offset;
    unsigned i = 0;
    while (i < ENTRIES && !gw__lex_is_word(lexer, entries[i].key))
        i++;
    if (i == ENTRIES)
        return gw__lex_unexpected(lexer,
                                  "ranks=, chunks=, root=, ports= or name=");
    if (*seen & 1U << i)
        return gw__source_fail(lexer->source, offset, "%s= occurs twice",
                               entries[i].key);
    *seen |= 1U << i;
    gw__lex_next(lexer);
    if (lexer->token.kind != '=')
        return gw__lex_unexpected(lexer, "`=`");
    return entries[i].parse(script, ranks);
}

static bool parse_collective(struct gw__script *script)
{
    struct gw__lexer *lexer = &script->lexer;
    struct gw__token name = lexer->token;
    char word[32] = "";
    if (name.kind == GW__WORD && name.length < sizeof word)
        memcpy(word, lexer->source->text + name.offset, name.length);
    if (gw_collective_parse(word, &script->collective, NULL))
        return gw__lex_unexpected(lexer, "a collective, such as allreduce");
    gw__lex_next(lexer);
    return true;
}

static bool at_line_end(const struct gw__lexer *lexer)
{
    return lexer->token.kind == GW__END_OF_LINE ||
           lexer->token.kind == GW__END_OF_TEXT;
}

bool gw__header_parse(struct gw__script *script, unsigned ranks)
{
    struct gw__lexer *lexer = &script->lexer;
    unsigned seen = 0;
    gw__lex_line(lexer);
    if (!parse_collective(script))
        return false;
    while (!at_line_end(lexer))
        if (!parse_entry(script, ranks, &seen))
            return false;
    if (!script->known[GW__SLOT_P])
        return gw__lex_unexpected(lexer, "ranks=");
    if (!script->known[GW__SLOT_C])
        return gw__lex_unexpected(lexer, "chunks=");
    set_parameter(script, GW__SLOT_ROOT, script->root);
    struct gw_plan shape = {.collective = script->collective,
                            .ranks = script->ranks,
                            .chunks = script->chunks};
    if (!gw__chunks_fit(&shape))
        return gw__source_fail(
            lexer->source, script->chunks_offset,
            "%u chunks do not suit %s of %u ranks", script->chunks,
            gw_collective_name(script->collective), script->ranks);
    return true;
}
