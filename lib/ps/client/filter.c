/* SPDX-License-Identifier: MIT
 *
 * Filters; see filter.h. Rows with a remainder are stored in one array, with an
 * open-addressing index by key. A row stays there even if its remainder becomes
 * zero.
 */
#include "filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FREE UINT32_MAX
enum { LEAST = 64, DIGITS = 2048 };

struct gw__filter {
    uint32_t width;
    float top_share, significant;
    size_t count, room; /* rows */
    uint64_t *keys;     /* by row */
    float *rows;
    uint32_t *table; /* 2 * room entries: row or FREE */
    uint32_t *found; /* rows of the current push */
    size_t found_room;
};

enum gw_err gw__filter_new(uint32_t width, float top_share, float significant,
                           struct gw__filter **made, struct gw_error *why)
{
    struct gw__filter *filter = calloc(1, sizeof *filter);
    *made = filter;
    if (!filter)
        return gw_fail(why, GW_ENOMEM, "a filter");
    filter->width = width;
    filter->top_share = top_share;
    filter->significant = significant;
    return GW_OK;
}

void gw__filter_destroy(struct gw__filter **made)
{
    struct gw__filter *filter = *made;
    if (!filter)
        return;
    *made = NULL;
    free(filter->keys);
    free(filter->rows);
    free(filter->table);
    free(filter->found);
    free(filter);
}

static float *row_at(const struct gw__filter *filter, size_t row)
{
    return filter->rows + row * filter->width;
}

/* ---- finding rows ---- */

static size_t row_bucket(const struct gw__filter *filter, uint64_t key)
{
    size_t mask = 2 * filter->room - 1;
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash ^ hash >> 32) & mask;
    while (filter->table[at] != FREE && filter->keys[filter->table[at]] != key)
        at = (at + 1) & mask;
    return at;
}

static void index_all(struct gw__filter *filter)
{
    memset(filter->table, 0xff, 2 * filter->room * sizeof *filter->table);
    for (size_t row = 0; row < filter->count; row++)
        filter->table[row_bucket(filter, filter->keys[row])] = (uint32_t)row;
}

/* Makes room for `more` rows. */
static bool reserve_rows(struct gw__filter *filter, size_t more)
{
    size_t room = filter->room ? filter->room : LEAST;
    while (room < filter->count + more)
        room *= 2;
    if (room == filter->room)
        return true;
    if (room > UINT32_MAX / 2)
        return false;
    uint32_t *table = malloc(2 * room * sizeof *table);
    uint64_t *keys = realloc(filter->keys, room * sizeof *keys);
    filter->keys = keys ? keys : filter->keys;
    float *rows = realloc(filter->rows, room * filter->width * sizeof *rows);
    filter->rows = rows ? rows : filter->rows;
    if (!table || !keys || !rows) {
        free(table);
        return false;
    }
    free(filter->table);
    filter->table = table;
    filter->room = room;
    index_all(filter);
    return true;
}

static uint32_t find_or_make(struct gw__filter *filter, uint64_t key)
{
    size_t at = row_bucket(filter, key);
    if (filter->table[at] == FREE) {
        uint32_t row = (uint32_t)filter->count++;
        filter->table[at] = row;
        filter->keys[row] = key;
        memset(row_at(filter, row), 0, filter->width * sizeof(float));
    }
    return filter->table[at];
}

/* ---- the threshold ---- */

static uint32_t magnitude(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x7fffffff; /* integers in the same order */
}

/* Counts the values whose higher bits equal `prefix`, by their digit of `bits`
 * bits at `shift`. */
static void count_digits(const struct gw__filter *filter, size_t count,
                         uint32_t prefix, unsigned shift, unsigned bits,
                         size_t digits[DIGITS])
{
    memset(digits, 0, DIGITS * sizeof *digits);
    for (size_t i = 0; i < count; i++) {
        if (filter->found[i] == FREE)
            continue;
        const float *row = row_at(filter, filter->found[i]);
        for (uint32_t c = 0; c < filter->width; c++) {
            uint32_t m = magnitude(row[c]);
            if ((uint64_t)m >> (shift + bits) == prefix)
                digits[m >> shift & ((1U << bits) - 1)]++;
        }
    }
}

/* The magnitude of the `wanted`-th largest value, by radix selection. *ties is
 * the number of values of exactly this magnitude that are among the `wanted`
 * largest. */
static uint32_t threshold(const struct gw__filter *filter, size_t count,
                          size_t wanted, size_t *ties)
{
    static const unsigned shifts[] = {20, 9, 0}, widths[] = {11, 11, 9};
    size_t digits[DIGITS];
    uint32_t prefix = 0;
    for (unsigned pass = 0; pass < 3; pass++) {
        uint32_t digit = (1U << widths[pass]) - 1;
        count_digits(filter, count, prefix, shifts[pass], widths[pass], digits);
        while (digit > 0 && digits[digit] < wanted)
            wanted -= digits[digit--];
        prefix = prefix << widths[pass] | digit;
    }
    *ties = wanted;
    return prefix;
}

/* ---- filtering ---- */

/* A NaN compares above infinity, as in magnitude(): it passes the filter at
 * once, and the worker refuses it. */
static float largest(const float *row, uint32_t width)
{
    uint32_t most = 0;
    float value;
    for (uint32_t c = 0; c < width; c++)
        most = magnitude(row[c]) > most ? magnitude(row[c]) : most;
    memcpy(&value, &most, sizeof value);
    return value;
}

/* Adds the push to the remainders and finds the rows to send. Returns their
 * number. */
static size_t add_push(struct gw__filter *filter, const uint64_t *keys,
                       size_t count, const float *values)
{
    size_t passing = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = find_or_make(filter, keys[i]);
        float *row = row_at(filter, at), most;
        for (uint32_t c = 0; c < filter->width; c++)
            row[c] += values[i * filter->width + c];
        most = largest(row, filter->width);
        bool passes = most != 0 && !(most < filter->significant);
        filter->found[i] = passes ? at : FREE;
        passing += passes;
    }
    return passing;
}

/* Moves the passing values of a row to `out`. Returns true if there are any. */
static bool split(float *row, float *out, uint32_t width, uint32_t least,
                  size_t *ties)
{
    bool any = false;
    for (uint32_t c = 0; c < width; c++) {
        uint32_t m = magnitude(row[c]);
        bool passes = m > least || (m == least && *ties > 0);
        *ties -= m == least && passes;
        out[c] = passes ? row[c] : 0;
        row[c] = passes ? 0 : row[c];
        any = any || (passes && m > 0);
    }
    return any;
}

static bool prepare_filter(struct gw__filter *filter, size_t count)
{
    if (count > filter->found_room) {
        uint32_t *found = realloc(filter->found, count * sizeof *found);
        if (!found)
            return false;
        filter->found = found;
        filter->found_room = count;
    }
    return reserve_rows(filter, count);
}

enum gw_err gw__filter_pass(struct gw__filter *filter, const uint64_t *keys,
                            size_t count, const float *values,
                            uint64_t *out_keys, float *out_values,
                            size_t *out_count, struct gw_error *why)
{
    *out_count = 0;
    if (!prepare_filter(filter, count))
        return gw_fail(why, GW_ENOMEM, "a filter of %zu keys", count);
    size_t all = add_push(filter, keys, count, values) * filter->width;
    size_t ties = all;
    uint32_t least = 0;
    if (filter->top_share > 0 && all > 0) {
        size_t wanted = (size_t)ceil((double)filter->top_share * (double)all);
        least = threshold(filter, count, wanted, &ties);
    }
    for (size_t i = 0; i < count; i++)
        if (filter->found[i] != FREE &&
            split(row_at(filter, filter->found[i]),
                  out_values + *out_count * filter->width, filter->width, least,
                  &ties))
            out_keys[(*out_count)++] = keys[i];
    return GW_OK;
}

void gw__filter_return(struct gw__filter *filter, const uint64_t *keys,
                       size_t count, const float *values)
{
    for (size_t i = 0; i < count; i++) {
        float *row = row_at(filter, find_or_make(filter, keys[i]));
        for (uint32_t c = 0; c < filter->width; c++)
            row[c] += values[i * filter->width + c];
    }
}

/* ---- remainders ---- */

size_t gw__filter_rows(const struct gw__filter *filter)
{
    size_t kept = 0;
    for (size_t row = 0; row < filter->count; row++)
        kept += largest(row_at(filter, row), filter->width) != 0;
    return kept;
}

void gw__filter_drain(struct gw__filter *filter, uint64_t *keys, float *values)
{
    for (size_t row = 0; row < filter->count; row++) {
        if (largest(row_at(filter, row), filter->width) == 0)
            continue;
        *keys++ = filter->keys[row];
        memcpy(values, row_at(filter, row), filter->width * sizeof *values);
        values += filter->width;
    }
    filter->count = 0;
    if (filter->room)
        index_all(filter);
}
