/* SPDX-License-Identifier: MIT
 *
 * Reads ratings; see ratings.h. Lines keep the ids of the files. At the end
 * users and items are sorted once, and each id is replaced by its position.
 */
#include "ratings.h"

#include "learn/random.h"
#include "number.h"

#include <base/file.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HELD_OUT = 10, COUNT_MAX = 1 << 28 };

struct line {
    uint64_t user, item;
    float value;
};

struct lines {
    struct line *line;
    size_t count, capacity;
    locale_t c_locale;
};

/* ---- lines ---- */

static const char *skip(const char *at)
{
    return at + strspn(at, " \t\r,:;");
}

/* Returns the text after the id; NULL: no id. */
static const char *read_id(const char *at, uint64_t *id)
{
    char *end;
    if (!gw__is_digit(*at))
        return NULL;
    errno = 0;
    *id = strtoull(at, &end, 10);
    const char *next = skip(end);
    return !errno && next > end ? next : NULL;
}

/* False: the text is not a rating. */
static bool parse(const char *at, locale_t c_locale, struct line *line)
{
    double value = 0;
    at = read_id(skip(at), &line->user);
    at = at ? read_id(at, &line->item) : NULL;
    const char *end = at ? gw__number(at, &value, c_locale) : NULL;
    line->value = (float)value;
    return end && end > at && isfinite(line->value) &&
           (!*end || skip(end) > end || *end == '\n');
}

static bool has_digit(const char *text)
{
    return text[strcspn(text, "0123456789")] != 0;
}

static bool append_line(struct lines *lines, const struct line *line)
{
    if (lines->count == lines->capacity) {
        size_t capacity = lines->capacity ? 2 * lines->capacity : 1024;
        void *moved = realloc(lines->line, capacity * sizeof *line);
        if (!moved)
            return false;
        lines->line = moved;
        lines->capacity = capacity;
    }
    lines->line[lines->count++] = *line;
    return true;
}

static enum gw_err parse_line(struct lines *lines, const char *path,
                              size_t number, char *text, struct gw_error *why)
{
    struct line line;
    text[strcspn(text, "#")] = 0;
    if (text[strspn(text, " \t\r\n")] == 0 || (number == 1 && !has_digit(text)))
        return GW_OK;
    if (!parse(text, lines->c_locale, &line))
        return gw_fail(why, GW_EDATA,
                       "%s:%zu: expected a user, an item and a number, such "
                       "as 17 4 3.5",
                       path, number);
    if (lines->count == COUNT_MAX)
        return gw_fail(why, GW_EDATA, "%s: more than %d ratings", path,
                       COUNT_MAX);
    return append_line(lines, &line) ? GW_OK
                                     : gw_fail(why, GW_ENOMEM, "%s", path);
}

static enum gw_err read_file(struct lines *lines, const char *path,
                             struct gw_error *why)
{
    FILE *file = gw__file_stream(path, why);
    size_t room = 0, number = 0, before = lines->count;
    char *text = NULL;
    enum gw_err code = file ? GW_OK : why ? why->code : GW_EDATA;
    while (!code && getline(&text, &room, file) >= 0)
        code = parse_line(lines, path, ++number, text, why);
    if (!code && ferror(file))
        code = gw_fail_errno(why, "%s", path);
    if (!code && lines->count == before)
        code = gw_fail(why, GW_EDATA, "%s: the file has no rating", path);
    free(text);
    if (file)
        fclose(file);
    return code;
}

/* ---- numbering ---- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t id_of(const struct line *line, bool user)
{
    return user ? line->user : line->item;
}

/* Numbers the users or the items. */
static bool number_all(const struct lines *lines, bool users,
                       struct gw__ratings *ratings)
{
    uint64_t *ids = malloc((lines->count + 1) * sizeof *ids);
    uint32_t count = 0;
    for (size_t i = 0; ids && i < lines->count; i++)
        ids[i] = id_of(&lines->line[i], users);
    if (ids)
        qsort(ids, lines->count, sizeof *ids, compare_numbers);
    for (size_t i = 0; ids && i < lines->count; i++)
        if (count == 0 || ids[i] != ids[count - 1])
            ids[count++] = ids[i];
    for (size_t i = 0; ids && i < lines->count; i++) {
        uint64_t id = id_of(&lines->line[i], users);
        const uint64_t *at =
            bsearch(&id, ids, count, sizeof *ids, compare_numbers);
        struct gw__rating *rating = &ratings->rating[i];
        *(users ? &rating->user : &rating->item) = (uint32_t)(at - ids);
    }
    *(users ? &ratings->users : &ratings->items) = count;
    free(ids);
    return ids != NULL;
}

/* Moves a tenth of the ratings to the end. */
static void hold_out(struct lines *lines, uint64_t seed, size_t *test_begin)
{
    struct line *held = malloc((lines->count + 1) * sizeof *held);
    size_t kept = 0, out = 0;
    for (size_t i = 0; held && i < lines->count; i++)
        if (gw__mix_in(seed, i) % HELD_OUT == 0)
            held[out++] = lines->line[i];
        else
            lines->line[kept++] = lines->line[i];
    *test_begin = held ? kept : lines->count;
    if (out)
        memcpy(lines->line + kept, held, out * sizeof *held);
    free(held);
}

static enum gw_err number(const struct lines *lines,
                          struct gw__ratings *ratings, struct gw_error *why)
{
    ratings->count = lines->count;
    ratings->rating = calloc(lines->count, sizeof *ratings->rating);
    if (!ratings->rating || !number_all(lines, true, ratings) ||
        !number_all(lines, false, ratings))
        return gw_fail(why, GW_ENOMEM, "%zu ratings", lines->count);
    for (size_t i = 0; i < lines->count; i++)
        ratings->rating[i].value = lines->line[i].value;
    return GW_OK;
}

enum gw_err gw__ratings_load(const char *train, const char *test, uint64_t seed,
                             struct gw__ratings *ratings, struct gw_error *why)
{
    struct lines lines = {.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    *ratings = (struct gw__ratings){0};
    if (!lines.c_locale)
        return gw_fail_errno(why, "%s: the C locale", train);
    enum gw_err code = read_file(&lines, train, why);
    ratings->test_begin = lines.count;
    if (!code && test)
        code = read_file(&lines, test, why);
    else if (!code)
        hold_out(&lines, seed, &ratings->test_begin);
    if (!code && ratings->test_begin == 0)
        code = gw_fail(why, GW_EDATA,
                       "%s: all ratings were held out for the test", train);
    if (!code)
        code = number(&lines, ratings, why);
    free(lines.line);
    freelocale(lines.c_locale);
    return code;
}
