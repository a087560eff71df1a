/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The link profiles of a run: one from each node to each other node, workers
 * and controllers alike. They belong to the links, so a restarted process
 * receives them at its start. Pure.
 */
#ifndef SUPERVISOR_LINKS_H
#define SUPERVISOR_LINKS_H

#include "run/node/child_channel.h"

#include <jansson.h>

struct links {
    struct gw_link_profile profiles[GW_RING_NODES]
                                   [GW_RING_NODES]; /* from, to */
    bool passed_by; /* by an aggregator's messages: no profiles possible */
};
extern const char links_passed_by[]; /* why */

/* Sets the fields in the request: delay_us, jitter_us, rate, loss_ppm, down.
 * GW_EINVAL: an invalid value; nothing is changed. */
GW_MUST_CHECK enum gw_err link_change(struct gw_link_profile *link,
                                      const json_t *request,
                                      struct gw_error *why);
json_t *link_json(const struct gw_link_profile *link);

/* Takes down every link between the sides, both ways. */
void links_cut(struct links *links, const struct gw_nodes *left,
               const struct gw_nodes *right);
/* Takes every link up again; returns how many were down. Delays, rates and
 * losses stay. */
unsigned links_heal(struct links *links);
/* The profiles of the links to a node, and the nodes it cannot reach. */
void links_desired_state(const struct links *links, unsigned node,
                         struct desired_state *desired);
/* All profiles that have an effect: [{"from", "to", "delay_us", ...}]. */
json_t *links_json(const struct links *links);

#endif
