/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode train --compare modes: bsp, ssp:2, asp and kofn:n-1 in turn, with n
 * workers of which the last is s times slower. If an item takes the others t,
 *
 *     bsp       n items in s t          n / (s t)
 *     ssp:S     in the long run as bsp  n / (s t)
 *     kofn:K    K items in t            K / t              K s / n of bsp
 *     asp       each at its own pace    (n - 1 + 1/s) / t  (n s - s + 1) / n
 *
 * which is 1 : 1 : 3 : 3.25 for n = s = 4 and K = 3. A rate is measured between
 * the first and the last status with counted items, so it includes neither
 * start nor end.
 *
 * Loss over time: the newest losses of all workers in each status, averaged
 * over equal intervals of the longest time; one row per interval, one column
 * per mode.
 */
#include "train.h"

#include "common/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODES = 4, ROWS = 12, CURVE_POINTS_MAX = 1 << 14, LANE_NAME_MAX = 24 };
#define COMPUTE_NS UINT64_C(20000000)
#define LIMIT_NS   UINT64_C(8000000000)

struct curve_point {
    double seconds, loss;
    int64_t items;
};

struct lane {
    char mode[16], name[LANE_NAME_MAX], header[LANE_NAME_MAX];
    double theory;
    uint64_t began_ns, limit_ns; /* began: the first item */
    struct curve_point *points;
    unsigned point_count;
    int64_t dropped, staleness;
    double waited;
    char notes[4][32]; /* names of notes, which are not copied */
};

/* ---- following a run ---- */

static bool on_status(void *context, const json_t *status)
{
    struct lane *lane = context;
    const json_t *clock = json_object_get(status, "clocks");
    uint64_t now_ns = gw_now_ns();
    int64_t items = integer_of(clock, "items", 0);
    if (items == 0 || json_is_true(json_object_get(clock, "done")))
        return true;
    if (!lane->began_ns)
        lane->began_ns = now_ns;
    lane->dropped = integer_of(clock, "dropped", 0);
    lane->staleness = train_staleness(status);
    lane->waited = train_waited(status);
    if (lane->point_count < CURVE_POINTS_MAX)
        lane->points[lane->point_count++] = (struct curve_point){
            .seconds = (double)(now_ns - lane->began_ns) / 1e9,
            .loss = real_of(status, "loss"),
            .items = items};
    progress("%s: %lld work items, loss %.6f", lane->mode, (long long)items,
             real_of(status, "loss"));
    return !lane->limit_ns || now_ns - lane->began_ns < lane->limit_ns;
}

/* Items per second; NaN: it ended before it could be measured. */
static double rate_of(const struct lane *lane)
{
    if (lane->point_count < 2)
        return (double)NAN;
    const struct curve_point *first = &lane->points[0];
    const struct curve_point *last = &lane->points[lane->point_count - 1];
    return (double)(last->items - first->items) /
           (last->seconds - first->seconds);
}

static double mean_loss(const struct lane *lane, double from, double to)
{
    double sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < lane->point_count; i++) {
        const struct curve_point *point = &lane->points[i];
        if (point->seconds < from || point->seconds >= to ||
            !isfinite(point->loss))
            continue;
        sum += point->loss;
        count++;
    }
    return count ? sum / count : (double)NAN;
}

/* ---- the modes ---- */

static void name_lane(struct lane *lane, const char *mode, double theory)
{
    snprintf(lane->mode, sizeof lane->mode, "%s", mode);
    snprintf(lane->name, sizeof lane->name, "loss_%s", mode);
    snprintf(lane->header, sizeof lane->header, "%s", mode);
    lane->name[strcspn(lane->name, ":")] = '\0';
    lane->theory = theory;
}

static void name_lanes(struct lane *lanes, double n, double s)
{
    char kofn[16];
    unsigned k = n > 1 ? (unsigned)n - 1 : 1;
    snprintf(kofn, sizeof kofn, "kofn:%u", k);
    name_lane(&lanes[0], "bsp", 1);
    name_lane(&lanes[1], "ssp:2", 1);
    name_lane(&lanes[2], "asp", (n * s - s + 1) / n);
    name_lane(&lanes[3], kofn, k * s / n);
}

static enum gw_err run_lanes(const struct train_compare *compare,
                             struct lane *lanes, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned m = 0; m < MODES && !code; m++) {
        struct train_spec spec = *compare->spec;
        const struct train_observer observer = {.context = &lanes[m],
                                                .status = on_status};
        lanes[m].points = calloc(CURVE_POINTS_MAX, sizeof *lanes[m].points);
        if (!lanes[m].points)
            return gw_fail(why, GW_ENOMEM, "no memory for the curves");
        spec.run.work.mode = lanes[m].mode;
        lanes[m].limit_ns = compare->limit_ns ? compare->limit_ns : LIMIT_NS;
        code = train_run(&spec, &observer, why);
        if (code)
            return gw_wrap(why, code, "%s", lanes[m].mode);
    }
    return code;
}

/* ---- the document ---- */

static enum gw_err begin_table(const struct lane *lanes, struct output **output,
                               struct gw_error *why)
{
    struct field fields[MODES + 1] = {
        {.name = "seconds", .kind = FIELD_REAL, .decimals = 2}};
    for (unsigned m = 0; m < MODES; m++)
        fields[m + 1] = (struct field){.name = lanes[m].name,
                                       .header = lanes[m].header,
                                       .kind = FIELD_REAL,
                                       .decimals = 6};
    return output_begin("psnode train --compare", common.output, fields,
                        MODES + 1, output, why);
}

static void put_rows(struct output *output, const struct lane *lanes)
{
    double longest = 0;
    for (unsigned m = 0; m < MODES; m++)
        for (unsigned i = 0; i < lanes[m].point_count; i++)
            longest = fmax(longest, lanes[m].points[i].seconds);
    for (unsigned row = 0; row < ROWS && longest > 0; row++) {
        union value values[MODES + 1];
        double from = longest * row / ROWS, to = longest * (row + 1) / ROWS;
        values[0].real = to;
        for (unsigned m = 0; m < MODES; m++)
            values[m + 1].real = mean_loss(&lanes[m], from, to);
        output_row(output, values);
    }
}

/* "rate_kofn": with the mode. */
static const char *name_note(struct lane *lane, unsigned i, const char *what)
{
    snprintf(lane->notes[i], sizeof lane->notes[i], "%s_%.*s", what,
             (int)strcspn(lane->mode, ":"), lane->mode);
    return lane->notes[i];
}

static void put_notes(struct output *output, struct lane *lanes)
{
    double bsp = rate_of(&lanes[0]);
    for (unsigned m = 0; m < MODES; m++) {
        struct lane *lane = &lanes[m];
        double rate = rate_of(lane);
        name_note(lane, 0, "rate");
        train_fact(output, lane->notes[0], rate / bsp,
                   "%.2f of bsp, %.2f predicted: %.1f updates per second, "
                   "%lld dropped, staleness %lld, %.0f %% of the time waiting",
                   rate / bsp, lane->theory, rate, (long long)lane->dropped,
                   (long long)lane->staleness, 100 * lane->waited);
        if (train_is_table())
            continue;
        output_note_real(output, name_note(lane, 1, "theory"), lane->theory);
        output_note_real(output, name_note(lane, 2, "updates_per_s"), rate);
        output_note_integer(output, name_note(lane, 3, "dropped"),
                            lane->dropped);
    }
}

int train_compare(const struct train_compare *compare)
{
    struct lane lanes[MODES] = {{.theory = 0}};
    struct gw_error why = {.code = GW_OK};
    struct output *output;
    struct train_delays *delays = &compare->spec->delays;
    unsigned last = compare->spec->run.ranks - 1;
    uint64_t compute_ns =
        compare->compute_ns ? compare->compute_ns : COMPUTE_NS;
    for (unsigned k = 0; k <= last && !delays->is_set; k++)
        delays->ns[k] = compute_ns;
    if (!delays->is_set || compare->compute_ns)
        delays->ns[last] = (uint64_t)((double)compute_ns * compare->times);
    delays->is_set = true;
    name_lanes(lanes, compare->spec->run.ranks, compare->times);
    enum gw_err code = begin_table(lanes, &output, &why);
    if (code)
        return complain(&why);
    output_note_integer(output, "seed", (int64_t)compare->spec->run.seed);
    code = run_lanes(compare, lanes, &why);
    put_rows(output, lanes);
    if (!code)
        put_notes(output, lanes);
    output_end(&output, code ? &why : NULL, code == GW_EINTR);
    for (unsigned m = 0; m < MODES; m++)
        free(lanes[m].points);
    return code ? complain(&why) : 0;
}
