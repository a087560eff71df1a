/* SPDX-License-Identifier: MIT
 *
 * Random numbers of the operating system, for names that nobody else may have:
 * incarnations, tokens, seeds. What has to be the same again in another run is
 * drawn by struct gw_rng.
 */
#ifndef GW__BASE_RANDOM_H
#define GW__BASE_RANDOM_H

#include <gradwire/base.h>

/* GW_ESYS. */
GW_MUST_CHECK enum gw_err gw__draw(void *out, size_t bytes,
                                   struct gw_error *why);

#endif
