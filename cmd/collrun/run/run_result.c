/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ranks' reports on one call, summed, checked and printed: counts with the
 * plan's numbers, and the measurement with the prediction.
 */
#include "run.h"

#include "collrun/bench/sizes.h"
#include "common/command.h"
#include "common/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct field fields[] = {
    {"op", NULL, FIELD_TEXT, 0, false},
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"wire", NULL, FIELD_TEXT, 0, false},
    {"dtype", NULL, FIELD_TEXT, 0, false},
    {"redop", NULL, FIELD_TEXT, 0, false},
    {"ranks", NULL, FIELD_INTEGER, 0, false},
    {"root", NULL, FIELD_INTEGER, 0, false},
    {"bytes", NULL, FIELD_INTEGER, 0, false},
    {"count", NULL, FIELD_INTEGER, 0, false},
    {"rounds", NULL, FIELD_INTEGER, 0, false},
    {"messages", NULL, FIELD_INTEGER, 0, false},
    {"planned_messages", NULL, FIELD_INTEGER, 0, false},
    {"wire_bytes", NULL, FIELD_INTEGER, 0, false},
    {"planned_bytes", NULL, FIELD_INTEGER, 0, false},
    {"time_us", NULL, FIELD_REAL, 2, false},
    {"predicted_us", NULL, FIELD_REAL, 2, false},
    {"bound_us", NULL, FIELD_REAL, 2, false},
    {"wrong", NULL, FIELD_INTEGER, 0, false},
    {"seed", NULL, FIELD_INTEGER, 0, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

void run_result_add(struct run_result *result, unsigned rank,
                    const struct run_report *report)
{
    struct run_report *total = &result->total;
    char text[96];
    pattern_report(report->wrong, report->first_wrong, text);
    if (report->wrong > 0 && total->wrong == 0)
        snprintf(result->first_wrong, sizeof result->first_wrong, "rank %u: %s",
                 rank, text);
    if (*report->miscount && !*total->miscount)
        snprintf(total->miscount, sizeof total->miscount, "%.*s",
                 (int)sizeof report->miscount - 1, report->miscount);
    if (result->values)
        result->values[rank] = report->values;
    total->wrong += report->wrong;
    total->messages += report->messages;
    total->bytes += report->bytes;
    total->planned_messages += report->planned_messages;
    total->planned_bytes += report->planned_bytes;
    if (report->time_ns > total->time_ns)
        total->time_ns = report->time_ns;
}

enum gw_err run_result_check(const struct run_result *result,
                             struct gw_error *why)
{
    if (result->total.wrong > 0)
        return gw_fail(why, GW_EWRONG, "%s", result->first_wrong);
    if (*result->total.miscount)
        return gw_fail(why, GW_EWRONG, "%s", result->total.miscount);
    return GW_OK;
}

enum gw_err run_result_print(const struct run_result *result,
                             const struct run_spec *spec, const char *wire,
                             const struct gw_error *error, struct gw_error *why)
{
    const struct gw_plan *plan = spec->plan;
    const struct pattern *p = &spec->pattern;
    const struct run_report *total = &result->total;
    size_t elem_bytes = gw_dtype_size(p->type);
    struct gw_price price;
    struct gw_wire_costs costs;
    bool measured;
    gw_costs(wire, &costs, &measured);
    if (gw_plan_price(plan, p->count, elem_bytes, &costs.model, &price, why))
        return why->code;
    const union value values[FIELD_COUNT] = {
        {.text = gw_collective_name(p->collective)},
        {.text = *plan->algo ? plan->algo : NULL},
        {.text = wire},
        {.text = gw_dtype_name(p->type)},
        {.text = gw_collective_reduces(p->collective) ? gw_redop_name(p->op)
                                                      : "none"},
        {.integer = plan->ranks},
        {.integer =
             gw_collective_rooted(p->collective) ? (int64_t)p->root : -1},
        {.integer = (int64_t)size_bytes(p->collective, p->ranks, p->count,
                                        elem_bytes)},
        {.integer = (int64_t)p->count},
        {.integer = price.rounds},
        {.integer = (int64_t)total->messages},
        {.integer = (int64_t)total->planned_messages},
        {.integer = (int64_t)total->bytes},
        {.integer = (int64_t)total->planned_bytes},
        {.real =
             spec->is_watched ? (double)NAN : (double)total->time_ns * 1e-3},
        {.real = price.predicted_us},
        {.real = gw_wire_bound_us(wire, p->collective, p->ranks, p->count,
                                  elem_bytes)},
        {.integer = (int64_t)total->wrong},
        {.integer = (int64_t)p->seed},
    };
    return output_record("collrun run", common.output, fields, values,
                         FIELD_COUNT, error, error && error->code == GW_EINTR,
                         why);
}
