/* SPDX-License-Identifier: MIT
 *
 * The parser of networks (gradwire-network(5)). A line is a statement:
 *
 *     network NAME
 *     input WIDTH | CHANNELSxHEIGHTxWIDTH
 *     OPERATOR [WIDTH | INxOUT | SIZES | NAME] [SPLIT]
 *     name NAME
 *     stage
 *
 * An operator's input is the previous output, so one width is enough; two
 * widths are checked against each other. Any split word is accepted here, since
 * only the layout knows the mesh and the valid splits.
 */
#include "network.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    struct gw__words words;
    struct gw_network *network;
    unsigned width;        /* features of the last output */
    struct gw_image image; /* and its shape */
    bool stage_begun;      /* a stage has begun without an operator so far */
    size_t stage_at;
};

static bool read_name(struct reader *reader)
{
    struct gw__words *words = &reader->words;
    struct gw_network *network = reader->network;
    if (!gw__is_word(words, "network"))
        return gw__net_expected(words, words->word, "`network` and a name");
    if (!gw__next_word(words))
        return false;
    size_t length = words->end - words->word;
    if (length == 0)
        return gw__net_expected(words, words->word, "the network's name");
    if (length >= sizeof network->name)
        return gw__source_fail(&words->source, words->word,
                               "the name must have at most %zu characters",
                               sizeof network->name - 1);
    memcpy(network->name, words->source.text + words->word, length);
    return gw__next_word(words);
}

static bool read_inputs(struct reader *reader)
{
    struct gw__words *words = &reader->words;
    if (!gw__is_word(words, "input"))
        return gw__net_expected(words, words->word,
                                "`input` and the features of a row");
    if (!gw__next_word(words))
        return false;
    struct gw_network *network = reader->network;
    if (!gw__net_image(words, &network->image, &network->inputs))
        return false;
    reader->width = network->inputs;
    reader->image = network->image;
    return true;
}

/* Checks an input width in the text at `at`. */
static bool check_input(struct reader *reader, size_t at, unsigned inputs)
{
    if (inputs == reader->width)
        return true;
    return gw__source_fail(&reader->words.source, at,
                           "it expects %u features, but gets %u", inputs,
                           reader->width);
}

/* OUT or INxOUT */
static bool read_widths(struct reader *reader, struct gw_operator *op)
{
    struct gw__words *words = &reader->words;
    size_t begin = words->word, at = begin;
    if (!gw__net_width(words, &at, "a width, such as 128 or 64x128", &op->out))
        return false;
    if (at < words->end && words->source.text[at] == 'x') {
        at++;
        if (!check_input(reader, begin, op->out) ||
            !gw__net_width(words, &at, "the width of the output", &op->out))
            return false;
    }
    return at == words->end ? gw__next_word(words)
                            : gw__net_expected(words, at, "`x` or a blank");
}

/* Reads the classes after `softmax`, if any. */
static bool read_classes(struct reader *reader)
{
    struct gw__words *words = &reader->words;
    size_t at = words->word;
    unsigned classes;
    char first = gw__at_line_end(words) ? 0 : words->source.text[at];
    if (first < '0' || first > '9')
        return true;
    if (!gw__net_width(words, &at, "the classes", &classes) ||
        !check_input(reader, words->word, classes))
        return false;
    return at == words->end ? gw__next_word(words)
                            : gw__net_expected(words, at, "a blank");
}

static bool read_split(struct reader *reader, struct gw_operator *op)
{
    struct gw__words *words = &reader->words;
    op->split = GW_SPLIT_AUTO;
    if (gw__at_line_end(words))
        return true;
    for (unsigned split = 0; split <= GW_SPLIT_BATCH; split++)
        if (gw__is_word(words, gw_split_name((enum gw_split)split))) {
            op->split = (enum gw_split)split;
            return gw__next_word(words);
        }
    return gw__net_expected(
        words, words->word,
        "auto, none, columns, rows, batch or the end of the line");
}

static bool read_kind(struct reader *reader, enum gw_operator_kind *kind)
{
    struct gw__words *words = &reader->words;
    for (unsigned k = 0; k <= GW_OP_SOFTMAX; k++)
        if (gw__is_word(words, gw_operator_name((enum gw_operator_kind)k))) {
            *kind = (enum gw_operator_kind)k;
            return true;
        }
    if (gw__is_word(words, "input") || gw__is_word(words, "network"))
        return gw__source_fail(&words->source, words->word, "`%s` occurs twice",
                               gw__is_word(words, "input") ? "input"
                                                           : "network");
    return gw__net_expected(
        words, words->word,
        "embedding, dense, relu, tanh, conv, maxpool, flatten, "
        "add, softmax, name or stage");
}

/* Makes room for one more operator. NULL: an error. */
static struct gw_operator *add_operator(struct reader *reader)
{
    struct gw_network *network = reader->network;
    if (network->operator_count == GW_OPERATORS_MAX) {
        gw__source_fail(&reader->words.source, reader->words.word,
                        "a network can have at most %d operators",
                        GW_OPERATORS_MAX);
        return NULL;
    }
    return &network->operators[network->operator_count++];
}

static unsigned line_at(const struct gw__source *source, size_t offset)
{
    unsigned line = 1;
    for (size_t i = 0; i < offset; i++)
        line += source->text[i] == '\n';
    return line;
}

/* Checks that this kind of operator is allowed here. */
static bool check_place(struct reader *reader, enum gw_operator_kind kind)
{
    const struct gw_network *network = reader->network;
    struct gw__words *words = &reader->words;
    unsigned count = network->operator_count;
    if (count && network->operators[count - 1].kind == GW_OP_SOFTMAX)
        return gw__source_fail(&words->source, words->word,
                               "softmax must be the last operator");
    if (kind == GW_OP_EMBEDDING && count)
        return gw__source_fail(&words->source, words->word,
                               "an embedding must be the first operator");
    bool image =
        kind == GW_OP_CONV || kind == GW_OP_MAXPOOL || kind == GW_OP_FLATTEN;
    bool flat =
        kind == GW_OP_EMBEDDING || kind == GW_OP_DENSE || kind == GW_OP_SOFTMAX;
    if (image && !reader->image.channels)
        return gw__source_fail(&words->source, words->word,
                               "it expects an image, but gets features");
    if (flat && reader->image.channels)
        return gw__source_fail(
            &words->source, words->word,
            "it expects features, but gets an image; put `flatten` before it");
    return true;
}

/* Is the next word the name of operator i's output? */
static bool is_named(const struct reader *reader, unsigned i)
{
    const char *name = reader->network->operators[i].name;
    return *name && gw__is_word(&reader->words, name);
}

/* Reads the NAME of an add, which becomes operator `at`. */
static bool read_source(struct reader *reader, struct gw_operator *op,
                        unsigned at)
{
    struct gw__words *words = &reader->words;
    unsigned i = 0;
    while (i < at && !is_named(reader, i))
        i++;
    if (i == at)
        return gw__net_expected(words, words->word,
                                "the name of an earlier operator's output");
    const struct gw_operator *source = &reader->network->operators[i];
    op->source = i;
    if (source->out != op->in ||
        memcmp(&source->image_out, &op->image_in, sizeof op->image_in) != 0)
        return gw__source_fail(&words->source, words->word,
                               "%s has %u features, but the other input has "
                               "%u, or another image shape",
                               source->name, source->out, op->in);
    return gw__next_word(words);
}

static bool read_operator(struct reader *reader)
{
    struct gw__words *words = &reader->words;
    enum gw_operator_kind kind = GW_OP_DENSE;
    if (!read_kind(reader, &kind) || !check_place(reader, kind))
        return false;
    struct gw_operator *op = add_operator(reader);
    if (!op)
        return false;
    *op = (struct gw_operator){.kind = kind,
                               .in = reader->width,
                               .out = reader->width,
                               .image_in = reader->image,
                               .image_out = reader->image,
                               .begins_stage = reader->stage_begun,
                               .line = line_at(&words->source, words->word)};
    if (!gw__next_word(words))
        return false;
    reader->stage_begun = false;
    if (kind == GW_OP_DENSE || kind == GW_OP_EMBEDDING) {
        if (!read_widths(reader, op))
            return false;
    } else if (kind == GW_OP_SOFTMAX) {
        reader->network->classes = op->in;
        op->out = 0;
        if (!read_classes(reader))
            return false;
    } else if (kind == GW_OP_ADD) {
        if (!read_source(reader, op, reader->network->operator_count - 1))
            return false;
    } else if (!gw__net_image_operator(words, op))
        return false;
    reader->width = op->out;
    reader->image = op->image_out;
    return read_split(reader, op);
}

static bool read_stage(struct reader *reader)
{
    struct gw__words *words = &reader->words;
    if (reader->network->operator_count == 0)
        return gw__source_fail(
            &words->source, words->word,
            "`stage` must come between operators; the first stage needs none");
    if (reader->stage_begun)
        return gw__source_fail(&words->source, words->word,
                               "the previous stage has no operator");
    reader->stage_begun = true;
    reader->stage_at = words->word;
    return gw__next_word(words);
}

/* Names the previous operator's output. */
static bool read_output_name(struct reader *reader)
{
    struct gw__words *words = &reader->words;
    unsigned count = reader->network->operator_count;
    if (count == 0 || reader->stage_begun)
        return gw__source_fail(
            &words->source, words->word,
            "`name` must come after the operator that it names");
    if (!gw__next_word(words))
        return false;
    struct gw_operator *op = &reader->network->operators[count - 1];
    size_t length = words->end - words->word;
    if (length == 0 || *op->name || length >= sizeof op->name)
        return gw__net_expected(words, words->word,
                                "one name of at most 15 characters");
    for (unsigned i = 0; i < count; i++)
        if (is_named(reader, i))
            return gw__source_fail(&words->source, words->word,
                                   "the name is already in use");
    memcpy(op->name, words->source.text + words->word, length);
    return gw__next_word(words);
}

/* Checks that need the whole text. */
static bool check_whole(struct reader *reader)
{
    const struct gw_network *network = reader->network;
    struct gw__source *source = &reader->words.source;
    unsigned count = network->operator_count;
    if (reader->stage_begun)
        return gw__source_fail(source, reader->stage_at,
                               "this stage has no operator");
    if (count == 0 || network->operators[count - 1].kind != GW_OP_SOFTMAX)
        return gw__source_fail(source, source->bytes,
                               "a network must end with softmax, its loss");
    return gw_network_parameters(network) > 0 ||
           gw__source_fail(source, source->bytes,
                           "a network needs at least one dense, conv or "
                           "embedding to train");
}

static bool line_ends(struct reader *reader)
{
    struct gw__words *words = &reader->words;
    return gw__at_line_end(words) ||
           gw__net_expected(words, words->word, "the end of the line");
}

static bool read_lines(struct reader *reader)
{
    struct gw__words *words = &reader->words;
    if (!gw__next_word(words) ||
        (gw__at_line_end(words) && !gw__net_next_line(words)))
        return false;
    if (!read_name(reader) || !line_ends(reader) || !gw__net_next_line(words))
        return false;
    if (!read_inputs(reader) || !line_ends(reader) || !gw__net_next_line(words))
        return false;
    while (!gw__at_line_end(words)) {
        bool right = gw__is_word(words, "stage")  ? read_stage(reader)
                     : gw__is_word(words, "name") ? read_output_name(reader)
                                                  : read_operator(reader);
        if (!right || !line_ends(reader) || !gw__net_next_line(words))
            return false;
    }
    return check_whole(reader);
}

enum gw_err gw_network_parse(const char *text, size_t bytes, const char *name,
                             struct gw_network **network, struct gw_error *why)
{
    *network = NULL;
    if (bytes > GW__NETWORK_BYTES_MAX)
        return gw_fail(why, GW_EDATA,
                       "%.200s:1:1: the text has more than %d bytes", name,
                       GW__NETWORK_BYTES_MAX);
    struct reader reader = {
        .words = {.source = {.name = name, .text = text, .bytes = bytes},
                  .kind = "network"},
        .network = calloc(1, sizeof *reader.network),
    };
    if (reader.network)
        reader.network->operators =
            calloc(GW_OPERATORS_MAX, sizeof *reader.network->operators);
    if (!reader.network || !reader.network->operators)
        gw__source_exhausted(&reader.words.source);
    else if (read_lines(&reader)) {
        *network = reader.network;
        return GW_OK;
    }
    gw_network_destroy(&reader.network);
    const struct gw_error *error = &reader.words.source.error;
    return gw_fail(why, error->code, "%s", error->text);
}
