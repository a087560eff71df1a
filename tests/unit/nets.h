/* SPDX-License-Identifier: MIT
 *
 * Networks and layouts for tests, which fail where these cannot be made.
 */
#ifndef NETS_H
#define NETS_H

#include <gradwire/layout.h>

struct gw_network *net_of(const char *text);
/* `count` Megatron blocks of `width`, each dense to 4 width by columns, relu,
 * dense back by rows, and a loss of `width` classes behind them. */
struct gw_network *net_of_blocks(unsigned count, unsigned width);
struct gw_layout *layout_of(const struct gw_network *network,
                            struct gw_layout_options options);

#endif
