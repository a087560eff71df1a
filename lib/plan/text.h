/* SPDX-License-Identifier: MIT
 *
 * The parts of the reader and the printer of `.plan` files (gradwire-plan(5)):
 *   text.c        the sequence: header, statements, run
 *   text_lex.c    characters to tokens
 *   text_header.c the first line
 *   text_expr.c   expressions, to a postfix program
 *   text_eval.c   and their values
 *   text_parse.c  statements, to a tree
 *   text_run.c    the tree, run into a builder
 *   text_print.c  the printer
 *
 * The input is not trusted: text, tree, nesting, loops and transfers are
 * bounded, arithmetic is checked, and parsing ends at the first error.
 * Functions return false after an error that is stored in the source
 * (base/source.h).
 */
#ifndef GW__PLAN_TEXT_H
#define GW__PLAN_TEXT_H

#include <base/source.h>
#include <gradwire/plan.h>

struct gw__text_limits {
    size_t bytes;     /* of the text */
    size_t transfers; /* statements run, counted in each iteration */
    size_t work;      /* statements run, once per iteration */
};
extern const struct gw__text_limits gw__text_limits;

/* gw_plan_parse with explicit limits. */
GW_MUST_CHECK enum gw_err
gw__plan_parse_within(const struct gw__text_limits *limits, const char *text,
                      size_t bytes, const char *name, unsigned ranks,
                      struct gw_plan **plan, struct gw_error *why);

/* ---- tokens ---- */

/* Any other kind is the character itself: '>', '+', ... */
enum gw__token_kind {
    GW__END_OF_TEXT = 0,
    GW__END_OF_LINE = '\n',
    GW__WORD = 256,
    GW__NUMBER,
    GW__POWER, /* ** */
    GW__DOTS,  /* .. */
    GW__BAD    /* its error is in the source */
};

struct gw__token {
    int kind;
    uint32_t offset;
    uint32_t length;
    int64_t number;
};

struct gw__lexer {
    struct gw__source *source;
    size_t at;              /* where the next token begins */
    unsigned indent;        /* blanks before the line's first token */
    struct gw__token token; /* the current one */
};

/* Advances to the next line that has a token; at the end of the text the token
 * is GW__END_OF_TEXT and the indent 0. */
void gw__lex_line(struct gw__lexer *lexer);
void gw__lex_next(struct gw__lexer *lexer);
/* Consumes the token if it is of this kind. */
bool gw__lex_accept(struct gw__lexer *lexer, int kind);
/* Consumes the token or fails with "expected WHAT, found ...". */
bool gw__lex_expect(struct gw__lexer *lexer, int kind, const char *what);
bool gw__lex_is_word(const struct gw__lexer *lexer, const char *word);
/* "expected WHAT, found `...`"; false. */
bool gw__lex_unexpected(struct gw__lexer *lexer, const char *what);
/* Consumes the token and returns the characters after it, unchanged, up to a
 * blank; there may be none. */
struct gw__token gw__lex_raw(struct gw__lexer *lexer);

/* ---- the parsed script, ready to run ---- */

enum {
    GW__NEST_MAX = 16,  /* loops in loops */
    GW__DEPTH_MAX = 32, /* operators in operators of an expression */
    GW__SLOT_P = 0,
    GW__SLOT_C,
    GW__SLOT_ROOT,
    GW__SLOT_LOOPS, /* those of loops begin here */
    GW__SLOTS = GW__SLOT_LOOPS + GW__NEST_MAX
};

enum gw__op_code {
    GW__OP_NUMBER,
    GW__OP_VARIABLE,
    GW__OP_NEGATE,
    GW__OP_LOG2,
    GW__OP_BINARY, /* operators from here on have two operands */
    GW__OP_MIN = GW__OP_BINARY,
    GW__OP_MAX,
    GW__OP_XOR,
    GW__OP_ADD,
    GW__OP_SUBTRACT,
    GW__OP_MULTIPLY,
    GW__OP_DIVIDE,
    GW__OP_MODULO,
    GW__OP_POWER
};

/* Postfix: operands come before their operator. */
struct gw__op {
    uint32_t code;   /* enum gw__op_code */
    uint32_t offset; /* in the text, for errors */
    int64_t value;   /* of a constant; the slot of a variable */
};

/* ops[begin] .. ops[end - 1] */
struct gw__expr {
    uint32_t begin;
    uint32_t end;
};

/* The expressions of a loop, and of a transfer. */
enum {
    GW__LOOP_FIRST = 0,
    GW__LOOP_LAST,
    GW__SRC = 0,
    GW__SRC_SCRATCH, /* optional */
    GW__DST,
    GW__DST_SCRATCH, /* optional */
    GW__CHUNK,
    GW__CHUNK_LAST, /* optional */
    GW__CHANNEL,    /* optional */
    GW__EXPRS
};

/* GW__CONDITION is the body of `has` or `wants`, GW__HOLDING a chunk in it. */
enum gw__node_kind {
    GW__BLOCK,
    GW__STEP,
    GW__FOR,
    GW__TRANSFER,
    GW__CONDITION,
    GW__HOLDING
};

struct gw__text_node {
    uint8_t kind;
    uint8_t action;    /* of a transfer */
    uint8_t slot;      /* of a loop */
    uint8_t scope;     /* slots that the statements inside can see */
    bool in_step;      /* statements inside belong to a step */
    uint8_t condition; /* GW_HAS or GW_WANTS: statements inside are these */
    uint32_t offset;   /* in the text; of a loop: of its variable */
    uint32_t length;   /* of a loop's variable */
    struct gw__expr expr[GW__EXPRS];  /* an optional one may be empty */
    uint32_t child, last_child, next; /* nodes; 0: none */
};

struct gw__script {
    struct gw__lexer lexer;
    const struct gw__text_limits *limits;
    /* Of the header. */
    enum gw_collective collective;
    unsigned ranks, chunks, root, ports;
    uint32_t chunks_offset; /* in the text */
    char algo[sizeof((struct gw_plan *)0)->algo];
    /* nodes[0] is the whole file. */
    struct gw__text_node *nodes;
    size_t node_count, node_capacity;
    struct gw__op *ops;
    size_t op_count, op_capacity;
    unsigned depth; /* current nesting of operators in the parser */
    /* Variables: names for the parser, values for the run. The header sets
     * P, C and root one after the other. */
    struct gw__token names[GW__SLOTS];
    bool known[GW__SLOTS];
    int64_t values[GW__SLOTS];
    unsigned scope; /* slots in use */
};

/* Room for one more item, or an error. */
bool gw__script_grow(struct gw__script *script, void **array, size_t *capacity,
                     size_t count, size_t item);

/* `expr`: any expression. `term`: an operand of a transfer, in which a sum
 * needs parentheses because `+` is the transfer's action. */
bool gw__expr_parse(struct gw__script *script, struct gw__expr *expr);
bool gw__term_parse(struct gw__script *script, struct gw__expr *expr);
bool gw__expr_value(struct gw__script *script, struct gw__expr expr,
                    int64_t *value);
/* The offset of the expression in the text. */
uint32_t gw__expr_offset(const struct gw__script *script, struct gw__expr expr);
/* The slot of the variable with this name, or GW__SLOTS. */
unsigned gw__name_slot(const struct gw__script *script, struct gw__token name);

/* The header line; `ranks` is the caller's P, or 0. */
bool gw__header_parse(struct gw__script *script, unsigned ranks);
/* All lines after the header. */
bool gw__statements_parse(struct gw__script *script);
bool gw__script_run(struct gw__script *script, struct gw_builder *builder);

#endif
