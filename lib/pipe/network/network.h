/* SPDX-License-Identifier: MIT
 *
 * Between the parts that know networks:
 *   network.c        names, parameters, the file, the way back to text
 *   network_words.c  a text's lines and widths
 *   network_image.c  what a text says of images
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

/* Does an add take what operator i yields? */
bool gw__is_added(const struct gw_network *network, unsigned i);
/* Those of its parameters that come last and are added to what it yields. */
size_t gw__operator_biases(const struct gw_operator *op);
/* Its weights as a matrix, inputs x outputs; 0 x 0: it has none. */
void gw__operator_matrix(const struct gw_operator *op, size_t *inputs,
                         size_t *outputs);
/* A tensor of `features` that are all of an image, or so many of its channels.
 */
static inline struct gw_image gw__image_share(struct gw_image image,
                                              unsigned features)
{
    if (image.channels)
        image.channels = features / (image.height * image.width);
    return image;
}
/* What of it a rank has that has so many input and output features. */
struct gw_operator gw__operator_local(const struct gw_operator *op,
                                      unsigned local_in, unsigned local_out);

/* Goes on to the first word of the next line that has one; at the end of the
 * text it is the end of a line. */
bool gw__net_next_line(struct gw__words *words);
/* gw__expected, which tells the end of the text from that of a line, because
 * empty lines are passed over. */
bool gw__net_expected(struct gw__words *words, size_t at, const char *what);
/* A word of numbers between `x`: `least` to `most` of them, such as 3x3; *count
 * is set. Goes on to the next word. */
bool gw__net_sizes(struct gw__words *words, const char *what, unsigned least,
                   unsigned most, unsigned *sizes, unsigned *count);
/* "64" or "3x8x8": an image, and its features. */
bool gw__net_image(struct gw__words *words, struct gw_image *image,
                   unsigned *features);
/* The sizes behind conv and maxpool, and what they and flatten yield; image_in
 * and `in` are set. */
bool gw__net_image_operator(struct gw__words *words, struct gw_operator *op);
/* The digits at *at, a number from 1 to GW_WIDTH_MAX; goes on behind them. */
bool gw__net_width(struct gw__words *words, size_t *at, const char *what,
                   unsigned *width);

#endif
