/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of psnode actors: one row per group of updates, then the measured
 * policy lag of all of them and the one of its formula.
 */
#include "actors.h"
#include "common/command.h"
#include "psnode/psnode.h"
#include "psnode/train/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const struct field fields[] = {
    {.name = "updates", .kind = FIELD_INTEGER},
    {.name = "episodes", .kind = FIELD_INTEGER},
    {.name = "return", .kind = FIELD_REAL, .decimals = 1},
    {.name = "policy_loss", .kind = FIELD_REAL, .decimals = 5},
    {.name = "value_loss", .kind = FIELD_REAL, .decimals = 5},
    {.name = "entropy", .kind = FIELD_REAL, .decimals = 4},
    {.name = "lag_mean", .kind = FIELD_REAL, .decimals = 2},
    {.name = "lag_max", .kind = FIELD_INTEGER},
    {.name = "queued", .kind = FIELD_REAL, .decimals = 2},
    {.name = "dropped", .kind = FIELD_INTEGER},
    {.name = "busy", .kind = FIELD_REAL, .decimals = 3},
    {.name = "seconds", .kind = FIELD_REAL, .decimals = 3},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

enum gw_err actors_begin(const struct actors_spec *spec, struct output **output,
                         struct gw_error *why)
{
    const struct gw_actors_config *config = &spec->config;
    enum gw_err code = output_begin("psnode actors", common.output, fields,
                                    FIELD_COUNT, output, why);
    if (code)
        return code;
    output_spare(*output,
                 "entropy policy_loss value_loss seconds lag_max queued");
    output_note_integer(*output, "actors", config->actors);
    output_note_integer(*output, "queue", config->queue);
    output_note_integer(*output, "batch", config->batch);
    output_note_text(*output, "correction", spec->correction);
    output_note_integer(*output, "seed", (int64_t)common.seed);
    return GW_OK;
}

static void add_totals(struct actors_totals *t,
                       const struct gw_actors_report *r)
{
    t->updates += r->updates;
    t->trajectories += r->trajectories;
    t->dropped += r->dropped;
    t->episodes += r->episodes;
    t->steps += r->steps;
    t->time_ns += r->time_ns;
    t->lag_sum += r->lag_mean * (double)r->trajectories;
    t->queue_sum += r->queue_mean * (double)r->updates;
    t->actors_sum += r->actors_mean * (double)r->updates;
    t->busy_ns += r->busy * (double)r->time_ns;
    t->lag_max = r->lag_max > t->lag_max ? r->lag_max : t->lag_max;
    t->lost = r->lost;
    if (r->episodes)
        t->newest = r->mean_return;
}

void actors_row(struct output *output, const struct gw_actors_report *r,
                struct actors_totals *totals)
{
    add_totals(totals, r);
    if (output)
        output_row(output, (union value[FIELD_COUNT]){
                               {.integer = (int64_t)totals->updates},
                               {.integer = (int64_t)r->episodes},
                               {.real = r->mean_return},
                               {.real = r->policy_loss},
                               {.real = r->value_loss},
                               {.real = r->entropy},
                               {.real = r->lag_mean},
                               {.integer = (int64_t)r->lag_max},
                               {.real = r->queue_mean},
                               {.integer = (int64_t)r->dropped},
                               {.real = r->busy},
                               {.real = (double)totals->time_ns / 1e9}});
}

double actors_lag(const struct actors_totals *t)
{
    return t->lag_sum / (double)t->trajectories;
}

static void put_lag(struct output *o, const struct actors_spec *spec,
                    const struct actors_totals *t)
{
    double updates = (double)t->updates;
    double actors = t->actors_sum / updates, queued = t->queue_sum / updates;
    double lag = (actors + queued) / spec->config.batch;
    train_fact(o, "lag", actors_lag(t), "%.2f updates", actors_lag(t));
    train_fact(o, "lag_formula", lag,
               "%.2f: (actors + mean queue) / batch = (%.*f + %.2f) / %u", lag,
               t->lost ? 2 : 0, actors, queued, spec->config.batch);
    output_note_integer(o, "lag_worst", (int64_t)t->lag_max);
}

void actors_put_totals(struct output *o, const struct actors_spec *spec,
                       const struct actors_totals *t)
{
    double updates = (double)t->updates, seconds = (double)t->time_ns / 1e9;
    double busy = t->busy_ns / 1e9 / seconds;
    char digest[24];
    put_lag(o, spec, t);
    output_note_integer(o, "total_trajectories", (int64_t)t->trajectories);
    output_note_integer(o, "total_dropped", (int64_t)t->dropped);
    output_note_integer(o, "total_episodes", (int64_t)t->episodes);
    output_note_integer(o, "total_steps", (int64_t)t->steps);
    train_fact(o, "updates_per_s", updates / seconds,
               "%.1f in %s time; the learner alone could make %.1f",
               updates / seconds, spec->wire ? "real" : "virtual",
               updates / (t->busy_ns / 1e9));
    train_fact(o, "total_busy", busy, "%.3f of the learner's time", busy);
    train_fact(o, "last_return", t->newest, "%.1f steps, in the last row",
               t->newest);
    snprintf(digest, sizeof digest, "%016" PRIx64, t->digest);
    output_note_text(o, "digest", digest);
}
