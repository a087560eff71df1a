/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library's member machine inside the machine of a simulated node. Its
 * messages, memory and timers are the node's own for the simulator. Its reports
 * go to the node, which plays the application around it.
 */
#ifndef WORLD_INNER_H
#define WORLD_INNER_H

#include "agreed.h"

#include <cluster/member/member.h>

struct inner {
    void *state;                   /* of gw__member_machine; zero at first */
    const struct gw__actions *act; /* of the node's step */
    void *node;
    void (*notification)(void *node,
                         const struct gw__notification *notification);
};

/* The node's START. `config` has its role, incarnation and client; node,
 * endpoint and controllers are filled in. */
void inner_start(struct inner inner, const struct gw__input *start,
                 struct gw__member_config *config, const struct agreed *agreed);
void inner_step(struct inner inner, const struct gw__input *input);

#endif
