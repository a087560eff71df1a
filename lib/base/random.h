/* SPDX-License-Identifier: MIT
 *
 * Random numbers of the operating system, for names that must be unique:
 * incarnations, tokens, seeds. Numbers that must repeat in another run come
 * from struct gw_rng.
 */
#ifndef GW__BASE_RANDOM_H
#define GW__BASE_RANDOM_H

#include <gradwire/base.h>

/* GW_ESYS. */
GW_MUST_CHECK enum gw_err gw__draw(void *out, size_t bytes,
                                   struct gw_error *why);

#endif
