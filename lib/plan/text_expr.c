/* SPDX-License-Identifier: MIT
 *
 * Parses expressions over 64-bit integers; operators from loose to tight:
 *
 *     ^   exclusive or          hypercubes: i^2**s
 *     + -
 *     * / %                     / rounds down; a % m is in 0 .. m-1
 *     -   minus sign
 *     **  power                 2**s
 *     number, variable, ( ), min( , ), max( , ), log2( ) rounded up
 *
 * They are parsed once into a postfix program, which text_eval.c runs in each
 * iteration of a loop.
 */
#include "text.h"

#include <string.h>

static bool parse_unary(struct gw__script *script);

static bool emit(struct gw__script *script, uint32_t code, uint32_t offset,
                 int64_t value)
{
    void *ops = script->ops;
    bool grown = gw__script_grow(script, &ops, &script->op_capacity,
                                 script->op_count, sizeof *script->ops);
    script->ops = ops;
    if (grown)
        script->ops[script->op_count++] =
            (struct gw__op){.code = code, .offset = offset, .value = value};
    return grown;
}

static bool name_is(const struct gw__script *script, struct gw__token name,
                    const char *word)
{
    const char *text = script->lexer.source->text;
    return name.length == strlen(word) &&
           memcmp(text + name.offset, word, name.length) == 0;
}

static bool same_name(const struct gw__script *script, struct gw__token a,
                      struct gw__token b)
{
    const char *text = script->lexer.source->text;
    return a.length == b.length &&
           memcmp(text + a.offset, text + b.offset, a.length) == 0;
}

unsigned gw__name_slot(const struct gw__script *script, struct gw__token name)
{
    static const char *const fixed[GW__SLOT_LOOPS] = {
        [GW__SLOT_P] = "P", [GW__SLOT_C] = "C", [GW__SLOT_ROOT] = "root"};
    for (unsigned slot = 0; slot < GW__SLOT_LOOPS; slot++)
        if (name_is(script, name, fixed[slot]))
            return slot;
    for (unsigned slot = GW__SLOT_LOOPS; slot < script->scope; slot++)
        if (same_name(script, name, script->names[slot]))
            return slot;
    return GW__SLOTS;
}

static bool parse_variable(struct gw__script *script)
{
    enum { SHOWN_MAX = 40 };
    struct gw__token name = script->lexer.token;
    struct gw__source *source = script->lexer.source;
    unsigned slot = gw__name_slot(script, name);
    int length = name.length < SHOWN_MAX ? (int)name.length : SHOWN_MAX;
    if (slot == GW__SLOTS)
        return gw__source_fail(source, name.offset,
                               "`%.*s` is not a variable here", length,
                               source->text + name.offset);
    if (!script->known[slot])
        return gw__source_fail(
            source, name.offset,
            "`%.*s` is not known yet; put its header entry before this one",
            length, source->text + name.offset);
    gw__lex_next(&script->lexer);
    return emit(script, GW__OP_VARIABLE, name.offset, slot);
}

/* NAME(a) or NAME(a, b) */
static bool parse_call(struct gw__script *script, uint32_t code,
                       unsigned arguments)
{
    struct gw__lexer *lexer = &script->lexer;
    uint32_t offset = lexer->token.offset;
    struct gw__expr argument;
    gw__lex_next(lexer);
    return gw__lex_expect(lexer, '(', "`(`") &&
           gw__expr_parse(script, &argument) &&
           (arguments == 1 || (gw__lex_expect(lexer, ',', "`,`") &&
                               gw__expr_parse(script, &argument))) &&
           gw__lex_expect(lexer, ')', "`)`") && emit(script, code, offset, 0);
}

static bool parse_primary(struct gw__script *script)
{
    struct gw__lexer *lexer = &script->lexer;
    struct gw__token token = lexer->token;
    struct gw__expr inside;
    if (gw__lex_accept(lexer, GW__NUMBER))
        return emit(script, GW__OP_NUMBER, token.offset, token.number);
    if (gw__lex_accept(lexer, '('))
        return gw__expr_parse(script, &inside) &&
               gw__lex_expect(lexer, ')', "`)`");
    if (gw__lex_is_word(lexer, "min"))
        return parse_call(script, GW__OP_MIN, 2);
    if (gw__lex_is_word(lexer, "max"))
        return parse_call(script, GW__OP_MAX, 2);
    if (gw__lex_is_word(lexer, "log2"))
        return parse_call(script, GW__OP_LOG2, 1);
    if (token.kind == GW__WORD)
        return parse_variable(script);
    return gw__lex_unexpected(lexer, "a number, a variable or `(`");
}

static bool parse_power(struct gw__script *script)
{
    uint32_t offset = script->lexer.token.offset;
    if (!parse_primary(script))
        return false;
    if (!gw__lex_accept(&script->lexer, GW__POWER))
        return true;
    return parse_unary(script) && emit(script, GW__OP_POWER, offset, 0);
}

/* All nesting of expressions passes through here. */
static bool parse_unary(struct gw__script *script)
{
    uint32_t offset = script->lexer.token.offset;
    bool parsed;
    if (script->depth == GW__DEPTH_MAX)
        return gw__source_fail(
            script->lexer.source, offset,
            "the expression is nested more than %d levels deep", GW__DEPTH_MAX);
    script->depth++;
    if (gw__lex_accept(&script->lexer, '-'))
        parsed = parse_unary(script) && emit(script, GW__OP_NEGATE, offset, 0);
    else
        parsed = parse_power(script);
    script->depth--;
    return parsed;
}

static bool parse_term(struct gw__script *script)
{
    uint32_t offset = script->lexer.token.offset;
    bool parsed = parse_unary(script);
    while (parsed) {
        uint32_t code;
        if (gw__lex_accept(&script->lexer, '*'))
            code = GW__OP_MULTIPLY;
        else if (gw__lex_accept(&script->lexer, '/'))
            code = GW__OP_DIVIDE;
        else if (gw__lex_accept(&script->lexer, '%'))
            code = GW__OP_MODULO;
        else
            break;
        parsed = parse_unary(script) && emit(script, code, offset, 0);
    }
    return parsed;
}

static bool parse_sum(struct gw__script *script)
{
    uint32_t offset = script->lexer.token.offset;
    bool parsed = parse_term(script);
    while (parsed) {
        uint32_t code;
        if (gw__lex_accept(&script->lexer, '+'))
            code = GW__OP_ADD;
        else if (gw__lex_accept(&script->lexer, '-'))
            code = GW__OP_SUBTRACT;
        else
            break;
        parsed = parse_term(script) && emit(script, code, offset, 0);
    }
    return parsed;
}

bool gw__expr_parse(struct gw__script *script, struct gw__expr *expr)
{
    uint32_t offset = script->lexer.token.offset;
    expr->begin = (uint32_t)script->op_count;
    bool parsed = parse_sum(script);
    while (parsed && gw__lex_accept(&script->lexer, '^'))
        parsed = parse_sum(script) && emit(script, GW__OP_XOR, offset, 0);
    expr->end = (uint32_t)script->op_count;
    return parsed;
}

bool gw__term_parse(struct gw__script *script, struct gw__expr *expr)
{
    expr->begin = (uint32_t)script->op_count;
    bool parsed = parse_term(script);
    expr->end = (uint32_t)script->op_count;
    return parsed;
}
