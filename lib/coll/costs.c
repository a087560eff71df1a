/* SPDX-License-Identifier: MIT
 *
 * What a message, a byte and a meeting cost on each wire: built-in figures of
 * a small machine, or those that `collrun calibrate` measured, kept as JSON
 * (gradwire-rules(5)). A file that cannot be read counts as absent; a figure
 * that makes no sense keeps the built-in one.
 */
#include "coll/calibration.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

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

static void read_figures(json_t *wire, struct gw_wire_costs *costs)
{
    for (unsigned i = 0; i < FIGURES; i++) {
        json_t *value = json_object_get(wire, figures[i].name);
        double number = json_number_value(value);
        if (json_is_number(value) && isfinite(number) && number >= 0)
            *figure_of(costs, i) = number;
    }
}

void gw__costs_of(json_t *file, const char *wire, struct gw_wire_costs *costs,
                  bool *measured)
{
    *costs = builtins[0].costs;
    for (unsigned i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].wire, wire) == 0)
            *costs = builtins[i].costs;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    costs->cores = cores > 0 ? (double)cores : 1;
    json_t *entry = json_object_get(json_object_get(file, "wires"), wire);
    *measured = json_is_object(entry);
    if (*measured)
        read_figures(entry, costs);
}

void gw_costs(const char *wire, struct gw_wire_costs *costs, bool *measured)
{
    json_t *file = gw__calibration_load();
    gw__costs_of(file, wire, costs, measured);
    json_decref(file);
}

enum gw_err gw_costs_store(const char *wire, const struct gw_wire_costs *costs,
                           struct gw_error *why)
{
    json_t *file;
    enum gw_err err = gw__calibration_edit(&file, why);
    if (err)
        return err;
    json_t *entry = json_object();
    struct gw_wire_costs copy = *costs;
    for (unsigned i = 0; i < FIGURES; i++)
        json_object_set_new(entry, figures[i].name,
                            json_real(*figure_of(&copy, i)));
    json_object_set_new(gw__calibration_member(file, "wires"), wire, entry);
    return gw__calibration_save(file, why);
}
