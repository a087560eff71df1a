/* SPDX-License-Identifier: MIT
 *
 * What a message, a byte and a meeting cost on each wire: built-in figures of
 * a small machine, or those that `collrun calibrate` measured, kept as JSON
 * (gradwire-rules(5)). A file that cannot be read counts as absent; a figure
 * that makes no sense keeps the built-in one.
 */
#include <gradwire/coll.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

struct builtin {
    const char *wire;
    struct gw_wire_costs costs;
};

static const struct builtin builtins[] = {
    {"shm",
     {.model = {0.6, 0.00002, 0.00005},
      .sync_us = 0.6,
      .memory_us_per_byte = 0.00002,
      .cached_us_per_byte = 0.00001,
      .cores = 2}},
    {"ipc",
     {.model = {30, 0.00025, 0.00005},
      .memory_us_per_byte = 0.00002,
      .cached_us_per_byte = 0.00001,
      .cores = 2}},
    {"tcp",
     {.model = {35, 0.0003, 0.00005},
      .memory_us_per_byte = 0.00002,
      .cached_us_per_byte = 0.00001,
      .cores = 2}},
};

struct figure {
    const char *name;
    size_t offset;
};

static const struct figure figures[] = {
    {"alpha_us", offsetof(struct gw_wire_costs, model.alpha_us)},
    {"beta_us_per_byte",
     offsetof(struct gw_wire_costs, model.beta_us_per_byte)},
    {"gamma_us_per_byte",
     offsetof(struct gw_wire_costs, model.gamma_us_per_byte)},
    {"sync_us", offsetof(struct gw_wire_costs, sync_us)},
    {"memory_us_per_byte", offsetof(struct gw_wire_costs, memory_us_per_byte)},
    {"cached_us_per_byte", offsetof(struct gw_wire_costs, cached_us_per_byte)},
};
enum { FIGURES = sizeof figures / sizeof *figures };

static double *figure_of(struct gw_wire_costs *costs, unsigned i)
{
    return (double *)(void *)((char *)costs + figures[i].offset);
}

/* $GRADWIRE_CALIBRATION, $XDG_CACHE_HOME/gradwire/costs.json, ~/.cache/... */
static bool file_path(char path[PATH_BYTES])
{
    const char *named = getenv("GRADWIRE_CALIBRATION");
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n = -1;
    if (named && *named)
        n = snprintf(path, PATH_BYTES, "%s", named);
    else if (cache && *cache)
        n = snprintf(path, PATH_BYTES, "%s/gradwire/costs.json", cache);
    else if (home && *home)
        n = snprintf(path, PATH_BYTES, "%s/.cache/gradwire/costs.json", home);
    return n > 0 && n < PATH_BYTES;
}

static void read_figures(json_t *wire, struct gw_wire_costs *costs)
{
    for (unsigned i = 0; i < FIGURES; i++) {
        json_t *value = json_object_get(wire, figures[i].name);
        double number = json_number_value(value);
        if (json_is_number(value) && isfinite(number) && number >= 0)
            *figure_of(costs, i) = number;
    }
}

void gw_costs(const char *wire, struct gw_wire_costs *costs, bool *measured)
{
    char path[PATH_BYTES];
    *costs = builtins[0].costs;
    for (unsigned i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].wire, wire) == 0)
            *costs = builtins[i].costs;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    costs->cores = cores > 0 ? (double)cores : 1;
    *measured = false;
    if (!file_path(path))
        return;
    json_t *file = json_load_file(path, 0, NULL);
    json_t *entry = json_object_get(json_object_get(file, "wires"), wire);
    if (json_is_object(entry)) {
        read_figures(entry, costs);
        *measured = true;
    }
    json_decref(file);
}

/* Makes the folders that `path` lies in. */
static enum gw_err make_folders(const char *path, struct gw_error *why)
{
    char part[PATH_BYTES];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return gw_fail_errno(why, "%s", part);
        *slash = '/';
    }
    return GW_OK;
}

/* Written beside and renamed, so that a reader sees the old or the new. */
static enum gw_err replace_file(json_t *file, const char *path,
                                struct gw_error *why)
{
    char fresh[PATH_BYTES + 16];
    snprintf(fresh, sizeof fresh, "%s.%d", path, (int)getpid());
    if (json_dump_file(file, fresh, JSON_INDENT(2) | JSON_SORT_KEYS) != 0)
        return gw_fail_errno(why, "writing %s", fresh);
    if (rename(fresh, path) != 0) {
        enum gw_err err = gw_fail_errno(why, "renaming to %s", path);
        unlink(fresh);
        return err;
    }
    return GW_OK;
}

enum gw_err gw_costs_store(const char *wire, const struct gw_wire_costs *costs,
                           struct gw_error *why)
{
    char path[PATH_BYTES];
    if (!file_path(path))
        return gw_fail(
            why, GW_EINVAL,
            "no place for the calibration: set GRADWIRE_CALIBRATION or HOME");
    enum gw_err err = make_folders(path, why);
    if (err)
        return err;
    json_t *file = json_load_file(path, 0, NULL);
    if (!json_is_object(file)) {
        json_decref(file);
        file = json_object();
    }
    json_t *wires = json_object_get(file, "wires");
    if (!json_is_object(wires)) {
        wires = json_object();
        json_object_set_new(file, "wires", wires);
    }
    json_t *entry = json_object();
    struct gw_wire_costs copy = *costs;
    for (unsigned i = 0; i < FIGURES; i++)
        json_object_set_new(entry, figures[i].name,
                            json_real(*figure_of(&copy, i)));
    json_object_set_new(wires, wire, entry);
    err = replace_file(file, path, why);
    json_decref(file);
    return err;
}
