/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * "Did you mean", for any reader of typed words.
 */
#ifndef SUGGEST_H
#define SUGGEST_H

#include <stdbool.h>

/* Optimal string alignment: insert, delete, replace, swap neighbours. */
unsigned edit_distance(const char *a, const char *b);

/* Finds the nearest of the words that it is offered. */
struct suggestion {
    const char *word;
    char best[64]; /* "" while nothing is near enough */
    unsigned rank; /* of the best; less is nearer */
};
void suggestion_begin(struct suggestion *suggestion, const char *word);
void suggestion_offer(struct suggestion *suggestion, const char *candidate);
/* "; did you mean \"ring\"?" or "". */
const char *suggestion_text(const struct suggestion *suggestion, char out[96]);

/* Steps through "shm|ipc|tcp": copies the next word and moves *rest past it;
 * false at the end. */
bool choice_next(const char **rest, char out[64]);

#endif
