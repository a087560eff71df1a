/* SPDX-License-Identifier: MIT
 *
 * Parses statements into a tree. A line is read from left to right: `step` and
 * `for ...:` open a body that contains the rest of the line.
 *
 *     for s in 0..P-2:                               a step each iteration
 *         step for i in 0..P-1: i>(i+1)%P c(i-s)%P + all of them in the step
 *
 * Deeper lines that follow a line ending in `:` or `step` are its body; after
 * any other line they continue its step. Only `step` decides where a step
 * begins: what a loop inside it sends belongs to that one step.
 */
#include "text.h"

#include <string.h>

static bool parse_block(struct gw__script *script, uint32_t parent);

static bool at_line_end(const struct gw__lexer *lexer)
{
    return lexer->token.kind == GW__END_OF_LINE ||
           lexer->token.kind == GW__END_OF_TEXT;
}

/* Appends a node to the children of `parent`; 0 when memory is short. */
static uint32_t add_node(struct gw__script *script, uint32_t parent,
                         enum gw__node_kind kind)
{
    void *nodes = script->nodes;
    bool grown = gw__script_grow(script, &nodes, &script->node_capacity,
                                 script->node_count, sizeof *script->nodes);
    script->nodes = nodes;
    if (!grown)
        return 0;
    uint32_t made = (uint32_t)script->node_count++;
    struct gw__text_node *above = &script->nodes[parent];
    script->nodes[made] = (struct gw__text_node){
        .kind = (uint8_t)kind,
        .offset = script->lexer.token.offset,
        .in_step = above->in_step || kind == GW__STEP,
        .condition = above->condition,
        .scope = (uint8_t)script->scope,
    };
    if (above->last_child)
        script->nodes[above->last_child].next = made;
    else
        above->child = made;
    above->last_child = made;
    return made;
}

static uint32_t parse_step(struct gw__script *script, uint32_t parent)
{
    struct gw__lexer *lexer = &script->lexer;
    if (script->nodes[parent].in_step || script->nodes[parent].condition) {
        gw__source_fail(lexer->source, lexer->token.offset,
                        script->nodes[parent].in_step
                            ? "a step cannot contain another step"
                            : "a step cannot be inside `has` or `wants`");
        return 0;
    }
    uint32_t step = add_node(script, parent, GW__STEP);
    gw__lex_next(lexer);
    return step;
}

/* `has` or `wants`, of a custom plan. */
static uint32_t parse_condition(struct gw__script *script, uint32_t parent)
{
    struct gw__lexer *lexer = &script->lexer;
    bool has = gw__lex_is_word(lexer, "has");
    uint32_t offset = lexer->token.offset, body = 0;
    const struct gw__text_node *above = &script->nodes[parent];
    if (script->collective != GW_CUSTOM)
        gw__source_fail(lexer->source, offset,
                        "`%s` is only for custom; %s itself defines the chunks "
                        "of each rank",
                        has ? "has" : "wants",
                        gw_collective_name(script->collective));
    else if (above->in_step || above->condition)
        gw__source_fail(lexer->source, offset,
                        "`%s` cannot be inside a step, `has` or `wants`",
                        has ? "has" : "wants");
    else
        body = add_node(script, parent, GW__CONDITION);
    if (body)
        script->nodes[body].condition = has ? GW_HAS : GW_WANTS;
    gw__lex_next(lexer);
    return body;
}

/* The name of a new variable: a word with no other meaning here. */
static bool check_variable(struct gw__script *script)
{
    static const char *const reserved[] = {"for",  "in",  "step", "min",  "max",
                                           "log2", "any", "has",  "wants"};
    enum { NAME_MAX_LENGTH = 31 };
    struct gw__lexer *lexer = &script->lexer;
    struct gw__token name = lexer->token;
    bool in_use = gw__name_slot(script, name) != GW__SLOTS;
    if (name.kind != GW__WORD)
        return gw__lex_unexpected(lexer, "the name of a variable");
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        in_use = in_use || gw__lex_is_word(lexer, reserved[i]);
    if (in_use || name.length > NAME_MAX_LENGTH)
        return gw__source_fail(
            lexer->source, name.offset,
            in_use ? "the name is already in use"
                   : "the name must have at most 31 characters");
    if (script->scope == GW__SLOTS)
        return gw__source_fail(lexer->source, name.offset,
                               "loops are nested more than %d levels deep",
                               GW__NEST_MAX);
    return true;
}

/* for NAME in FIRST..LAST: */
static uint32_t parse_for(struct gw__script *script, uint32_t parent)
{
    struct gw__lexer *lexer = &script->lexer;
    struct gw__expr first, last;
    gw__lex_next(lexer);
    struct gw__token name = lexer->token;
    uint32_t loop = add_node(script, parent, GW__FOR);
    if (!loop || !check_variable(script))
        return 0;
    gw__lex_next(lexer);
    bool in = gw__lex_is_word(lexer, "in");
    if (!in) {
        gw__lex_unexpected(lexer, "`in`");
        return 0;
    }
    gw__lex_next(lexer);
    if (!gw__expr_parse(script, &first) ||
        !gw__lex_expect(lexer, GW__DOTS, "`..`") ||
        !gw__expr_parse(script, &last) || !gw__lex_expect(lexer, ':', "`:`"))
        return 0;
    struct gw__text_node *node = &script->nodes[loop];
    node->expr[GW__LOOP_FIRST] = first;
    node->expr[GW__LOOP_LAST] = last;
    node->length = name.length;
    node->slot = (uint8_t)script->scope;
    script->names[script->scope] = name;
    script->known[script->scope] = true;
    node->scope = (uint8_t)++script->scope;
    return loop;
}

/* `c` directly followed by a term: c0, ci, c(i+1)%P. */
static bool parse_chunk(struct gw__script *script, struct gw__expr *chunk)
{
    struct gw__lexer *lexer = &script->lexer;
    const struct gw__token *token = &lexer->token;
    if (token->kind != GW__WORD || lexer->source->text[token->offset] != 'c')
        return gw__lex_unexpected(lexer, "a chunk, such as c0");
    lexer->at = token->offset + 1;
    gw__lex_next(lexer);
    return gw__term_parse(script, chunk);
}

static bool parse_action(struct gw__script *script, uint8_t *action)
{
    struct gw__lexer *lexer = &script->lexer;
    int kind = lexer->token.kind;
    bool barrier = script->collective == GW_BARRIER;
    if (kind != '+' && kind != '=' && kind != '|')
        return gw__lex_unexpected(
            lexer, barrier ? "`|`" : "`+` (add) or `=` (replace)");
    if (barrier != (kind == '|'))
        return gw__source_fail(
            lexer->source, lexer->token.offset,
            barrier ? "a barrier allows only tokens (`|`)"
                    : "`|` passes a token; only a barrier allows it");
    *action = kind == '+' ? GW_ADD : kind == '=' ? GW_REPLACE : GW_TOKEN;
    gw__lex_next(lexer);
    return true;
}

/* RANK, or RANK.SCRATCH; `expr` has room for both. */
static bool parse_holder(struct gw__script *script, struct gw__expr expr[2])
{
    return gw__term_parse(script, &expr[0]) &&
           (!gw__lex_accept(&script->lexer, '.') ||
            gw__term_parse(script, &expr[1]));
}

/* SRC[.SCRATCH]>DST[.SCRATCH] cCHUNK[..LAST] ACTION [@CHANNEL] */
static bool parse_transfer(struct gw__script *script, uint32_t parent)
{
    struct gw__lexer *lexer = &script->lexer;
    struct gw__text_node transfer = {.kind = GW__TRANSFER};
    struct gw__expr *expr = transfer.expr;
    uint32_t offset = lexer->token.offset;
    if (!parse_holder(script, &expr[GW__SRC]) ||
        !gw__lex_expect(lexer, '>',
                        "`>` (a sum before it needs parentheses)") ||
        !parse_holder(script, &expr[GW__DST]) ||
        !parse_chunk(script, &expr[GW__CHUNK]) ||
        (gw__lex_accept(lexer, GW__DOTS) &&
         !gw__term_parse(script, &expr[GW__CHUNK_LAST])) ||
        !parse_action(script, &transfer.action) ||
        (gw__lex_accept(lexer, '@') &&
         !gw__term_parse(script, &expr[GW__CHANNEL])))
        return false;
    if (!script->nodes[parent].in_step)
        return gw__source_fail(
            lexer->source, offset,
            "a transfer must be inside a step; write `step` before it");
    uint32_t made = add_node(script, parent, GW__TRANSFER);
    if (!made)
        return false;
    struct gw__text_node *node = &script->nodes[made];
    node->offset = offset;
    node->action = transfer.action;
    memcpy(node->expr, expr, sizeof node->expr);
    return true;
}

/* RANK cCHUNK[..LAST], in the body of `has` or `wants` */
static bool parse_holding(struct gw__script *script, uint32_t parent)
{
    struct gw__lexer *lexer = &script->lexer;
    struct gw__text_node holding = {.kind = GW__HOLDING};
    struct gw__expr *expr = holding.expr;
    if (!gw__term_parse(script, &expr[GW__SRC]) ||
        !parse_chunk(script, &expr[GW__CHUNK]) ||
        (gw__lex_accept(lexer, GW__DOTS) &&
         !gw__term_parse(script, &expr[GW__CHUNK_LAST])))
        return false;
    uint32_t made = add_node(script, parent, GW__HOLDING);
    if (made)
        memcpy(script->nodes[made].expr, expr, sizeof holding.expr);
    return made != 0;
}

/* A transfer, or what a rank has or wants. */
static bool parse_item(struct gw__script *script, uint32_t parent)
{
    return script->nodes[parent].condition ? parse_holding(script, parent)
                                           : parse_transfer(script, parent);
}

/* The parser of a statement with a body; NULL: the line has none here. */
typedef uint32_t parser(struct gw__script *script, uint32_t parent);
static parser *find_parser(const struct gw__lexer *lexer)
{
    if (gw__lex_is_word(lexer, "step"))
        return parse_step;
    if (gw__lex_is_word(lexer, "for"))
        return parse_for;
    bool condition =
        gw__lex_is_word(lexer, "has") || gw__lex_is_word(lexer, "wants");
    return condition ? parse_condition : NULL;
}

/* One line's statements. *opened: the innermost body that it opened, or 0;
 * *owner: the parent of deeper lines, or 0. */
static bool parse_items(struct gw__script *script, uint32_t parent,
                        uint32_t *opened, uint32_t *owner)
{
    uint32_t body = 0; /* the step, `has` or `wants` that the line began */
    *opened = *owner = 0;
    while (!at_line_end(&script->lexer)) {
        parser *parse = find_parser(&script->lexer);
        if (parse) {
            *opened = parse(script, parent);
            *owner = parent = *opened;
            body = parse == parse_for ? body : *opened;
            if (!*opened)
                return false;
        } else {
            *owner = body;
            if (!parse_item(script, parent))
                return false;
        }
    }
    return true;
}

static const char *body_name(const struct gw__text_node *node)
{
    if (node->kind == GW__FOR)
        return "loop";
    return node->kind == GW__STEP ? "step" : "condition";
}

static bool parse_line(struct gw__script *script, uint32_t parent)
{
    struct gw__lexer *lexer = &script->lexer;
    unsigned indent = lexer->indent;
    uint32_t opened, owner;
    if (!parse_items(script, parent, &opened, &owner))
        return false;
    gw__lex_line(lexer);
    if (lexer->indent > indent) {
        if (!owner)
            return gw__source_fail(
                lexer->source, lexer->token.offset,
                "the line must not be indented deeper than the one above");
        script->scope = script->nodes[owner].scope;
        if (!parse_block(script, owner))
            return false;
        if (lexer->indent > indent)
            return gw__source_fail(
                lexer->source, lexer->token.offset,
                "the indentation must equal that of a line above");
    }
    script->scope = script->nodes[parent].scope;
    if (opened && !script->nodes[opened].child)
        return gw__source_fail(lexer->source, script->nodes[opened].offset,
                               "this %s is empty",
                               body_name(&script->nodes[opened]));
    return true;
}

/* Lines of the same indent. */
static bool parse_block(struct gw__script *script, uint32_t parent)
{
    struct gw__lexer *lexer = &script->lexer;
    unsigned indent = lexer->indent;
    while (lexer->token.kind != GW__END_OF_TEXT && lexer->indent == indent)
        if (!parse_line(script, parent))
            return false;
    return true;
}

bool gw__statements_parse(struct gw__script *script)
{
    struct gw__lexer *lexer = &script->lexer;
    gw__lex_line(lexer);
    if (lexer->indent > 0)
        return gw__source_fail(
            lexer->source, lexer->token.offset,
            "the first step or loop must begin at the left margin");
    return parse_block(script, 0);
}
