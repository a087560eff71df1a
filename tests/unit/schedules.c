/* SPDX-License-Identifier: MIT
 *
 * Schedules for tests: see schedules.h.
 */
#include "schedules.h"

#include <check.h>
#include <string.h>

struct gw_schedule *schedule_made(const char *name, unsigned stages,
                                  unsigned micros, unsigned chunks)
{
    struct gw_schedule *schedule;
    struct gw_error why = {0};
    enum gw_err err =
        gw_schedule_make(name, stages, micros, chunks, &schedule, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return schedule;
}

struct gw_schedule *schedule_read(const char *text)
{
    struct gw_schedule *schedule;
    struct gw_error why = {0};
    enum gw_err err =
        gw_schedule_parse(text, strlen(text), "t", &schedule, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return schedule;
}

struct gw_timeline *schedule_simulate(const struct gw_schedule *schedule,
                                      const struct gw_pipe_costs *costs)
{
    struct gw_timeline *timeline;
    struct gw_error why = {0};
    enum gw_err err = gw_pipe_simulate(schedule, costs, &timeline, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return timeline;
}
