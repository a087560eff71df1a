/* SPDX-License-Identifier: MIT
 *
 * The cart and pole, and the agent: the first push computed by hand, gradients
 * against slopes, V-trace against its definition as a sum, and n-step returns.
 */
#include <learn/agents/agent.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>

Suite *suite_agent(void);

enum { HIDDEN = 5, UNROLL = 12, FLOATS = (HIDDEN + 1) * GW__AGENT_WIDTH };

static struct gw__agent agent;
static struct gw__step steps[UNROLL];
static struct gw__trajectory trajectory = {.steps = steps};
static float rows[FLOATS];

static void begin(bool corrected)
{
    const struct gw__agent_config config = {.hidden = HIDDEN,
                                            .unroll = UNROLL,
                                            .discount = 0.9,
                                            .value_weight = 0.7,
                                            .entropy_weight = 0.3,
                                            .plain = !corrected};
    struct gw_error why;
    ck_assert_int_eq(gw__agent_init(&agent, &config, &why), GW_OK);
}

static void end(void)
{
    gw__agent_fini(&agent);
}

static void draw(struct gw_rng *rng, double size)
{
    for (size_t i = 0; i < FLOATS; i++)
        rows[i] += (float)(size * (2 * gw_rng_unit(rng) - 1));
}

/* A trajectory of one policy, and the parameters of another, near it. */
static void play(uint64_t seed, double apart)
{
    struct gw_rng rng;
    struct gw__cartpole pole;
    gw_rng_seed(&rng, seed);
    for (size_t i = 0; i < FLOATS; i++)
        rows[i] = 0;
    draw(&rng, 0.8);
    gw__cartpole_begin(&pole, &rng);
    gw__agent_play(&agent, rows, &pole, &rng, UNROLL, &trajectory);
    draw(&rng, apart);
}

static double loss(void)
{
    struct gw__agent_losses losses;
    gw__agent_learn(&agent, rows, &trajectory, NULL, &losses);
    return losses.total;
}

/* Targets and advantages are constant while a parameter moves. */
START_TEST(gradients_are_slopes)
{
    begin(true);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        double gradient[FLOATS] = {0};
        struct gw__agent_losses losses;
        play(seed, 0.2);
        gw__agent_evaluate(&agent, rows, &trajectory);
        gw__agent_learn(&agent, rows, &trajectory, gradient, &losses);
        ck_assert_double_eq_tol(loss(), losses.total, 1e-12);
        for (size_t i = 0; i < FLOATS; i++) {
            float was = rows[i], less = was - 0.001f, more = was + 0.001f;
            rows[i] = more;
            double high = loss();
            rows[i] = less;
            double low = loss();
            rows[i] = was;
            double slope = (high - low) / ((double)more - (double)less);
            ck_assert_msg(fabs(slope - gradient[i]) < 1e-4,
                          "seed %d, parameter %d: gradient %g, slope %g",
                          (int)seed, (int)i, gradient[i], slope);
        }
    }
}
END_TEST

/* Equation 1 of the paper: V(x_s) + sum gamma^(t-s) (prod c_i) delta_t. */
START_TEST(vtrace_is_its_definition)
{
    enum { COUNT = 6 };
    const double values[COUNT + 1] = {0.3, -0.2, 0.9, 0.1, 0.5, 0.4, 0.7};
    const double ratios[COUNT] = {0.5, 2, 0.25, 1, 0.75, 3};
    const struct gw_unrolled v = {.count = COUNT,
                                  .reward = 0.6,
                                  .discount = 0.8,
                                  .values = values,
                                  .ratios = ratios};
    double targets[COUNT], advantages[COUNT];
    gw_vtrace.compute(&v, targets, advantages);
    for (size_t s = 0; s < COUNT; s++) {
        double sum = values[s], weight = 1;
        for (size_t t = s; t < COUNT; t++) {
            double rho = fmin(1, ratios[t]);
            sum += weight * rho *
                   (v.reward + v.discount * values[t + 1] - values[t]);
            weight *= v.discount * rho;
        }
        double next = s + 1 < COUNT ? targets[s + 1] : values[COUNT];
        ck_assert_double_eq_tol(targets[s], sum, 1e-12);
        ck_assert_double_eq_tol(advantages[s],
                                fmin(1, ratios[s]) *
                                    (v.reward + v.discount * next - values[s]),
                                1e-12);
    }
}
END_TEST

/* With the same policy for actor and learner, corrected or not, targets are r +
 * gamma r + ... + gamma^n V; a failure has no value after it. */
START_TEST(without_lag_they_are_returns)
{
    for (int corrected = 0; corrected < 2; corrected++) {
        begin(corrected);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            play(seed, 0);
            trajectory.failed = seed % 2;
            gw__agent_evaluate(&agent, rows, &trajectory);
            size_t count = trajectory.count;
            double wanted = agent.values[count];
            ck_assert(!trajectory.failed || fabs(wanted) < 1e-300);
            while (count-- > 0) {
                wanted = 0.1 + 0.9 * wanted; /* reward 1 - discount */
                ck_assert_double_eq_tol(agent.targets[count], wanted, 1e-12);
                ck_assert_double_eq_tol(agent.advantages[count],
                                        wanted - agent.values[count], 1e-12);
            }
        }
        end();
    }
}
END_TEST

/* An upright pole, and a push to the right of 10 N on 1.1 kg:
 * w' = -(10/1.1) / (0.5 (4/3 - 0.1/1.1)), v' = (10 - 0.05 w') / 1.1. */
START_TEST(the_first_push_is_known)
{
    struct gw__cartpole pole = {0};
    ck_assert(gw__cartpole_push(&pole, true));
    double turned = -(10 / 1.1) / (0.5 * (4.0 / 3 - 0.1 / 1.1));
    ck_assert_double_eq_tol(pole.spin, 0.02 * turned, 1e-12);
    ck_assert_double_eq_tol(pole.v, 0.02 * (10 - 0.05 * turned) / 1.1, 1e-12);
    ck_assert_double_eq_tol(pole.angle, 0, 1e-12);
}
END_TEST

/* Left and right mirror each other, and pushing one way only fails soon. */
START_TEST(it_is_symmetric_and_falls)
{
    struct gw__cartpole left = {0}, right = {0};
    int count = 0;
    bool up = true;
    for (; up && count < 100; count++) {
        up = gw__cartpole_push(&left, false);
        ck_assert(up == gw__cartpole_push(&right, true));
        ck_assert_double_eq_tol(left.angle, -right.angle, 1e-9);
        ck_assert_double_eq_tol(left.x, -right.x, 1e-9);
    }
    ck_assert_int_ge(count, 8);
    ck_assert_int_le(count, 11);
}
END_TEST

Suite *suite_agent(void)
{
    Suite *suite = suite_create("agent");
    TCase *c = tcase_create("agent");
    tcase_add_checked_fixture(c, NULL, end);
    tcase_add_test(c, gradients_are_slopes);
    tcase_add_test(c, vtrace_is_its_definition);
    tcase_add_test(c, without_lag_they_are_returns);
    tcase_add_test(c, the_first_push_is_known);
    tcase_add_test(c, it_is_symmetric_and_falls);
    suite_add_tcase(suite, c);
    return suite;
}
