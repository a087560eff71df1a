/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Algorithms from plug-ins: "--algo ./mine.so". A plug-in is opened when it is
 * first named, before any rank is forked, and stays open. Then all look-ups of
 * algorithms find it by its own name.
 */
#ifndef PLAN_PLUGIN_H
#define PLAN_PLUGIN_H

#include <gradwire/plan.h>

/* A word that ends in ".so", or in ".c", for which opening it has advice. */
bool plan_names_plugin(const char *algo);

/* The algorithm of the plug-in. GW_EDATA as gw_plugin_open; GW_EINVAL as
 * gw_algo_add. */
GW_MUST_CHECK enum gw_err plan_plugin(const char *path,
                                      const struct gw_algo **algo,
                                      struct gw_error *why);

/* The path as on the command line; NULL: the algorithm is not of a plug-in. */
const char *plan_plugin_path(const struct gw_algo *algo);

#endif
