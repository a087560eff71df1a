/* SPDX-License-Identifier: MIT
 *
 * See play.h.
 */
#include "play.h"

#include <check.h>

static struct gw_error why;
struct sim_times play_drawn;
struct gw__clock_sim_result play_result;

static uint64_t draw(void *context, unsigned worker, uint64_t now_ns)
{
    (void)context;
    return sim_times_draw(&play_drawn, worker, now_ns);
}

struct gw__clock_sim play_how(unsigned workers, const char *mode,
                              uint64_t rounds)
{
    struct gw__clock_sim r = {.workers = workers,
                              .parts = workers,
                              .rounds = rounds,
                              .compute_ns = draw};
    ck_assert_int_eq(gw_ps_mode_parse(mode, &r.mode, &why), GW_OK);
    return r;
}

void play_times(unsigned workers, const char *law, const char *slow)
{
    ck_assert_int_eq(sim_time_parse(law, &play_drawn.compute, &why), GW_OK);
    ck_assert_int_eq(sim_slow_parse(slow, workers, &play_drawn, &why), GW_OK);
}

void play_run(const struct gw__clock_sim *clock, uint64_t seed)
{
    sim_times_begin(&play_drawn, seed);
    ck_assert_msg(gw__clock_sim_run(clock, &play_result, &why) == GW_OK, "%s",
                  why.text);
}

double play_round_s(const struct gw__clock_sim *r)
{
    return (double)play_result.ended_ns / 1e9 / (double)r->rounds;
}

void play_expect_close(double is, double wanted, double share, const char *what)
{
    ck_assert_msg(fabs(is - wanted) <= share * wanted,
                  "%s: %.5f, and the formula says %.5f", what, is, wanted);
}
