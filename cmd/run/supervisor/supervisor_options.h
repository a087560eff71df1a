/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a run as JSON (from the command that starts it to the
 * supervisor, and in the verb `train`), and their checks. Pure, except for
 * checking that files exist.
 */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include "run/node/child_channel.h"

#include <jansson.h>

json_t *options_encode(const struct run_options *options);
/* Its texts belong to `json`. GW_EINVAL: a member of a wrong kind, or too long.
 */
GW_MUST_CHECK enum gw_err options_decode(const json_t *json,
                                         struct run_options *options,
                                         struct gw_error *why);
/* GW_EINVAL, with the option and its valid values. */
GW_MUST_CHECK enum gw_err options_check(const struct run_options *options,
                                        struct gw_error *why);

/* Of {"model", "file", "options"}; see struct work_options. */
GW_MUST_CHECK enum gw_err work_options_decode(const json_t *json,
                                              struct work_options *work,
                                              struct gw_error *why);
json_t *work_options_encode(const struct work_options *work);

/* ---- supervisor_order.c ---- */

/* The operands of `train`, for parameter servers: a model and its files.
 * GW_EINVAL: an unknown model, or a wrong number of files. */
GW_MUST_CHECK enum gw_err work_set_operands(int count, char *const *operands,
                                            struct work_options *work,
                                            struct gw_error *why);

/* Makes the order for the members of such a run, its files found. GW_EINVAL: an
 * invalid option; GW_EDATA: a missing file. */
GW_MUST_CHECK enum gw_err work_order_make(const struct run_options *run,
                                          const struct work_options *work,
                                          uint64_t id, struct work_order *order,
                                          struct gw_error *why);
/* Do its workers send through an aggregator? */
bool work_aggregates(const struct work_order *work);
/* May the mode of this work become that one? GW_EINVAL with the reason if not.
 */
GW_MUST_CHECK enum gw_err work_check_mode(const struct work_order *work,
                                          const struct gw_ps_mode *mode,
                                          struct gw_error *why);

#endif
