/* SPDX-License-Identifier: MIT
 *
 * Between the parts that know networks:
 *   network.c        names, parameters, the file, the way back to text
 *   network_words.c  a text's lines and widths
 *   network_parse.c  the text form, in
 *
 * What is read is not trusted: the text, the operators and their widths are
 * bounded, and the first error ends it all. Functions return false after an
 * error that stands in the words' source (base/words.h).
 */
#ifndef GW__PIPE_NETWORK_H
#define GW__PIPE_NETWORK_H

#include <base/words.h>
#include <gradwire/layout.h>

enum { GW__NETWORK_BYTES_MAX = 1 << 20 };

/* Those of its parameters that come last and are added to what it yields. */
size_t gw__operator_biases(const struct gw_operator *op);

/* Goes on to the first word of the next line that has one; at the end of the
 * text it is the end of a line. */
bool gw__net_next_line(struct gw__words *words);
/* gw__expected, which tells the end of the text from that of a line, because
 * empty lines are passed over. */
bool gw__net_expected(struct gw__words *words, size_t at, const char *what);
/* The digits at *at, a number from 1 to GW_WIDTH_MAX; goes on behind them. */
bool gw__net_width(struct gw__words *words, size_t *at, const char *what,
                   unsigned *width);

#endif
