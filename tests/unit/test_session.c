/* SPDX-License-Identifier: MIT
 *
 * Sessions (cluster/session/session.h) without a controller; the suites of
 * rings and servers test them with controllers.
 */
#include <cluster/session/session.h>

#include <check.h>
#include <string.h>

Suite *suite_session(void);

static struct gw__session_config config_of(unsigned node)
{
    return (struct gw__session_config){
        .node = node,
        .role = GW__WORKER,
        .endpoint = "tcp://127.0.0.1:*",
        .security.token = 1,
        .controller_count = 1,
        .controllers = {{63, "ipc://@gw-test-session-nobody"}}};
}

START_TEST(a_config_without_sense_is_refused)
{
    struct gw__session session;
    struct gw__session_config config = config_of(GW__NODES_MAX);
    ck_assert_int_eq(gw__session_init(&session, &config, NULL), GW_EINVAL);
    gw__session_fini(&session);
    config = config_of(1);
    config.controller_count = GW__CLIENT_CONTROLLERS + 1;
    ck_assert_int_eq(gw__session_init(&session, &config, NULL), GW_EINVAL);
    config = config_of(1);
    config.controllers[0].endpoint = NULL;
    ck_assert_int_eq(gw__session_init(&session, &config, NULL), GW_EINVAL);
    config = config_of(1);
    config.endpoint = NULL;
    ck_assert_int_eq(gw__session_init(&session, &config, NULL), GW_EINVAL);
}
END_TEST

/* The registry keeps the endpoint of a process's first registration, under the
 * number drawn; the port must be the same afterwards. */
START_TEST(the_port_is_chosen_once)
{
    struct gw__session session;
    const struct gw__session_config config = config_of(GW__NODE_ANY);
    ck_assert_int_eq(gw__session_init(&session, &config, NULL), GW_OK);
    ck_assert_ptr_null(strchr(session.config.endpoint, '*'));
    gw__session_fini(&session);
}
END_TEST

/* So the registry knows that the earlier one has ended. */
START_TEST(lives_of_a_process_follow_each_other)
{
    enum { LIVES = 3 };
    const uint64_t named = UINT64_C(0x123456789a) << GW__LIFE_BITS;
    struct gw__id id[LIVES], other;
    for (unsigned i = 0; i < LIVES; i++) {
        ck_assert_int_eq(gw__session_next_life(0, &id[i], NULL), GW_OK);
        ck_assert_uint_eq(id[i].low & 1, 1);
        ck_assert_uint_eq(id[i].high >> GW__LIFE_BITS,
                          id[0].high >> GW__LIFE_BITS);
        ck_assert(i == 0 || id[i].high > id[i - 1].high);
    }
    ck_assert_int_eq(gw__session_next_life(named, &other, NULL), GW_OK);
    ck_assert_uint_eq(other.high >> GW__LIFE_BITS, named >> GW__LIFE_BITS);
}
END_TEST

START_TEST(without_an_answer_no_number_is_found)
{
    static const _Atomic bool yes = true;
    struct gw__session session;
    struct gw__session_config config = config_of(GW__NODE_ANY);
    ck_assert_int_eq(gw__session_init(&session, &config, NULL), GW_OK);
    ck_assert_int_eq(gw__session_start(&session, 1, NULL), GW_ETIMEOUT);
    gw__session_fini(&session);
    config.interrupt = &yes;
    ck_assert_int_eq(gw__session_init(&session, &config, NULL), GW_OK);
    ck_assert_int_eq(gw__session_start(&session, 0, NULL), GW_EINTR);
    gw__session_fini(&session);
}
END_TEST

Suite *suite_session(void)
{
    Suite *suite = suite_create("session");
    TCase *tests = tcase_create("session");
    tcase_add_test(tests, a_config_without_sense_is_refused);
    tcase_add_test(tests, the_port_is_chosen_once);
    tcase_add_test(tests, lives_of_a_process_follow_each_other);
    tcase_add_test(tests, without_an_answer_no_number_is_found);
    suite_add_tcase(suite, tests);
    return suite;
}
