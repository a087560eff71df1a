/* SPDX-License-Identifier: MIT
 *
 * Opens plug-ins (gradwire/plugin.h). All faults of a file are reported before
 * any of its functions is called: first the loader's message, then missing
 * parts, in the order in which the author would add them.
 */
#include <gradwire/plugin.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Callers get a pointer to the copy, which is followed by the handle. */
struct opened {
    struct gw_plugin plugin;
    void *handle;
};

static const char *const kind_names[GW_PLUGIN_KINDS] = {
    [GW_PLUGIN_PLAN] = "plan",           [GW_PLUGIN_STRAGGLER] = "straggler",
    [GW_PLUGIN_PLACEMENT] = "placement", [GW_PLUGIN_SUSPICION] = "suspicion",
    [GW_PLUGIN_TARGETS] = "targets",
};

const char *gw_plugin_kind_name(enum gw_plugin_kind kind)
{
    return (unsigned)kind < GW_PLUGIN_KINDS ? kind_names[kind] : "?";
}

/* dlopen searches the library path for a name without a slash. */
static bool path_of(const char *path, char out[4096])
{
    const char *here = strchr(path, '/') ? "" : "./";
    return snprintf(out, 4096, "%s%s", here, path) < 4096;
}

/* The loader's message without the path, which it may begin with. */
static const char *loader_message(const char *path)
{
    const char *text = dlerror();
    size_t length = strlen(path);
    if (!text)
        return "it does not load";
    if (strncmp(text, path, length) == 0 &&
        strncmp(text + length, ": ", 2) == 0)
        return text + length + 2;
    return text;
}

static bool is_source(const char *path)
{
    size_t length = strlen(path);
    return length > 2 && strcmp(path + length - 2, ".c") == 0;
}

/* The loader would wait forever for the writer of a pipe. */
static bool is_regular(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* NULL, and *why, if it cannot be loaded. */
static void *open_library(const char *path, struct gw_error *why)
{
    char where[4096];
    void *handle = NULL;
    if (!path_of(path, where) || access(where, F_OK) != 0)
        gw_fail(why, GW_EDATA, "%.200s: no such file", path);
    else if (!is_regular(where))
        gw_fail(why, GW_EDATA, "%.200s: not a regular file", path);
    else if (is_source(path))
        gw_fail(why, GW_EDATA,
                "%.200s is source; compile it first: cc -shared -fPIC "
                "-I lib/include -o mine.so",
                path);
    else if (!(handle = dlopen(where, RTLD_NOW | RTLD_LOCAL)))
        gw_fail(why, GW_EDATA, "%.200s: %.250s", path, loader_message(where));
    return handle;
}

static enum gw_err check_version(const char *path,
                                 const struct gw_plugin *plugin,
                                 enum gw_plugin_kind kind, struct gw_error *why)
{
    if (plugin->version != GW_PLUGIN_VERSION)
        return gw_fail(why, GW_EDATA,
                       "%.200s is a plug-in of version %u; this is version %d: "
                       "compile it again",
                       path, plugin->version, GW_PLUGIN_VERSION);
    if ((unsigned)plugin->kind >= GW_PLUGIN_KINDS)
        return gw_fail(why, GW_EDATA, "%.200s: plug-ins of kind %u are unknown",
                       path, (unsigned)plugin->kind);
    if (plugin->kind != kind)
        return gw_fail(
            why, GW_EDATA,
            "%.200s is a plug-in of kind %s; a plug-in of kind %s is needed",
            path, gw_plugin_kind_name(plugin->kind), gw_plugin_kind_name(kind));
    if (!plugin->name || !plugin->name[0] || !plugin->summary)
        return gw_fail(why, GW_EDATA, "%.200s: gw_plugin has no %s", path,
                       plugin->summary ? "name" : "summary");
    if (!plugin->any)
        return gw_fail(why, GW_EDATA, "%.200s: gw_plugin.%s is NULL", path,
                       gw_plugin_kind_name(kind));
    return GW_OK;
}

static enum gw_err keep_plugin(const char *path, void *handle,
                               enum gw_plugin_kind kind,
                               struct gw_plugin **plugin, struct gw_error *why)
{
    const struct gw_plugin *theirs = dlsym(handle, "gw_plugin");
    if (!theirs)
        return gw_fail(
            why, GW_EDATA,
            "%.200s does not export gw_plugin (see gradwire-plugin(7))", path);
    if (check_version(path, theirs, kind, why))
        return GW_EDATA;
    struct opened *opened = malloc(sizeof *opened);
    if (!opened)
        return gw_fail(why, GW_ENOMEM, "%.200s", path);
    *opened = (struct opened){.plugin = *theirs, .handle = handle};
    *plugin = &opened->plugin;
    return GW_OK;
}

enum gw_err gw_plugin_open(const char *path, enum gw_plugin_kind kind,
                           struct gw_plugin **plugin, struct gw_error *why)
{
    *plugin = NULL;
    void *handle = open_library(path, why);
    if (!handle)
        return GW_EDATA;
    enum gw_err err = keep_plugin(path, handle, kind, plugin, why);
    if (err)
        dlclose(handle);
    return err;
}

void gw_plugin_close(struct gw_plugin **plugin)
{
    struct opened *opened = (struct opened *)*plugin;
    if (!opened)
        return;
    dlclose(opened->handle);
    free(opened);
    *plugin = NULL;
}
