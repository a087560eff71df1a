/* SPDX-License-Identifier: MIT
 *
 * See traffic_run.h.
 */
#include "traffic_run.h"

#include <check.h>
#include <math.h>
#include <string.h>

struct gw_topology *traffic_topology(const char *text)
{
    struct gw_topology *t;
    struct gw_error why = {0};
    enum gw_err err = gw_topology_parse(text, strlen(text), "t", &t, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return t;
}

struct gw_plan *traffic_make(enum gw_collective collective, const char *algo,
                             unsigned ranks, unsigned group)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    struct gw_algo_args args = {.ranks = ranks, .group = group};
    enum gw_err err = gw_plan_make(collective, algo, &args, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return plan;
}

struct gw_plan *traffic_read(const char *text)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err = gw_plan_parse(text, strlen(text), "t", 0, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return plan;
}

/* Elements are bytes, so a count is a size. */
struct gw_topology_result *traffic_simulate(const struct gw_topology *t,
                                            const struct gw_plan *plan,
                                            size_t bytes, double alpha_us,
                                            double gamma_us)
{
    struct gw_topology_result *result;
    struct gw_error why = {0};
    struct gw_topology_run simulation = {.plan = plan,
                                         .count = bytes,
                                         .elem_bytes = 1,
                                         .message_us = alpha_us,
                                         .reduce_us_per_byte = gamma_us};
    enum gw_err err = gw_topology_simulate(t, &simulation, &result, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return result;
}

double traffic_time(const struct gw_topology *t, const struct gw_plan *plan,
                    size_t bytes, double alpha_us, double gamma_us)
{
    struct gw_topology_result *r =
        traffic_simulate(t, plan, bytes, alpha_us, gamma_us);
    double us = r->time_us;
    gw_topology_result_destroy(&r);
    return us;
}

/* Time is kept in picoseconds. */
void traffic_expect(double value, double expected)
{
    ck_assert_msg(fabs(value - expected) <= 1e-5 + 1e-9 * expected,
                  "%.9g us, not %.9g", value, expected);
}
