/* SPDX-License-Identifier: MIT
 *
 * Settings of a training on parameter servers: pairs of names and values, and
 * the order made from a run's options.
 */
#include "run/node/settings.h"
#include "run/supervisor/supervisor_options.h"

#include <check.h>
#include <math.h>
#include <string.h>

Suite *suite_settings(void);

START_TEST(pairs_are_read)
{
    struct settings s;
    struct gw_error why;
    ck_assert_msg(!settings_parse("lr",
                                  "rate=0.25, l1=1e-3 updater=adam\n"
                                  "batch=64,epochs=7",
                                  &s, &why),
                  "%s", why.text);
    ck_assert_int_eq(s.task.kind, GW_TASK_LR);
    ck_assert_double_eq((double)s.task.rate, (double)0.25f);
    ck_assert_double_eq((double)s.task.l1, (double)1e-3f);
    ck_assert_int_eq(s.task.updater, GW_PS_ADAM);
    ck_assert_uint_eq(s.task.batch, 64);
    ck_assert_uint_eq(s.task.epochs, 7);
}
END_TEST

START_TEST(what_is_not_set_is_the_models)
{
    struct settings s;
    struct gw_task_config defaults;
    struct gw_error why;
    ck_assert(!gw_task_defaults("mf", &defaults, &why));
    ck_assert(!settings_parse("mf", "rank=5", &s, &why));
    ck_assert_uint_eq(s.task.mf.rank, 5);
    ck_assert_uint_eq(s.task.mf.users, defaults.mf.users);
    ck_assert_double_eq((double)s.task.rate, (double)defaults.rate);
}
END_TEST

START_TEST(a_later_pair_wins)
{
    struct settings s;
    struct gw_error why;
    ck_assert(!settings_parse("drift", "noise=1 rate=1 noise=0.5", &s, &why));
    ck_assert_double_eq(s.task.drift.noise, 0.5);
}
END_TEST

START_TEST(switches_need_no_model)
{
    struct settings s;
    struct gw_error why;
    ck_assert(!settings_parse(NULL,
                              "half=1 no_key_cache=1 top-share=0.1 threads=3 "
                              "ack=primary no-bundle=1 hogwild=1",
                              &s, &why));
    ck_assert(s.worker.half && s.worker.no_key_cache && !s.worker.no_place);
    ck_assert_double_eq((double)s.worker.top_share, (double)0.1f);
    ck_assert_uint_eq(s.server.threads, 3);
    ck_assert(s.server.ack_primary && s.server.hogwild);
    ck_assert(s.worker.no_bundle && s.server.no_bundle);
    ck_assert(!s.server.no_dedupe && !s.server.no_fencing);
}
END_TEST

START_TEST(mistakes_are_reported)
{
    static const struct {
        const char *model, *text, *expected;
    } slips[] = {
        {"lr", "rte=1", "unknown setting \"rte\"; did you mean \"rate\"?"},
        {"lr", "rank=1", "the model lr has no setting rank"},
        {NULL, "rate=1", "rate is a setting of models; name a model first"},
        {"lr", "rate", "a setting must be name=value, not \"rate\""},
        {"lr", "=1", "a setting must be name=value, not \"=1\""},
        {"lr", "rate=", "a setting must be name=value, not \"rate=\""},
        {"lr", "rate=fast", "rate must be a number of at least 0"},
        {"lr", "rate=-1", "rate must be a number of at least 0"},
        {"lr", "rate=nan", "rate must be a number of at least 0"},
        {"lr", "batch=1.5", "batch must be a whole number"},
        {"lr", "batch=-1", "batch must be a whole number"},
        {"mf", "rank=4294967296", "rank must be a whole number"},
        {"lr", "half=yes", "half must be 0 or 1, not \"yes\""},
        {"lr", "ack=none", "ack must be all or primary, not \"none\""},
        {"lr", "updater=callback", "updater must be add, sgd,"},
        {"forest", "", "\"forest\" is not a model"},
    };
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        struct settings s;
        struct gw_error why;
        ck_assert_int_eq(
            settings_parse(slips[i].model, slips[i].text, &s, &why), GW_EINVAL);
        ck_assert_msg(strncmp(why.text, slips[i].expected,
                              strlen(slips[i].expected)) == 0,
                      "%s: %s", slips[i].text, why.text);
    }
}
END_TEST

START_TEST(each_has_a_name_and_help)
{
    unsigned i = 0;
    for (; settings_name(i); i++)
        ck_assert(settings_help(i) && settings_help(i)[0]);
    ck_assert_uint_gt(i, 20);
    ck_assert_ptr_null(settings_help(i));
}
END_TEST

/* ---- the order of work ---- */

static const struct run_options run = {.ranks = 4, .servers = 3};

static struct work_options training(const char *model)
{
    struct work_options work = work_defaults;
    work.kind = WORK_TRAIN;
    work.model = model;
    return work;
}

START_TEST(options_become_settings)
{
    struct work_order order;
    struct gw_error why;
    struct settings s;
    struct work_options work = training("mf");
    work.epochs = 3;
    work.rate = 0.125;
    work.settings = "rate=0.5 rank=4";
    ck_assert_msg(!work_order_make(&run, &work, 1, &order, &why), "%s",
                  why.text);
    ck_assert_uint_eq(order.epochs, 3);
    ck_assert_uint_eq(order.parts, 0); /* as many parts as workers */
    ck_assert_uint_eq(order.workers, 4);
    ck_assert_int_eq(order.mode.kind, GW_PS_BSP);
    ck_assert(!settings_parse(order.model, order.settings, &s, &why));
    ck_assert_uint_eq(s.task.epochs, 3);
    ck_assert_double_eq((double)s.task.rate, (double)0.5f);
    ck_assert_uint_eq(s.task.mf.rank, 4);
}
END_TEST

START_TEST(hogwild_is_refused_where_it_cannot_act)
{
    static const struct {
        const char *model, *mode, *settings, *text; /* NULL: no error */
    } cases[] = {
        {"mf", "asp", "hogwild=1", "hogwild needs 2 to 64 threads, not 1"},
        {"mf", "asp", "hogwild=1 threads=65", "2 to 64 threads, not 65"},
        {"mf", NULL, "hogwild=1 threads=2", "mode asp, not bsp"},
        {"mf", "ssp:3", "hogwild=1 threads=2", "mode asp, not ssp:3"},
        {"drift", "asp", "hogwild=1 threads=2", "drift has no rows"},
        {"cartpole", "asp", "hogwild=1 threads=2", "cartpole has no rows"},
        {"mf", "asp", "hogwild=1 threads=2", NULL}};
    struct gw_ps_mode bsp = {.kind = GW_PS_BSP};
    struct work_order order;
    struct gw_error why;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct work_options work = training(cases[i].model);
        work.mode = cases[i].mode;
        work.settings = cases[i].settings;
        enum gw_err code = work_order_make(&run, &work, 1, &order, &why);
        ck_assert_int_eq(code, cases[i].text ? GW_EINVAL : GW_OK);
        ck_assert(!code || strstr(why.text, cases[i].text));
    }
    ck_assert_int_eq(work_check_mode(&order, &order.mode, &why), GW_OK);
    ck_assert_int_eq(work_check_mode(&order, &bsp, &why), GW_EINVAL);
    struct work_options work = training("mf");
    struct run_options policy = run;
    policy.straggler = "/policy.so";
    work.mode = "asp";
    work.settings = "hogwild=1 threads=2";
    ck_assert_int_eq(work_order_make(&policy, &work, 1, &order, &why),
                     GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "--straggler"));
}
END_TEST

START_TEST(impossible_orders)
{
    struct work_order order;
    struct gw_error why;
    struct work_options work = training("mf");
    work.mode = "kofn:5";
    ck_assert_int_eq(work_order_make(&run, &work, 1, &order, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "kofn:5 needs more parts than the 4 of a batch");
    work.mode = NULL;
    work.parts = 577;
    work.mode = NULL;
    ck_assert_int_eq(work_order_make(&run, &work, 1, &order, &why), GW_EINVAL);
    ck_assert_str_eq(
        why.text,
        "the number of parts of a batch must be from 1 to 576, not 577");
    work = training("lr");
    ck_assert_int_eq(work_order_make(&run, &work, 1, &order, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "train lr: missing operand; name a file");
    work.file = "/there/is/no/such";
    ck_assert_int_eq(work_order_make(&run, &work, 1, &order, &why), GW_EDATA);
    work = training("drift");
    work.file = "rows";
    ck_assert_int_eq(work_order_make(&run, &work, 1, &order, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "drift makes its own data; remove the file");
    work = training("mf");
    work.epochs = 0;
    ck_assert_int_eq(work_order_make(&run, &work, 1, &order, &why), GW_EINVAL);
    work.kind = WORK_OPS;
    ck_assert_int_eq(work_order_make(&run, &work, 1, &order, &why), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "ops are only for rings; parameter servers train a model");
}
END_TEST

Suite *suite_settings(void)
{
    const TTest *const tests[] = {
        pairs_are_read,          what_is_not_set_is_the_models,
        a_later_pair_wins,       switches_need_no_model,
        mistakes_are_reported,   each_has_a_name_and_help,
        options_become_settings, hogwild_is_refused_where_it_cannot_act,
        impossible_orders,
    };
    Suite *suite = suite_create("settings");
    TCase *all = tcase_create("settings");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(all, tests[i]);
    suite_add_tcase(suite, all);
    return suite;
}
