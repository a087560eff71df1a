/* SPDX-License-Identifier: MIT
 *
 * Networks and layouts for tests: see nets.h.
 */
#include "nets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gw_network *net_of(const char *text)
{
    struct gw_network *network;
    struct gw_error why = {0};
    enum gw_err err = gw_network_parse(text, strlen(text), "t", &network, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return network;
}

struct gw_network *net_of_blocks(unsigned count, unsigned width)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *output = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(output);
    fprintf(output, "network blocks\ninput %u\n", width);
    for (unsigned i = 0; i < count; i++)
        fprintf(output, "dense %u columns\nrelu\ndense %u rows\n", 4 * width,
                width);
    fputs("softmax\n", output);
    fclose(output);
    struct gw_network *network = net_of(text);
    free(text);
    return network;
}

struct gw_layout *layout_of(const struct gw_network *network,
                            struct gw_layout_options options)
{
    struct gw_layout *layout;
    struct gw_error why = {0};
    enum gw_err err = gw_layout_new(network, &options, &layout, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return layout;
}
