/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The placement policy of a run: "count" (the default: equally many slots),
 * "load" (cluster/slot_load.h), or a plug-in (gradwire-plugin(7)) with a weight
 * per slot.
 */
#ifndef RUN_POLICY_H
#define RUN_POLICY_H

#include <gradwire/gradwire.h>

struct policy {
    const char *name; /* "count", "load", or the plug-in's */
    bool by_load;
    struct gw_plugin *plugin;       /* NULL: none */
    double weight[GW_PS_SLOTS_MAX]; /* default: 1 each */
};

/* `weights` is a file of one number per slot, or NULL. GW_EDATA: an error of
 * the plug-in, or of the file, with its line. Nothing is open on failure. */
GW_MUST_CHECK enum gw_err policy_open(const char *placement,
                                      const char *weights, unsigned slots,
                                      struct policy *policy,
                                      struct gw_error *why);
void policy_close(struct policy *policy);

#endif
