/* SPDX-License-Identifier: MIT
 *
 * Characters to tokens. Lines matter in a plan: the end of a line is a token,
 * and the blanks before a line's first token are its indent. A token's position
 * is its offset in the text.
 */
#include "text.h"

#include <ctype.h>
#include <string.h>

static int peek(const struct gw__lexer *lexer, size_t ahead)
{
    const struct gw__source *source = lexer->source;
    size_t at = lexer->at + ahead;
    return at < source->bytes ? (unsigned char)source->text[at] : -1;
}

static bool is_name(int c)
{
    return c >= 0 && c < 128 && (isalnum(c) || c == '_');
}

/* Blanks, a comment, and the carriage return of a foreign line end. */
static void skip_blanks(struct gw__lexer *lexer)
{
    while (peek(lexer, 0) == ' ' || peek(lexer, 0) == '\t' ||
           (peek(lexer, 0) == '\r' && peek(lexer, 1) == '\n'))
        lexer->at++;
    if (peek(lexer, 0) == '#')
        while (peek(lexer, 0) != '\n' && peek(lexer, 0) >= 0)
            lexer->at++;
}

static int lex_number(struct gw__lexer *lexer)
{
    int64_t number = 0;
    size_t begin = lexer->at;
    for (; peek(lexer, 0) >= '0' && peek(lexer, 0) <= '9'; lexer->at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, peek(lexer, 0) - '0', &number)) {
            gw__source_fail(lexer->source, begin, "the number is too large");
            return GW__BAD;
        }
    lexer->token.number = number;
    return GW__NUMBER;
}

static int lex_sign(struct gw__lexer *lexer)
{
    int c = peek(lexer, 0), next = peek(lexer, 1);
    if (c < 0)
        return GW__END_OF_TEXT;
    lexer->at++;
    if ((c == '*' && next == '*') || (c == '.' && next == '.')) {
        lexer->at++;
        return c == '*' ? GW__POWER : GW__DOTS;
    }
    if (c == '\n' || (c != 0 && strchr("+-*/%^()=|>:,.@", c)))
        return c;
    gw__source_fail(lexer->source, lexer->at - 1,
                    c > 32 && c < 127 ? "a plan cannot contain `%c`"
                                      : "a plan cannot contain byte 0x%02x",
                    (unsigned)c);
    return GW__BAD;
}

void gw__lex_next(struct gw__lexer *lexer)
{
    skip_blanks(lexer);
    struct gw__token *token = &lexer->token;
    token->offset = (uint32_t)lexer->at;
    int c = peek(lexer, 0);
    if (c >= '0' && c <= '9')
        token->kind = lex_number(lexer);
    else if (is_name(c)) {
        while (is_name(peek(lexer, 0)))
            lexer->at++;
        token->kind = GW__WORD;
    } else
        token->kind = lex_sign(lexer);
    token->length = (uint32_t)(lexer->at - token->offset);
}

void gw__lex_line(struct gw__lexer *lexer)
{
    do {
        size_t begin = lexer->at;
        while (peek(lexer, 0) == ' ')
            lexer->at++;
        lexer->indent = (unsigned)(lexer->at - begin);
        bool tab = peek(lexer, 0) == '\t';
        size_t at = lexer->at;
        gw__lex_next(lexer);
        if (tab && lexer->token.kind != GW__END_OF_LINE &&
            lexer->token.kind != GW__END_OF_TEXT) {
            gw__source_fail(lexer->source, at, "indent with blanks, not tabs");
            lexer->token.kind = GW__BAD;
        }
    } while (lexer->token.kind == GW__END_OF_LINE);
    if (lexer->token.kind == GW__END_OF_TEXT)
        lexer->indent = 0;
}

bool gw__lex_accept(struct gw__lexer *lexer, int kind)
{
    if (lexer->token.kind != kind)
        return false;
    gw__lex_next(lexer);
    return true;
}

bool gw__lex_expect(struct gw__lexer *lexer, int kind, const char *what)
{
    return gw__lex_accept(lexer, kind) || gw__lex_unexpected(lexer, what);
}

bool gw__lex_unexpected(struct gw__lexer *lexer, const char *what)
{
    const struct gw__token *token = &lexer->token;
    if (token->kind == GW__END_OF_TEXT || token->kind == GW__END_OF_LINE)
        return gw__source_ended(lexer->source, token->offset, what);
    return gw__source_expected(lexer->source, token->offset, token->length,
                               what);
}

bool gw__lex_is_word(const struct gw__lexer *lexer, const char *word)
{
    const struct gw__token *token = &lexer->token;
    return token->kind == GW__WORD && token->length == strlen(word) &&
           memcmp(lexer->source->text + token->offset, word, token->length) ==
               0;
}

struct gw__token gw__lex_raw(struct gw__lexer *lexer)
{
    struct gw__token raw = {.kind = GW__WORD, .offset = (uint32_t)lexer->at};
    while (peek(lexer, 0) > ' ' && peek(lexer, 0) < 127 &&
           peek(lexer, 0) != '#')
        lexer->at++;
    raw.length = (uint32_t)(lexer->at - raw.offset);
    gw__lex_next(lexer);
    return raw;
}
