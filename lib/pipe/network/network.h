/* SPDX-License-Identifier: MIT
 *
 * Internals of networks:
 *   network.c        names, parameters, files, printing
 *   network_words.c  lines and widths of the text form
 *   network_image.c  images in the text form
 *   network_parse.c  the parser
 *
 * Input is not trusted: the sizes of the text, of the operators and of their
 * widths are limited, and the first error ends the parsing. Functions return
 * false after an error that is recorded in the words' source (base/words.h).
 */
#ifndef GW__PIPE_NETWORK_H
#define GW__PIPE_NETWORK_H

#include <base/words.h>
#include <gradwire/layout.h>

enum { GW__NETWORK_BYTES_MAX = 1 << 20 };

/* Does an add use the output of operator i? */
bool gw__is_added(const struct gw_network *network, unsigned i);
/* The number of biases: the last parameters, which are added to the output. */
size_t gw__operator_biases(const struct gw_operator *op);
/* Its weights as a matrix, inputs x outputs; 0 x 0: no weights. */
void gw__operator_matrix(const struct gw_operator *op, size_t *inputs,
                         size_t *outputs);
/* The part of an image with `features` features, which are whole channels. */
static inline struct gw_image gw__image_share(struct gw_image image,
                                              unsigned features)
{
    if (image.channels)
        image.channels = features / (image.height * image.width);
    return image;
}
/* The part of an operator on a rank that has this many input and output
 * features. */
struct gw_operator gw__operator_local(const struct gw_operator *op,
                                      unsigned local_in, unsigned local_out);

/* Advances to the first word of the next line that is not empty; without one,
 * to the end of the text, which counts as the end of a line. */
bool gw__net_next_line(struct gw__words *words);
/* Like gw__expected, but distinguishes the end of the text from the end of a
 * line, since empty lines are skipped. */
bool gw__net_expected(struct gw__words *words, size_t at, const char *what);
/* Reads numbers joined by `x`: `least` to `most` of them, such as 3x3; sets
 * *count. Advances to the next word. */
bool gw__net_sizes(struct gw__words *words, const char *what, unsigned least,
                   unsigned most, unsigned *sizes, unsigned *count);
/* Reads "64" or "3x8x8": an image, and its number of features. */
bool gw__net_image(struct gw__words *words, struct gw_image *image,
                   unsigned *features);
/* Reads the sizes of conv and maxpool, and computes their output and that of
 * flatten; image_in and `in` are already set. */
bool gw__net_image_operator(struct gw__words *words, struct gw_operator *op);
/* Reads the digits at *at, a number from 1 to GW_WIDTH_MAX, and
 * advances *at. */
bool gw__net_width(struct gw__words *words, size_t *at, const char *what,
                   unsigned *width);

#endif
