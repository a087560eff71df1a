/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Option --ranks of the commands that take several numbers: "2,4,8".
 */
#ifndef RANKS_H
#define RANKS_H

#include <gradwire/base.h>

/* Each number once, in the given order. GW_EINVAL when one is below `least` or
 * above 1024, when there are more than `room`, or when it is not a list. */
GW_MUST_CHECK enum gw_err ranks_parse(const char *text, unsigned least,
                                      unsigned *ranks, unsigned room,
                                      unsigned *count, struct gw_error *why);

#endif
