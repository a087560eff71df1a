/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Algorithms from plug-ins: "--algo ./mine.so". Such a one is opened the first
 * time that it is named, before any rank is forked, and stays open; then all
 * who look up algorithms find it by the name that it gives itself.
 */
#ifndef PLAN_PLUGIN_H
#define PLAN_PLUGIN_H

#include <gradwire/plan.h>

/* A word that cannot be an algorithm's name: it has a slash or ends in ".so".
 */
bool plan_names_plugin(const char *algo);

/* The algorithm of the plug-in. GW_EDATA as gw_plugin_open; GW_EINVAL as
 * gw_algo_add. */
GW_MUST_CHECK enum gw_err plan_plugin(const char *path,
                                      const struct gw_algo **algo,
                                      struct gw_error *why);

bool plan_is_of_plugin(const struct gw_algo *algo);

/* The word by which a command finds the algorithm: its name, or the path of the
 * plug-in that it came from. */
const char *plan_algo_word(const struct gw_algo *algo);

/* Proves an algorithm that is of a plug-in; the others are proven by the tests.
 * GW_EPLAN with the sentence of the verdict. */
GW_MUST_CHECK enum gw_err plan_prove(const struct gw_algo *algo,
                                     const struct gw_algo_args *args,
                                     struct gw_error *why);

#endif
