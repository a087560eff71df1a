/* SPDX-License-Identifier: MIT
 *
 * Evaluates word vectors with a file of questions "A B C D": man king woman
 * queen. The answer is the word nearest to B - A + C, except these three words.
 */
#include "embedding.h"

#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4, LINE_BYTES_MAX = 1024 };

static bool answer_is_right(const struct gw_embedding *words,
                            const size_t number[WORDS], float *wanted)
{
    size_t width = words->width, count = 1;
    const float *a = words->vectors + number[0] * width;
    const float *b = words->vectors + number[1] * width;
    const float *c = words->vectors + number[2] * width;
    struct gw_neighbour best;
    for (size_t k = 0; k < width; k++)
        wanted[k] = b[k] - a[k] + c[k];
    gw__embedding_search(words, wanted, number, 3, &best, &count);
    return count == 1 && best.number == number[3];
}

/* Splits the line into words; returns their number. */
static size_t split_words(char *line, char *word[WORDS])
{
    size_t count = 0;
    char *rest = NULL;
    for (char *at = strtok_r(line, " \t\r\n", &rest); at;
         at = strtok_r(NULL, " \t\r\n", &rest)) {
        if (count < WORDS)
            word[count] = at;
        count++;
        for (; *at; at++)
            *at = (char)tolower((unsigned char)*at);
    }
    return count;
}

struct quiz {
    const struct gw_embedding *words;
    const char *path;
    size_t line, questions, right;
    float *wanted;
};

static enum gw_err test_analogy(struct quiz *quiz, char *line,
                                struct gw_error *why)
{
    char *word[WORDS];
    size_t number[WORDS];
    if (line[0] == ':')
        return GW_OK;
    size_t count = split_words(line, word);
    if (count == 0)
        return GW_OK;
    if (count != WORDS)
        return gw_fail(why, GW_EDATA,
                       "%s:%zu: %zu words; a question must have 4", quiz->path,
                       quiz->line, count);
    for (int i = 0; i < WORDS; i++)
        if (gw_words_find(quiz->words->task, word[i], &number[i], NULL))
            return GW_OK;
    quiz->questions++;
    quiz->right += answer_is_right(quiz->words, number, quiz->wanted);
    return GW_OK;
}

static enum gw_err test_all(struct quiz *quiz, FILE *file, struct gw_error *why)
{
    char line[LINE_BYTES_MAX];
    enum gw_err code = GW_OK;
    while (!code && fgets(line, sizeof line, file)) {
        quiz->line++;
        if (strlen(line) == sizeof line - 1)
            code = gw_fail(why, GW_EDATA,
                           "%s:%zu: the line is longer than %d bytes; a "
                           "question must have 4 words",
                           quiz->path, quiz->line, LINE_BYTES_MAX);
        else
            code = test_analogy(quiz, line, why);
    }
    if (!code && ferror(file))
        code = gw_fail(why, GW_EDATA, "%s: cannot be read: %s", quiz->path,
                       strerror(errno));
    return code;
}

enum gw_err gw_embedding_analogies(const struct gw_embedding *words,
                                   const char *path, size_t *total,
                                   size_t *right, struct gw_error *why)
{
    struct quiz quiz = {
        .words = words,
        .path = path,
        .wanted = malloc(words->width * sizeof(float)),
    };
    FILE *file = gw__file_stream(path, why);
    enum gw_err code;
    if (!file)
        code = why ? why->code : GW_EDATA;
    else if (!quiz.wanted)
        code = gw_fail(why, GW_ENOMEM, "%s", path);
    else
        code = test_all(&quiz, file, why);
    if (file)
        fclose(file);
    free(quiz.wanted);
    *total = quiz.questions;
    *right = quiz.right;
    return code;
}
