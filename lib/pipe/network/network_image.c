/* SPDX-License-Identifier: MIT
 *
 * Images in the text form: their sizes and their operators. An image of C
 * channels of H x W has C x H x W features, channel by channel, so that a share
 * of the channels is a share of the features.
 */
#include "network.h"

static bool check_features(struct gw__words *words, size_t at,
                           struct gw_image image, unsigned *features)
{
    uint64_t plane = (uint64_t)image.height * image.width;
    if (plane > GW_WIDTH_MAX || plane * image.channels > GW_WIDTH_MAX)
        return gw__source_fail(&words->source, at,
                               "an image can have at most %d features",
                               GW_WIDTH_MAX);
    *features = (unsigned)plane * image.channels;
    return true;
}

bool gw__net_image(struct gw__words *words, struct gw_image *image,
                   unsigned *features)
{
    unsigned sizes[3], count;
    size_t at = words->word;
    *image = (struct gw_image){0};
    if (!gw__net_sizes(words,
                       "the features of a row, such as 64, or of an image, "
                       "such as 3x8x8",
                       1, 3, sizes, &count))
        return false;
    *features = sizes[0];
    if (count == 1)
        return true;
    if (count == 2)
        return gw__source_fail(
            &words->source, at,
            "an image must be channels x height x width, such as 1x8x8");
    *image = (struct gw_image){sizes[0], sizes[1], sizes[2]};
    return check_features(words, at, *image, features);
}

static bool read_window(struct gw__words *words, struct gw_operator *op)
{
    unsigned sizes[2], count;
    if (!gw__net_sizes(words, "a height and a width, such as 3x3", 2, 2, sizes,
                       &count))
        return false;
    op->kernel_height = sizes[0];
    op->kernel_width = sizes[1];
    return true;
}

static bool read_conv(struct gw__words *words, struct gw_operator *op)
{
    unsigned count;
    size_t at = words->word;
    op->image_out = op->image_in;
    if (!gw__net_sizes(words, "a number of filters, such as 8", 1, 1,
                       &op->image_out.channels, &count) ||
        !check_features(words, at, op->image_out, &op->out))
        return false;
    at = words->word;
    if (!read_window(words, op))
        return false;
    return (op->kernel_height % 2 == 1 && op->kernel_width % 2 == 1) ||
           gw__source_fail(&words->source, at,
                           "the height and width of a filter must be odd");
}

static bool read_maxpool(struct gw__words *words, struct gw_operator *op)
{
    size_t at = words->word;
    if (!read_window(words, op))
        return false;
    const struct gw_image *in = &op->image_in;
    if (in->height % op->kernel_height || in->width % op->kernel_width)
        return gw__source_fail(
            &words->source, at,
            "windows of %ux%u do not divide an image of %ux%u",
            op->kernel_height, op->kernel_width, in->height, in->width);
    op->image_out =
        (struct gw_image){in->channels, in->height / op->kernel_height,
                          in->width / op->kernel_width};
    return check_features(words, at, op->image_out, &op->out);
}

bool gw__net_image_operator(struct gw__words *words, struct gw_operator *op)
{
    switch (op->kind) {
    case GW_OP_CONV:
        return read_conv(words, op);
    case GW_OP_MAXPOOL:
        return read_maxpool(words, op);
    case GW_OP_FLATTEN:
        op->image_out = (struct gw_image){0};
        return true;
    default:
        return true;
    }
}
