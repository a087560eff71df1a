/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * "Did you mean": the nearest valid word by edit distance, if it is near
 * enough: a third of the letters may differ, or the word may be cut short.
 */
#include "common/internal.h"

#include <string.h>

enum { WORD_MAX = 48 };

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* One cell of the table d[i][j]: the distance of a[0..i) to b[0..j). */
static unsigned cell(unsigned d[][WORD_MAX + 1], const char *a, const char *b,
                     size_t i, size_t j)
{
    unsigned replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
    unsigned best = least_of(least_of(d[i - 1][j], d[i][j - 1]) + 1, replace);
    bool swapped =
        i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
    return swapped ? least_of(best, d[i - 2][j - 2] + 1) : best;
}

unsigned edit_distance(const char *a, const char *b)
{
    unsigned d[WORD_MAX + 1][WORD_MAX + 1];
    size_t rows = strnlen(a, WORD_MAX), columns = strnlen(b, WORD_MAX);
    for (size_t i = 0; i <= rows; i++)
        d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= columns; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++)
            d[i][j] = cell(d, a, b, i, j);
    return d[rows][columns];
}

void suggestion_begin(struct suggestion *suggestion, const char *word)
{
    *suggestion = (struct suggestion){.word = word, .rank = 1000};
}

static bool is_similar(const char *word, const char *candidate,
                       unsigned distance)
{
    size_t length = strlen(word);
    if (length >= 2 && strncmp(word, candidate, length) == 0)
        return true;
    return distance <= (length + 2) / 3 && distance < length;
}

/* Of two that are equally near, the one with the same first letter is
 * preferred. */
void suggestion_offer(struct suggestion *suggestion, const char *candidate)
{
    const char *word = suggestion->word;
    unsigned distance = edit_distance(word, candidate);
    unsigned rank = 2 * distance + (*word != *candidate);
    if (rank >= suggestion->rank || !is_similar(word, candidate, distance))
        return;
    suggestion->rank = rank;
    snprintf(suggestion->best, sizeof suggestion->best, "%s", candidate);
}

const char *suggestion_text(const struct suggestion *suggestion, char out[96])
{
    *out = 0;
    if (*suggestion->best)
        snprintf(out, 96, "; did you mean \"%s\"?", suggestion->best);
    return out;
}

bool choice_next(const char **rest, char out[64])
{
    if (!*rest || !**rest)
        return false;
    size_t length = strcspn(*rest, "|");
    snprintf(out, 64, "%.*s", (int)length, *rest);
    *rest += length + ((*rest)[length] == '|');
    return true;
}
