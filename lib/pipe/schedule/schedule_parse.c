/* SPDX-License-Identifier: MIT
 *
 * The parser of schedules (gradwire-schedule(5)):
 *
 *     schedule stages=2 micros=3 memory=2
 *     stage 0: F0 F1 B0 F2 B1 B2
 *     stage 1: F0 B0 F1 B1 F2 B2
 *
 * Passes are collected in the order of the text, each with its stage, and
 * distributed to the stages at the end. So lines may be in any order, and a
 * stage may have several. Input is not trusted: text and passes are limited,
 * and the first error ends the parsing.
 */
#include "schedule.h"
#include "schedule_words.h"

#include <stdlib.h>
#include <string.h>

struct line_pass {
    uint16_t stage;
    struct gw_pass pass;
};

struct script {
    struct gw__schedule_words words;
    struct gw__pipe_shape shape;
    unsigned activations_max;
    char name[sizeof((struct gw_schedule *)0)->name];
    struct line_pass *passes;
    size_t count, capacity;
};

/* KEY=NUMBER, from the `=` on. */
static bool parse_entry(struct gw__schedule_words *words, const char *key,
                        unsigned least, unsigned most, unsigned *value)
{
    size_t begin = words->at;
    unsigned number;
    if (!gw__words_digits(words, "a number", &number))
        return false;
    if (number < least || number > most)
        return gw__source_fail(&words->source, begin,
                               "%s must be in %u..%u, not %u", key, least, most,
                               number);
    if (gw__words_length(words) > 0)
        return gw__words_expected(words, "a blank after the number");
    *value = number;
    gw__words_skip(words, 0);
    return true;
}

static bool parse_name(struct script *script)
{
    struct gw__schedule_words *words = &script->words;
    size_t length = gw__words_length(words);
    if (length == 0)
        return gw__source_fail(&words->source, words->at, "name= needs a word");
    if (length >= sizeof script->name)
        return gw__source_fail(&words->source, words->at,
                               "the name must have at most %zu characters",
                               sizeof script->name - 1);
    memcpy(script->name, words->source.text + words->at, length);
    script->name[length] = 0;
    gw__words_skip(words, length);
    return true;
}

enum entry { STAGES, MICROS, CHUNKS, MEMORY, NAME, ENTRIES };

static bool parse_value(struct script *script, enum entry entry)
{
    struct gw__schedule_words *words = &script->words;
    struct gw__pipe_shape *shape = &script->shape;
    switch (entry) {
    case STAGES:
        return parse_entry(words, "stages", 1, GW_STAGES_MAX, &shape->stages);
    case MICROS:
        return parse_entry(words, "micros", 1, GW_MICROS_MAX, &shape->micros);
    case CHUNKS:
        return parse_entry(words, "chunks", 1, GW_STAGE_CHUNKS_MAX,
                           &shape->chunks);
    case MEMORY:
        return parse_entry(words, "memory", 1, GW_PASSES_MAX,
                           &script->activations_max);
    default:
        return parse_name(script);
    }
}

static bool check_size(struct script *script)
{
    struct gw__schedule_words *words = &script->words;
    const struct gw__pipe_shape *shape = &script->shape;
    size_t least =
        gw__schedule_least(shape->stages, shape->micros, shape->chunks);
    return least <= GW_PASSES_MAX ||
           gw__source_fail(
               &words->source, words->at,
               "the schedule needs %zu passes, but can have at most %d", least,
               GW_PASSES_MAX);
}

static bool parse_header(struct script *script)
{
    static const char *const keys[ENTRIES] = {[STAGES] = "stages=",
                                              [MICROS] = "micros=",
                                              [CHUNKS] = "chunks=",
                                              [MEMORY] = "memory=",
                                              [NAME] = "name="};
    struct gw__schedule_words *words = &script->words;
    bool is_set[ENTRIES] = {false};
    if (!gw__words_accept(words, "schedule"))
        return gw__words_expected(words, "`schedule`");
    gw__words_skip(words, 0);
    while (!gw__words_line_end(words)) {
        size_t begin = words->at;
        unsigned entry = 0;
        while (entry < ENTRIES && !gw__words_accept(words, keys[entry]))
            entry++;
        if (entry == ENTRIES)
            return gw__words_expected(
                words, "stages=, micros=, chunks=, memory= or name=");
        if (is_set[entry])
            return gw__source_fail(&words->source, begin, "%s occurs twice",
                                   keys[entry]);
        is_set[entry] = true;
        if (!parse_value(script, (enum entry)entry))
            return false;
    }
    if (!is_set[STAGES] || !is_set[MICROS])
        return gw__words_expected(words,
                                  is_set[STAGES] ? "micros=" : "stages=");
    return check_size(script);
}

static bool add_pass(struct script *script, unsigned stage, struct gw_pass pass)
{
    struct gw__source *source = &script->words.source;
    if (script->count == GW_PASSES_MAX)
        return gw__source_fail(source, script->words.at,
                               "a schedule can have at most %d passes",
                               GW_PASSES_MAX);
    if (script->count == script->capacity) {
        size_t larger = script->capacity ? 2 * script->capacity : 64;
        void *moved = realloc(script->passes, larger * sizeof *script->passes);
        if (!moved)
            return gw__source_exhausted(source);
        script->passes = moved;
        script->capacity = larger;
    }
    script->passes[script->count++] =
        (struct line_pass){.stage = (uint16_t)stage, .pass = pass};
    return true;
}

static bool parse_symbol(struct gw__schedule_words *words, struct gw_pass *pass)
{
    for (int kind = 0; kind < GW_PASS_KINDS; kind++)
        if (gw__words_byte(words) == gw_pass_symbol((enum gw_pass_kind)kind)) {
            pass->kind = (uint8_t)kind;
            words->at++;
            return true;
        }
    return gw__words_expected(words, "a pass, such as F0");
}

/* F3, or F3.1 for chunk 1. */
static bool parse_pass(struct script *script, unsigned stage)
{
    struct gw__schedule_words *words = &script->words;
    const struct gw__pipe_shape *shape = &script->shape;
    struct gw_pass pass = {0};
    unsigned micro, chunk = 0;
    size_t begin = words->at;
    if (!parse_symbol(words, &pass) ||
        !gw__words_digits(words, "the number of a micro-batch", &micro))
        return false;
    if (gw__words_byte(words) == '.') {
        words->at++;
        if (!gw__words_digits(words, "the number of a chunk", &chunk))
            return false;
    }
    if (gw__words_length(words) > 0)
        return gw__words_expected(words, "a blank between passes");
    if (micro >= shape->micros)
        return gw__source_fail(&words->source, begin,
                               "micro-batch %u is out of 0..%u", micro,
                               shape->micros - 1);
    if (chunk >= shape->chunks)
        return gw__source_fail(&words->source, begin,
                               "chunk %u is out of 0..%u", chunk,
                               shape->chunks - 1);
    pass.micro = (uint16_t)micro;
    pass.chunk = (uint8_t)chunk;
    gw__words_skip(words, 0);
    return add_pass(script, stage, pass);
}

/* stage N: PASS... */
static bool parse_stage(struct script *script)
{
    struct gw__schedule_words *words = &script->words;
    unsigned stage;
    if (!gw__words_accept(words, "stage"))
        return gw__words_expected(words, "`stage`");
    gw__words_skip(words, 0);
    size_t begin = words->at;
    if (!gw__words_digits(words, "the number of a stage", &stage))
        return false;
    if (stage >= script->shape.stages)
        return gw__source_fail(&words->source, begin,
                               "stage %u is out of 0..%u", stage,
                               script->shape.stages - 1);
    gw__words_skip(words, 0);
    if (!gw__words_accept(words, ":"))
        return gw__words_expected(words, "`:`");
    gw__words_skip(words, 0);
    while (!gw__words_line_end(words))
        if (!parse_pass(script, stage))
            return false;
    return true;
}

static bool parse_lines(struct script *script)
{
    struct gw__schedule_words *words = &script->words;
    gw__words_skip(words, 0);
    gw__words_next_line(words);
    if (!parse_header(script))
        return false;
    while (gw__words_next_line(words))
        if (!parse_stage(script))
            return false;
    return true;
}

/* Distributes the passes to their stages. */
static enum gw_err distribute_passes(const struct script *script,
                                     struct gw_schedule **schedule,
                                     struct gw_error *why)
{
    enum gw_err err =
        gw__schedule_new(&script->shape, script->count, schedule, why);
    if (err)
        return err;
    struct gw_schedule *made = *schedule;
    size_t *begin = made->begin;
    snprintf(made->name, sizeof made->name, "%s", script->name);
    made->activations_max = script->activations_max;
    /* begin[s + 1]: first the number of passes of s, then its begin and, after
     * its passes have been copied, its end. */
    for (size_t i = 0; i < script->count; i++)
        begin[script->passes[i].stage + 1]++;
    size_t before = 0;
    for (unsigned stage = 0; stage < made->stages; stage++) {
        size_t count = begin[stage + 1];
        begin[stage + 1] = before;
        before += count;
    }
    for (size_t i = 0; i < script->count; i++)
        made->passes[begin[script->passes[i].stage + 1]++] =
            script->passes[i].pass;
    return GW_OK;
}

/* A schedule without a name gets the name of its file. */
static void name_after(struct script *script, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(script->name, sizeof script->name, "%s",
             slash && slash[1] ? slash + 1 : path);
}

enum gw_err gw_schedule_parse(const char *text, size_t bytes, const char *name,
                              struct gw_schedule **schedule,
                              struct gw_error *why)
{
    struct script script = {
        .words.source = {.name = name, .text = text, .bytes = bytes},
        .shape.chunks = 1,
    };
    const struct gw_error *error = &script.words.source.error;
    *schedule = NULL;
    if (bytes > GW__SCHEDULE_BYTES_MAX)
        return gw_fail(why, GW_EDATA,
                       "%.200s:1:1: the text has more than %d bytes", name,
                       GW__SCHEDULE_BYTES_MAX);
    name_after(&script, name);
    enum gw_err err = parse_lines(&script)
                          ? distribute_passes(&script, schedule, why)
                          : gw_fail(why, error->code, "%s", error->text);
    free(script.passes);
    return err;
}
