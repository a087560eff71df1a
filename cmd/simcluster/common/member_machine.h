/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library's member machine inside the machine of a simulated node. Its
 * messages, memory and timers are the node's own for the simulator. Its reports
 * go to the node, which plays the application around it.
 */
#ifndef SIMCLUSTER_MEMBER_MACHINE_H
#define SIMCLUSTER_MEMBER_MACHINE_H

#include "sim_consensus.h"

#include <cluster/member/member.h>

struct member_machine {
    void *state;                   /* of gw__member_machine; zero at first */
    const struct gw__actions *act; /* of the node's step */
    void *node;
    void (*notification)(void *node,
                         const struct gw__notification *notification);
};

/* The node's START. `config` has its role, incarnation and client; node,
 * endpoint and controllers are filled in. */
void member_machine_start(struct member_machine machine,
                          const struct gw__input *start,
                          struct gw__member_config *config,
                          const struct sim_consensus *consensus);
void member_machine_step(struct member_machine machine,
                         const struct gw__input *input);

#endif
