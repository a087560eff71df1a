/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The policy of placement that a run was given: "count" (the default: equally
 * many slots), "load" (cluster/slot_load.h), or a plug-in (gradwire-plugin(7))
 * with what each slot weighs.
 */
#ifndef RUN_POLICY_H
#define RUN_POLICY_H

#include <gradwire/gradwire.h>

struct policy {
    const char *name; /* "count", "load", or the plug-in's */
    bool by_load;
    struct gw_plugin *plugin;       /* NULL: there is none */
    double weight[GW_PS_SLOTS_MAX]; /* 1 each, if nothing else is said */
};

/* `weights` is a file of one number a slot, or NULL. GW_EDATA: of the plug-in
 * or the file, with its line. Nothing is open on failure. */
GW_MUST_CHECK enum gw_err policy_open(const char *placement,
                                      const char *weights, unsigned slots,
                                      struct policy *policy,
                                      struct gw_error *why);
void policy_close(struct policy *policy);

#endif
