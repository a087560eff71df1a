/* SPDX-License-Identifier: MIT
 *
 * Between faults_words.c and who reads with it (faults_parse.c, topology_*.c):
 * the numbers and durations in the words of a text (base/words.h). Functions
 * return false after an error that stands in the words' source.
 */
#ifndef GW__SIM_FAULTS_WORDS_H
#define GW__SIM_FAULTS_WORDS_H

#include <base/words.h>

/* The duration that stands from `begin` to `end`, at most a day. */
bool gw__parse_span(struct gw__words *words, size_t begin, size_t end,
                    uint64_t *ns);
/* The digits at *at, a number up to `most`; goes on behind them. */
bool gw__parse_number(struct gw__words *words, size_t *at, uint32_t most,
                      const char *what, uint32_t *number);

#endif
