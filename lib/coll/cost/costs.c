/* SPDX-License-Identifier: MIT
 *
 * The costs of a message, a byte and a meeting on each wire: built-in figures
 * of a small machine, or those that `collrun calibrate` measured, kept as JSON
 * (gradwire-tuning(5)). In addition each calibrated number of ranks has its own
 * coefficients (cost_model.c); others are interpolated. An unreadable file
 * counts as absent, and an invalid figure keeps its built-in value.
 */
#include "calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
     {.model = {4, 0.0002, 0.00005},
      .memory_us_per_byte = 0.00002,
      .cached_us_per_byte = 0.00001,
      .cores = 2}},
    {"tcp",
     {.model = {6.5, 0.0004, 0.00005},
      .memory_us_per_byte = 0.00002,
      .cached_us_per_byte = 0.00001,
      .cores = 2}},
    {"zmq",
     {.model = {46, 0.0004, 0.00005},
      .memory_us_per_byte = 0.00002,
      .cached_us_per_byte = 0.00001,
      .cores = 2}},
    {"verbs", /* of a network of 100 Gbit/s */
     {.model = {3, 0.0001, 0.00005},
      .memory_us_per_byte = 0.00002,
      .cached_us_per_byte = 0.00001,
      .cores = 2}},
};

struct coefficient {
    const char *name;
    size_t offset;
};

static const struct coefficient coefficients[] = {
    {"alpha_us", offsetof(struct gw_wire_costs, model.alpha_us)},
    {"beta_us_per_byte",
     offsetof(struct gw_wire_costs, model.beta_us_per_byte)},
    {"gamma_us_per_byte",
     offsetof(struct gw_wire_costs, model.gamma_us_per_byte)},
    {"sync_us", offsetof(struct gw_wire_costs, sync_us)},
    {"memory_us_per_byte", offsetof(struct gw_wire_costs, memory_us_per_byte)},
    {"cached_us_per_byte", offsetof(struct gw_wire_costs, cached_us_per_byte)},
};
enum { COEFFICIENTS = sizeof coefficients / sizeof *coefficients };

static double *coefficient_of(struct gw_wire_costs *costs, unsigned i)
{
    return (double *)(void *)((char *)costs + coefficients[i].offset);
}

static void read_coefficients(json_t *wire, struct gw_wire_costs *costs)
{
    for (unsigned i = 0; i < COEFFICIENTS; i++) {
        json_t *value = json_object_get(wire, coefficients[i].name);
        double number = json_number_value(value);
        if (json_is_number(value) && isfinite(number) && number >= 0)
            *coefficient_of(costs, i) = number;
    }
}

/* Member "ranks" of a wire: "4": {"turn_us": 13.1, ...}. */
static bool read_fit(json_t *wire, unsigned ranks,
                     double fit[GW_COEFFICIENTS_MAX])
{
    char name[16];
    snprintf(name, sizeof name, "%u", ranks);
    json_t *entry = json_object_get(json_object_get(wire, "ranks"), name);
    memset(fit, 0, GW_COEFFICIENTS_MAX * sizeof *fit);
    for (unsigned i = 0; gw_coefficient_name(i, NULL); i++) {
        json_t *value = json_object_get(entry, gw_coefficient_name(i, NULL));
        double number = json_number_value(value);
        if (json_is_number(value) && isfinite(number) && number >= 0)
            fit[i] = number;
    }
    return json_is_object(entry);
}

/* The closest numbers of ranks with figures below and above `ranks`; 0:
 * none. */
static void find_neighbours(json_t *wire, unsigned ranks, unsigned *below,
                            unsigned *above)
{
    const char *name;
    json_t *entry;
    *below = *above = 0;
    json_object_foreach(json_object_get(wire, "ranks"), name, entry)
    {
        unsigned long n = strtoul(name, NULL, 10);
        if (n < 2 || n > UINT32_MAX || !json_is_object(entry))
            continue;
        if (n <= ranks && n > *below)
            *below = (unsigned)n;
        if (n >= ranks && (!*above || n < *above))
            *above = (unsigned)n;
    }
}

/* Between two numbers of ranks coefficients are interpolated on the logarithm;
 * beyond the last they are constant. */
static void fill_fit(json_t *wire, unsigned ranks, struct gw_wire_costs *costs)
{
    double upper[GW_COEFFICIENTS_MAX];
    unsigned below, above;
    find_neighbours(wire, ranks, &below, &above);
    costs->fitted_ranks = below ? below : above;
    if (!costs->fitted_ranks ||
        !read_fit(wire, costs->fitted_ranks, costs->coefficients) || !below ||
        above <= below || !read_fit(wire, above, upper))
        return;
    double part = log((double)ranks / below) / log((double)above / below);
    for (unsigned i = 0; i < GW_COEFFICIENTS_MAX; i++)
        costs->coefficients[i] += part * (upper[i] - costs->coefficients[i]);
}

void gw__costs_of(json_t *file, const char *wire, unsigned ranks,
                  struct gw_wire_costs *costs, bool *measured)
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
        read_coefficients(entry, costs);
    if (ranks < 2)
        return;
    json_t *builtin = *measured ? NULL : gw__builtin_prices(wire);
    fill_fit(*measured ? entry : builtin, ranks, costs);
    json_decref(builtin);
}

void gw_costs(const char *wire, struct gw_wire_costs *costs, bool *measured)
{
    gw_costs_among(wire, 0, costs, measured);
}

void gw_costs_among(const char *wire, unsigned ranks,
                    struct gw_wire_costs *costs, bool *measured)
{
    json_t *file = gw__calibration_load();
    gw__costs_of(file, wire, ranks, costs, measured);
    json_decref(file);
}

static void store_fit(json_t *wire, const struct gw_wire_costs *costs)
{
    char name[16];
    json_t *entry = json_object();
    snprintf(name, sizeof name, "%u", costs->fitted_ranks);
    for (unsigned i = 0; gw_coefficient_name(i, NULL); i++)
        if (costs->coefficients[i] > 0)
            json_object_set_new(entry, gw_coefficient_name(i, NULL),
                                json_real(costs->coefficients[i]));
    json_object_set_new(gw__calibration_member(wire, "ranks"), name, entry);
}

enum gw_err gw_costs_store(const char *wire, const struct gw_wire_costs *costs,
                           struct gw_error *why)
{
    json_t *file;
    enum gw_err err = gw__calibration_edit(&file, why);
    if (err)
        return err;
    json_t *entry =
        gw__calibration_member(gw__calibration_member(file, "wires"), wire);
    struct gw_wire_costs copy = *costs;
    for (unsigned i = 0; i < COEFFICIENTS; i++)
        json_object_set_new(entry, coefficients[i].name,
                            json_real(*coefficient_of(&copy, i)));
    if (costs->fitted_ranks)
        store_fit(entry, costs);
    return gw__calibration_save(file, why);
}
