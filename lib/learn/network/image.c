/* SPDX-License-Identifier: MIT
 *
 * Convolution as a matrix product (Chellapilla, Puri and Simard 2006): a row is
 * expanded into a matrix S with a column for each position of the image and a
 * row for each input channel and filter position; values beyond the edge are 0.
 * With the weights W, inputs x filters, this is
 *
 *     y = W' S      dS = W dy      dW += S dy'
 *
 * and the gradient of the image is gathered from dS in the reverse way.
 */
#include "image.h"

#include "product.h"

#include <math.h>
#include <string.h>

static size_t plane_of(const struct gw_image *image)
{
    return (size_t)image->height * image->width;
}

static size_t size_of(const struct gw_image *image)
{
    return image->channels * plane_of(image);
}

/* The number of rows of S. */
static size_t inputs_of(const struct gw__image_shape *shape)
{
    return shape->in.channels * shape->height * shape->width;
}

size_t gw__conv_scratch(const struct gw__image_shape *shape)
{
    return inputs_of(shape) * plane_of(&shape->in);
}

/* The part of image line y that row `input` of S contains, shifted by this
 * filter position: `count` elements from `image` on are those from `matrix` on.
 */
struct run {
    size_t image, matrix, count;
};

static struct run run_of(const struct gw__image_shape *shape, size_t input,
                         size_t y)
{
    size_t width = shape->in.width, place = input / shape->width;
    size_t down = y + place % shape->height, middle = shape->height / 2;
    size_t right = input % shape->width, half = shape->width / 2;
    size_t moved = right > half ? right - half : half - right;
    struct run run = {.count = 0};
    if (down < middle || down - middle >= shape->in.height || moved >= width)
        return run;
    run.image = (down - middle) * width + (right > half ? moved : 0);
    run.matrix = y * width + (right > half ? 0 : moved);
    run.count = width - moved;
    return run;
}

static void image_to_columns(const struct gw__image_shape *shape,
                             const float *x, float *matrix)
{
    size_t plane = plane_of(&shape->in), inputs = inputs_of(shape);
    memset(matrix, 0, inputs * plane * sizeof *matrix);
    for (size_t i = 0; i < inputs; i++)
        for (size_t y = 0; y < shape->in.height; y++) {
            const float *image = x + i / (shape->height * shape->width) * plane;
            struct run run = run_of(shape, i, y);
            memcpy(matrix + i * plane + run.matrix, image + run.image,
                   run.count * sizeof *matrix);
        }
}

static void columns_to_image(const struct gw__image_shape *shape,
                             const float *matrix, float *dx)
{
    size_t plane = plane_of(&shape->in), inputs = inputs_of(shape);
    memset(dx, 0, size_of(&shape->in) * sizeof *dx);
    for (size_t i = 0; i < inputs; i++)
        for (size_t y = 0; y < shape->in.height; y++) {
            float *image = dx + i / (shape->height * shape->width) * plane;
            struct run run = run_of(shape, i, y);
            for (size_t k = 0; k < run.count; k++)
                image[run.image + k] += matrix[i * plane + run.matrix + k];
        }
}

void gw__conv_forward(const struct gw__image_shape *shape, const float *x,
                      const float *weights, const float *bias, float *scratch,
                      float *y)
{
    size_t plane = plane_of(&shape->out), filters = shape->out.channels;
    for (size_t r = 0; r < shape->rows; r++) {
        image_to_columns(shape, x + r * size_of(&shape->in), scratch);
        float *out = y + r * size_of(&shape->out);
        for (size_t k = 0; bias && k < filters * plane; k++)
            out[k] = bias[k / plane];
        gw__product(&(struct gw__product){.left = weights,
                                          .right = scratch,
                                          .out = out,
                                          .rows = filters,
                                          .inner = inputs_of(shape),
                                          .columns = plane,
                                          .left_turned = true,
                                          .add = bias != NULL});
    }
}

void gw__conv_input(const struct gw__image_shape *shape, const float *dy,
                    const float *weights, float *scratch, float *dx)
{
    for (size_t r = 0; r < shape->rows; r++) {
        gw__product(
            &(struct gw__product){.left = weights,
                                  .right = dy + r * size_of(&shape->out),
                                  .out = scratch,
                                  .rows = inputs_of(shape),
                                  .inner = shape->out.channels,
                                  .columns = plane_of(&shape->out)});
        columns_to_image(shape, scratch, dx + r * size_of(&shape->in));
    }
}

void gw__conv_weight(const struct gw__image_shape *shape, const float *x,
                     const float *dy, float *scratch, float *dweights,
                     float *dbias)
{
    size_t plane = plane_of(&shape->out), filters = shape->out.channels;
    for (size_t r = 0; r < shape->rows; r++) {
        const float *slope = dy + r * size_of(&shape->out);
        image_to_columns(shape, x + r * size_of(&shape->in), scratch);
        gw__product(&(struct gw__product){.left = scratch,
                                          .right = slope,
                                          .out = dweights,
                                          .rows = inputs_of(shape),
                                          .inner = plane,
                                          .columns = filters,
                                          .right_turned = true,
                                          .add = true});
        for (size_t k = 0; k < filters * plane; k++)
            dbias[k / plane] += slope[k];
    }
}

/* The index in x of the largest element of a window, or of its first NaN.
 * `corner` is the index of the window. */
static size_t largest(const struct gw__image_shape *shape, const float *x,
                      size_t corner)
{
    size_t best = corner;
    for (size_t i = 0; i < shape->height; i++)
        for (size_t j = 0; j < shape->width; j++) {
            size_t at = corner + i * shape->in.width + j;
            if (!isnan(x[best]) && !(x[at] <= x[best]))
                best = at;
        }
    return best;
}

/* The index of the window of element k of an output row. */
static size_t corner_of(const struct gw__image_shape *shape, size_t k)
{
    size_t column = k % shape->out.width, line = k / shape->out.width;
    size_t y = line % shape->out.height, channel = line / shape->out.height;
    return channel * plane_of(&shape->in) +
           y * shape->height * shape->in.width + column * shape->width;
}

void gw__maxpool(const struct gw__image_shape *shape, const float *x, float *y)
{
    size_t size = size_of(&shape->out);
    for (size_t r = 0; r < shape->rows; r++, x += size_of(&shape->in))
        for (size_t k = 0; k < size; k++)
            *y++ = x[largest(shape, x, corner_of(shape, k))];
}

void gw__maxpool_back(const struct gw__image_shape *shape, const float *x,
                      const float *dy, float *dx)
{
    size_t size = size_of(&shape->out), in_size = size_of(&shape->in);
    memset(dx, 0, shape->rows * in_size * sizeof *dx);
    for (size_t r = 0; r < shape->rows; r++, x += in_size, dx += in_size)
        for (size_t k = 0; k < size; k++)
            dx[largest(shape, x, corner_of(shape, k))] += *dy++;
}
