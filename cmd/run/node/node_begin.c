/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The beginning and the end of any life: repeated tries with the newest orders
 * until one succeeds, and leaving, which the last member cannot.
 */
#include "node.h"

#include <stdlib.h>

/* By then a former process of the same number has been declared dead. */
#define REFUSED_NS UINT64_C(10000000000)
#define AGAIN_NS   UINT64_C(50000000)

/* Other members may not have noticed the predecessor's death yet, may be
 * unreachable now, or may still have other work. */
static bool may_try_again(const struct node_beginning *how, enum gw_err code,
                          uint64_t since_ns)
{
    return code == GW_ETIMEOUT || code == GW_ECLOSED ||
           (code == GW_EMISMATCH && how->waits_for_work) ||
           (code == GW_EINVAL && gw_now_ns() - since_ns < REFUSED_NS);
}

static void copy_desired_state(struct node *node, struct desired_state *desired)
{
    pthread_mutex_lock(&node->lock);
    *desired = node->desired;
    pthread_mutex_unlock(&node->lock);
}

enum gw_err node_begin(struct node *node, const struct node_beginning *how,
                       struct gw_error *why)
{
    uint64_t began_ns = gw_now_ns();
    struct desired_state *desired = malloc(sizeof *desired);
    enum gw_err code = GW_OK;
    if (!desired)
        return gw_fail(why, GW_ENOMEM, "no memory for the orders");
    for (;;) {
        code = how->prepare ? how->prepare(node, why) : GW_OK;
        if (code)
            break;
        copy_desired_state(node, desired);
        code = how->join(how->context, desired, why);
        if (!may_try_again(how, code, began_ns) || node_wants_to_leave(node))
            break;
        node_report_error(node, why);
        node_nap(node, AGAIN_NS);
    }
    free(desired);
    return code;
}

bool desired_state_has_cut(const struct desired_state *desired)
{
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        if (desired->links[n].down)
            return true;
    return false;
}

enum gw_err node_stays(struct node *node, enum gw_err code,
                       const struct gw_error *why)
{
    if (code != GW_EINVAL)
        return code;
    node->stays = true;
    node_report_error(node, why);
    return GW_PENDING;
}
