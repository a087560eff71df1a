/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of psnode sim: one row per mode, or for each mode one row per
 * worker, staleness, or evaluation of the loss.
 */
#include "sim.h"

#include "common/command.h"

#include <string.h>

enum { FIELDS_MAX = 24 };

/* clang-format off */
static const struct field of_mode[] = {
    {"mode", NULL, FIELD_TEXT, 0, false},
    {"workers", NULL, FIELD_INTEGER, 0, true},
    {"rounds", NULL, FIELD_INTEGER, 0, false},
    {"round_s", "s/round", FIELD_REAL, 4, false},
    {"seconds", NULL, FIELD_REAL, 2, false},
    {"items_per_second", "items/s", FIELD_REAL, 3, false},
    {"items", NULL, FIELD_INTEGER, 0, true},
    {"dropped", NULL, FIELD_INTEGER, 0, false},
    {"updates", NULL, FIELD_INTEGER, 0, true},
    {"stale_mean", "stale", FIELD_REAL, 2, false},
    {"stale_max", NULL, FIELD_INTEGER, 0, true},
    {"ahead_mean", NULL, FIELD_REAL, 3, true},
    {"ahead_max", "ahead max", FIELD_INTEGER, 0, false},
    {"gap_max", NULL, FIELD_INTEGER, 0, true},
    {"waited_share", "waited", FIELD_REAL, 3, false},
    {"waited_least", NULL, FIELD_REAL, 3, true},
    {"waited_most", NULL, FIELD_REAL, 3, true},
    {"modes", "changes", FIELD_INTEGER, 0, true},
    {"last_mode", "last mode", FIELD_TEXT, 0, true},
    {"loss", NULL, FIELD_REAL, 6, true},
    {"seconds_to_target", "s to target", FIELD_REAL, 2, true},
    {"items_to_target", NULL, FIELD_INTEGER, 0, true},
};
static const struct field of_worker[] = {
    {"mode", NULL, FIELD_TEXT, 0, false},
    {"worker", NULL, FIELD_INTEGER, 0, false},
    {"items", NULL, FIELD_INTEGER, 0, false},
    {"applied", NULL, FIELD_INTEGER, 0, false},
    {"dropped", NULL, FIELD_INTEGER, 0, false},
    {"waited_share", "waited", FIELD_REAL, 3, false},
};
static const struct field of_staleness[] = {
    {"mode", NULL, FIELD_TEXT, 0, false},
    {"staleness", NULL, FIELD_INTEGER, 0, false},
    {"items", NULL, FIELD_INTEGER, 0, false},
    {"share", NULL, FIELD_REAL, 4, false},
};
static const struct field of_time[] = {
    {"mode", NULL, FIELD_TEXT, 0, false},
    {"seconds", NULL, FIELD_REAL, 2, false},
    {"items", NULL, FIELD_INTEGER, 0, false},
    {"loss", NULL, FIELD_REAL, 6, false},
};
/* clang-format on */

static const struct {
    const struct field *fields;
    unsigned count;
} tables[] = {
    [SIM_BY_MODE] = {of_mode, sizeof of_mode / sizeof *of_mode},
    [SIM_BY_WORKER] = {of_worker, sizeof of_worker / sizeof *of_worker},
    [SIM_BY_STALENESS] = {of_staleness,
                          sizeof of_staleness / sizeof *of_staleness},
    [SIM_BY_TIME] = {of_time, sizeof of_time / sizeof *of_time},
};

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

enum gw_err sim_rows_begin(enum sim_by by, bool learns, bool policy,
                           struct output **output, struct gw_error *why)
{
    static const char *const learnt[] = {"loss", "seconds_to_target", NULL};
    static const char *const chosen[] = {"modes", "last_mode", NULL};
    static struct field fields[FIELDS_MAX];
    for (unsigned i = 0; i < tables[by].count; i++) {
        fields[i] = tables[by].fields[i];
        if ((learns && is_one_of(fields[i].name, learnt)) ||
            (policy && is_one_of(fields[i].name, chosen)))
            fields[i].hidden = false;
    }
    enum gw_err code = output_begin("psnode sim", common.output, fields,
                                    tables[by].count, output, why);
    if (!code)
        output_spare(*output,
                     "rounds items_per_second ahead_max stale_mean modes "
                     "dropped loss seconds");
    return code;
}

/* ---- rows ---- */

static double per(double sum, double count)
{
    return count > 0 ? sum / count : (double)NAN;
}

static double waited(const struct sim_outcome *o, unsigned worker)
{
    const struct gw__clock_sim_result *r = o->clock_result;
    return per((double)r->workers[worker].waited_ns, (double)r->ended_ns);
}

struct waits {
    double mean, least, most;
};

static struct waits waits_of(const struct sim_outcome *o)
{
    struct waits waits = {.least = 1};
    for (unsigned i = 0; i < o->workers; i++) {
        double share = waited(o, i);
        waits.mean += share / o->workers;
        waits.least = fmin(waits.least, share);
        waits.most = fmax(waits.most, share);
    }
    return waits;
}

/* The first evaluation at the target; NULL: none. */
static const struct sim_point *reach(const struct sim_outcome *o)
{
    for (unsigned i = 0; i < o->point_count; i++)
        if (o->points[i].loss <= o->target)
            return &o->points[i];
    return NULL;
}

static void put_mode(struct output *output, const struct sim_outcome *o)
{
    const struct gw__clock_sim_result *r = o->clock_result;
    const struct sim_point *there = reach(o);
    double seconds = (double)r->ended_ns / 1e9;
    struct waits waits = waits_of(o);
    char last[16];
    gw_ps_mode_print(&r->mode, last, sizeof last);
    output_row(output,
               (union value[]){
                   {.text = o->mode},
                   {.integer = o->workers},
                   {.integer = (int64_t)o->rounds},
                   {.real = seconds / (double)o->rounds},
                   {.real = seconds},
                   {.real = per((double)r->items, seconds)},
                   {.integer = (int64_t)r->items},
                   {.integer = (int64_t)r->dropped},
                   {.integer = (int64_t)r->updates},
                   {.real = per((double)r->stale_sum, (double)r->items)},
                   {.integer = (int64_t)r->stale_max},
                   {.real = per((double)r->ahead_sum, (double)r->grants)},
                   {.integer = (int64_t)r->ahead_max},
                   {.integer = (int64_t)r->gap_max},
                   {.real = waits.mean},
                   {.real = waits.least},
                   {.real = waits.most},
                   {.integer = (int64_t)r->modes},
                   {.text = last},
                   {.real = o->point_count ? o->points[o->point_count - 1].loss
                                           : (double)NAN},
                   {.real = there ? there->seconds : (double)NAN},
                   {.integer = there ? (int64_t)there->items : -1}});
}

static void put_workers(struct output *output, const struct sim_outcome *o)
{
    for (unsigned i = 0; i < o->workers; i++) {
        const struct gw__clock_sim_worker *w = &o->clock_result->workers[i];
        output_row(output, (union value[]){{.text = o->mode},
                                           {.integer = i},
                                           {.integer = (int64_t)w->items},
                                           {.integer = (int64_t)w->applied},
                                           {.integer = (int64_t)w->dropped},
                                           {.real = waited(o, i)}});
    }
}

static void put_staleness(struct output *output, const struct sim_outcome *o)
{
    const struct gw__clock_sim_result *r = o->clock_result;
    for (unsigned i = 0; i <= GW__STALE_MAX; i++)
        if (r->stale[i])
            output_row(output,
                       (union value[]){{.text = o->mode},
                                       {.integer = i},
                                       {.integer = (int64_t)r->stale[i]},
                                       {.real = per((double)r->stale[i],
                                                    (double)r->items)}});
}

static void put_times(struct output *output, const struct sim_outcome *o)
{
    for (unsigned i = 0; i < o->point_count; i++)
        output_row(output,
                   (union value[]){{.text = o->mode},
                                   {.real = o->points[i].seconds},
                                   {.integer = (int64_t)o->points[i].items},
                                   {.real = o->points[i].loss}});
}

void sim_rows_put(struct output *output, enum sim_by by,
                  const struct sim_outcome *outcome)
{
    switch (by) {
    case SIM_BY_MODE:
        put_mode(output, outcome);
        break;
    case SIM_BY_WORKER:
        put_workers(output, outcome);
        break;
    case SIM_BY_STALENESS:
        put_staleness(output, outcome);
        break;
    case SIM_BY_TIME:
        put_times(output, outcome);
        break;
    }
}
