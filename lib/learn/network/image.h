/* SPDX-License-Identifier: MIT
 *
 * Operators on images, in the style of tensor.h: a row is an image, channel by
 * channel, and a rank passes its part of the channels or of the rows. A NaN is
 * propagated.
 */
#ifndef GW__IMAGE_H
#define GW__IMAGE_H

#include <gradwire/layout.h>

struct gw__image_shape {
    size_t rows;
    struct gw_image in, out;
    size_t height, width; /* of a filter or a window */
};

/* Floats needed for the expansion of one row. */
size_t gw__conv_scratch(const struct gw__image_shape *shape);
/* Applies each filter to the image with zero padding, and adds one bias per
 * filter; bias NULL: none. weights: input channel x filter height x filter
 * width x filter. */
void gw__conv_forward(const struct gw__image_shape *shape, const float *x,
                      const float *weights, const float *bias, float *scratch,
                      float *y);
void gw__conv_input(const struct gw__image_shape *shape, const float *dy,
                    const float *weights, float *scratch, float *dx);
/* Adds to both gradients. */
void gw__conv_weight(const struct gw__image_shape *shape, const float *x,
                     const float *dy, float *scratch, float *dweights,
                     float *dbias);

void gw__maxpool(const struct gw__image_shape *shape, const float *x, float *y);
/* The gradient of a window goes to its first maximum. */
void gw__maxpool_back(const struct gw__image_shape *shape, const float *x,
                      const float *dy, float *dx);

#endif
