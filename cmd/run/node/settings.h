/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of training on parameter servers: pairs of a name and a value,
 * separated by blanks or commas: "rate=0.1 l1=1e-3, half=1". One table has all
 * of them: the model's numbers (struct gw_task_config), and switches of its
 * workers and servers, most of them experiments (gradwire/ps.h). A later pair
 * wins. "-" and "_" are the same in names. Pure.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <gradwire/train.h>

struct settings {
    struct gw_task_config task;
    struct gw_ps_config worker;
    struct gw_ps_server_config server;
};

/* Of `model` (NULL: none yet; only switches can be set then). GW_EINVAL: an
 * unknown model, an unknown name (with a suggestion), a setting that this model
 * does not have, or an invalid value. */
GW_MUST_CHECK enum gw_err settings_parse(const char *model, const char *text,
                                         struct settings *settings,
                                         struct gw_error *why);

/* With hogwild: GW_EINVAL when its threads are not 2 to 64, so that no two
 * write at once. */
GW_MUST_CHECK enum gw_err
settings_check_hogwild(const struct settings *settings, struct gw_error *why);
/* Where messages of one worker alone would be gathered, or none. */
GW_MUST_CHECK enum gw_err
settings_check_aggregate(const struct settings *settings, unsigned workers,
                         struct gw_error *why);

/* For help: name and description; NULL past the last. */
const char *settings_name(unsigned i);
const char *settings_help(unsigned i);

#endif
