/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plug-ins that --algo names; see plan_plugin.h and gradwire-plugin(7).
 */
#include "plan_plugin.h"

#include <gradwire/plugin.h>

#include <string.h>

enum { PLUGINS_MAX = 16 };

/* Open until the process ends: forked ranks call into them. */
static struct open_plugin {
    char *path; /* as on the command line */
    struct gw_plugin *plugin;
} opened[PLUGINS_MAX];
static unsigned opened_count;

/* A source file counts, too: gw_plugin_open explains how to compile it. */
bool plan_names_plugin(const char *word)
{
    const char *dot = strrchr(word, '.');
    return dot && (strcmp(dot, ".so") == 0 || strcmp(dot, ".c") == 0);
}

static enum gw_err open_new(const char *path, struct gw_error *why)
{
    struct open_plugin *next = &opened[opened_count];
    if (opened_count == PLUGINS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%.200s: too many plug-ins; use at most %d", path,
                       PLUGINS_MAX);
    enum gw_err err = gw_plugin_open(path, GW_PLUGIN_PLAN, &next->plugin, why);
    if (err)
        return err;
    err = gw_algo_add(next->plugin->plan, why);
    if (err) {
        gw_plugin_close(&next->plugin);
        return gw_wrap(why, err, "%.200s", path);
    }
    next->path = strdup(path);
    if (!next->path)
        return gw_fail(why, GW_ENOMEM, "%.200s", path);
    opened_count++;
    return GW_OK;
}

enum gw_err plan_plugin(const char *path, const struct gw_algo **algo,
                        struct gw_error *why)
{
    unsigned i = 0;
    while (i < opened_count && strcmp(opened[i].path, path) != 0)
        i++;
    if (i == opened_count && open_new(path, why))
        return why->code;
    *algo = opened[i].plugin->plan;
    return GW_OK;
}

const char *plan_plugin_path(const struct gw_algo *algo)
{
    for (unsigned i = 0; i < opened_count; i++)
        if (opened[i].plugin->plan == algo)
            return opened[i].path;
    return NULL;
}
