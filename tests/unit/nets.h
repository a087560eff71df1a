/* SPDX-License-Identifier: MIT
 *
 * Networks and layouts for tests; a failure to make one fails the test.
 */
#ifndef NETS_H
#define NETS_H

#include <gradwire/layout.h>

struct gw_network *net_of(const char *text);
/* `count` Megatron blocks of `width` and a loss of `width` classes. Each block
 * is dense to 4 width by columns, relu, and dense back by rows. */
struct gw_network *net_of_blocks(unsigned count, unsigned width);
struct gw_layout *layout_of(const struct gw_network *network,
                            struct gw_layout_options options);

#endif
