/* SPDX-License-Identifier: MIT
 *
 * Reads a text and numbers its words; see words.h. The text stays in memory,
 * and words point into it. Words are numbered in order of appearance, then
 * sorted, and hash and stream are rewritten.
 */
#include "words.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS_MIN = 1024 };
#define NO_WORD UINT32_MAX

struct text_builder {
    struct gw__word_table *words;
    size_t word_capacity, stream_capacity;
};

/* ---- the file ---- */

static enum gw_err read_text(int fd, const char *path, char **text,
                             size_t *bytes, struct gw_error *why)
{
    enum { BLOCK_BYTES = 1 << 20 };
    size_t filled = 0, capacity = 0;
    const uint64_t most = gw__file_bytes_max();
    for (;;) {
        if (capacity - filled < BLOCK_BYTES) {
            capacity = 2 * capacity + BLOCK_BYTES;
            char *moved = realloc(*text, capacity);
            if (!moved)
                return gw_fail(why, GW_ENOMEM, "%s", path);
            *text = moved;
        }
        ssize_t n = read(fd, *text + filled, capacity - filled);
        if (n < 0 && errno == EINTR)
            return gw_fail_errno(why, "%s", path);
        if (n < 0)
            return gw_fail(why, GW_EDATA, "%s: cannot be read: %s", path,
                           strerror(errno));
        if (n == 0)
            break;
        filled += (size_t)n;
        if (filled > most)
            return gw__file_too_long(path, why);
    }
    *bytes = filled;
    return GW_OK;
}

/* ---- the hash ---- */

static uint32_t *find_word(const struct gw__word_table *words, const char *text,
                           size_t bytes)
{
    size_t mask = words->cell_count - 1;
    size_t i = (size_t)gw_hash(text, bytes, 0) & mask;
    for (; words->cells[i] != NO_WORD; i = (i + 1) & mask) {
        const struct gw__word *word = &words->word[words->cells[i]];
        if (word->bytes == bytes && memcmp(word->text, text, bytes) == 0)
            break;
    }
    return &words->cells[i];
}

/* Clears the hash and inserts all words again. */
static bool hash_again(struct gw__word_table *words, size_t cell_count)
{
    uint32_t *cells = malloc(cell_count * sizeof *cells);
    if (!cells)
        return false;
    free(words->cells);
    words->cells = cells;
    words->cell_count = cell_count;
    for (size_t i = 0; i < cell_count; i++)
        cells[i] = NO_WORD;
    for (size_t i = 0; i < words->word_count; i++)
        *find_word(words, words->word[i].text, words->word[i].bytes) =
            (uint32_t)i;
    return true;
}

size_t gw__words_number(const struct gw__word_table *words, const char *text,
                        size_t bytes)
{
    uint32_t number = *find_word(words, text, bytes);
    return number == NO_WORD ? words->word_count : number;
}

/* ---- the stream ---- */

static bool grow_words(struct text_builder *g)
{
    struct gw__word_table *words = g->words;
    if (words->word_count < g->word_capacity)
        return true;
    size_t capacity = g->word_capacity ? 2 * g->word_capacity : CELLS_MIN;
    struct gw__word *moved = realloc(words->word, capacity * sizeof *moved);
    if (!moved)
        return false;
    words->word = moved;
    g->word_capacity = capacity;
    return hash_again(words, 2 * capacity);
}

static bool grow_stream(struct text_builder *g)
{
    struct gw__word_table *words = g->words;
    if (words->length < g->stream_capacity)
        return true;
    size_t capacity = g->stream_capacity ? 2 * g->stream_capacity : CELLS_MIN;
    uint32_t *moved = realloc(words->stream, capacity * sizeof *moved);
    if (!moved)
        return false;
    words->stream = moved;
    g->stream_capacity = capacity;
    return true;
}

static bool add_word(struct text_builder *g, const char *text, size_t bytes)
{
    struct gw__word_table *words = g->words;
    if (words->length >= NO_WORD - 1 || !grow_words(g) || !grow_stream(g))
        return false;
    uint32_t *cell = find_word(words, text, bytes);
    if (*cell == NO_WORD) {
        *cell = (uint32_t)words->word_count;
        words->word[words->word_count++] =
            (struct gw__word){.text = text, .bytes = bytes};
    }
    words->word[*cell].count++;
    words->stream[words->length++] = *cell;
    return true;
}

static bool add_text(struct text_builder *g, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    while (text < end) {
        const char *begin = text;
        while (text < end && (unsigned char)*text > ' ')
            text++;
        if (text > begin && !add_word(g, begin, (size_t)(text - begin)))
            return false;
        text++;
    }
    return true;
}

/* Reads line by line. GW_EDATA: a line has the wrong number of words. */
static enum gw_err add_lines(struct text_builder *g, const char *text,
                             size_t bytes, size_t line_words, const char *path,
                             struct gw_error *why)
{
    const char *end = text + bytes;
    for (size_t line = 1; text < end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = newline ? newline : end;
        size_t before = g->words->length;
        if (*text != '#' && !add_text(g, text, (size_t)(line_end - text)))
            return gw_fail(why, GW_ENOMEM, "%s: more than %zu words", path,
                           g->words->length);
        size_t count = g->words->length - before;
        if (count != 0 && count != line_words)
            return gw_fail(why, GW_EDATA,
                           "%s:%zu: a line must have %zu words, not %zu", path,
                           line, line_words, count);
        text = line_end + 1;
    }
    return GW_OK;
}

/* ---- numbers by frequency ---- */

static int compare_words(const void *a, const void *b)
{
    const struct gw__word *x = *(const struct gw__word *const *)a;
    const struct gw__word *y = *(const struct gw__word *const *)b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    size_t common = x->bytes < y->bytes ? x->bytes : y->bytes;
    int order = memcmp(x->text, y->text, common);
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Keeps words that are frequent enough, in descending order. `sorted` and
 * `number` have room for all words. */
static void renumber(struct gw__word_table *words, uint64_t min_count,
                     struct gw__word **sorted, uint32_t *number,
                     struct gw__word *kept)
{
    size_t all = words->word_count, kept_count = 0, length = 0;
    for (size_t i = 0; i < all; i++)
        sorted[i] = &words->word[i];
    qsort(sorted, all, sizeof *sorted, compare_words);
    for (size_t i = 0; i < all; i++) {
        bool keep = sorted[i]->count >= min_count;
        number[sorted[i] - words->word] = keep ? (uint32_t)i : NO_WORD;
        if (keep)
            kept[kept_count++] = *sorted[i];
    }
    for (size_t i = 0; i < words->length; i++)
        if (number[words->stream[i]] != NO_WORD)
            words->stream[length++] = number[words->stream[i]];
    memcpy(words->word, kept, kept_count * sizeof *kept);
    words->word_count = kept_count;
    words->length = length;
}

static enum gw_err order(struct gw__word_table *words, const char *path,
                         uint64_t min_count, struct gw_error *why)
{
    size_t count = words->word_count;
    struct gw__word **sorted = malloc(count * sizeof *sorted);
    uint32_t *number = malloc(count * sizeof *number);
    struct gw__word *kept = malloc(count * sizeof *kept);
    bool done = sorted && number && kept;
    if (done) {
        renumber(words, min_count, sorted, number, kept);
        done = hash_again(words, words->cell_count);
    }
    free(sorted);
    free(number);
    free(kept);
    if (!done)
        return gw_fail(why, GW_ENOMEM, "%s: %zu words", path, count);
    if (words->word_count < 2)
        return gw_fail(why, GW_EDATA,
                       "%s: %zu of its %zu different words occur at least %llu "
                       "times; at least 2 must",
                       path, words->word_count, count,
                       (unsigned long long)min_count);
    return GW_OK;
}

/* ---- loading ---- */

static enum gw_err load_text(struct gw__word_table *words, int fd,
                             const char *path,
                             const struct gw__words_format *format,
                             struct gw_error *why)
{
    struct text_builder g = {.words = words};
    size_t bytes = 0;
    enum gw_err code = read_text(fd, path, &words->text, &bytes, why);
    if (code)
        return code;
    size_t line_words = format->line_words;
    if (line_words)
        code = add_lines(&g, words->text, bytes, line_words, path, why);
    else if (!add_text(&g, words->text, bytes))
        code = gw_fail(why, GW_ENOMEM, "%s: more than %zu words", path,
                       words->length);
    if (code)
        return code;
    if (words->length == 0)
        return gw_fail(why, GW_EDATA, "%s: the file has no words", path);
    return order(words, path, format->min_count, why);
}

enum gw_err gw__words_load(struct gw__word_table *words, const char *path,
                           const struct gw__words_format *format,
                           struct gw_error *why)
{
    *words = (struct gw__word_table){0};
    int fd;
    enum gw_err code = gw__file_open(path, &fd, why);
    if (code)
        return code;
    code = load_text(words, fd, path, format, why);
    close(fd);
    if (code)
        gw__words_fini(words);
    return code;
}

void gw__words_fini(struct gw__word_table *words)
{
    free(words->text);
    free(words->word);
    free(words->stream);
    free(words->cells);
    *words = (struct gw__word_table){0};
}
