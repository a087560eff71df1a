/* SPDX-License-Identifier: MIT
 *
 * Parsers of numbers and durations within a word (base/words.h), for
 * faults_parse.c and topology_*.c. Functions return false after an error that
 * is recorded in the words' source.
 */
#ifndef GW__SIM_FAULTS_WORDS_H
#define GW__SIM_FAULTS_WORDS_H

#include <base/words.h>

/* Parses the duration in the text from `begin` to `end`, at most a day. */
bool gw__parse_span(struct gw__words *words, size_t begin, size_t end,
                    uint64_t *ns);
/* Parses the digits at *at, a number up to `most`, and advances *at. */
bool gw__parse_number(struct gw__words *words, size_t *at, uint32_t most,
                      const char *what, uint32_t *number);

#endif
