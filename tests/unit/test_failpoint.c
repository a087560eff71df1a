/* SPDX-License-Identifier: MIT
 *
 * Failpoints: the syntax of GW_FAIL, and the action when a place is reached.
 * tests/fault/failpoints.c tests that the protocols contain each place.
 */
#include <base/failpoint.h>

#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_failpoint(void);

static void arm(const char *text)
{
    struct gw_error why = {0};
    ck_assert_msg(gw__failpoints_arm(text, &why) == GW_OK, "%s", why.text);
}

START_TEST(nothing_is_on_at_first)
{
    ck_assert(!atomic_load(&gw__failpoints_on));
    ck_assert_int_eq(gw__failpoint_err(GW__AT_RING_CONNECT), GW_OK);
}
END_TEST

START_TEST(every_failpoint_has_a_name_and_a_description)
{
    for (unsigned p = 0; p < GW__FAILPOINTS; p++) {
        const struct gw__failpoint_info *info =
            gw__failpoint_info((enum gw__failpoint)p);
        ck_assert_msg(info->name && info->text, "failpoint %u", p);
        ck_assert_uint_eq(gw__failpoint_find(info->name), p);
        ck_assert_uint_gt(strlen(info->text), 10);
    }
    ck_assert_uint_eq(gw__failpoint_find("ring"), GW__FAILPOINTS);
}
END_TEST

START_TEST(it_fails_at_the_requested_time)
{
    arm("ring.connect=error@2");
    ck_assert_int_eq(gw__failpoint_err(GW__AT_RING_CONNECT), GW_OK);
    ck_assert_int_eq(gw__failpoint_err(GW__AT_PS_LOG), GW_OK);
    ck_assert_int_ne(gw__failpoint_err(GW__AT_RING_CONNECT), GW_OK);
    ck_assert_int_eq(gw__failpoint_err(GW__AT_RING_CONNECT), GW_OK);
    arm("ring.connect=error@2+, ps.log=error");
    for (unsigned i = 1; i <= 4; i++)
        ck_assert_int_eq(gw__failpoint_err(GW__AT_RING_CONNECT) == GW_OK,
                         i < 2);
    ck_assert_int_ne(gw__failpoint_err(GW__AT_PS_LOG), GW_OK);
    arm("");
    ck_assert_int_eq(gw__failpoint_err(GW__AT_RING_CONNECT), GW_OK);
    ck_assert(!atomic_load(&gw__failpoints_on));
}
END_TEST

START_TEST(it_stands_still)
{
    arm("ring.begun=pause:20");
    uint64_t begin_ns = gw_now_ns();
    gw__failpoint(GW__AT_RING_BEGUN);
    ck_assert_uint_ge(gw_now_ns() - begin_ns, 20000000);
}
END_TEST

START_TEST(it_dies)
{
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        arm("ring.begun=kill@3");
        for (unsigned i = 0; i < 3; i++)
            gw__failpoint(GW__AT_RING_BEGUN);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

START_TEST(the_old_names_are_accepted)
{
    static const struct {
        const char *name;
        enum gw__failpoint point;
    } old[] = {{"ring.meet", GW__AT_RING_CONNECT},
               {"ring.met", GW__AT_RING_CONNECTED},
               {"copy.give", GW__AT_COPY_SEND},
               {"copy.piece", GW__AT_COPY_BLOCK},
               {"ps.closing", GW__AT_PS_ROUND_COMMIT}};
    for (unsigned i = 0; i < sizeof old / sizeof *old; i++)
        ck_assert_int_eq(gw__failpoint_find(old[i].name), old[i].point);
    ck_assert_int_eq(gw__failpoint_find("ring.mee"), GW__FAILPOINTS);
}
END_TEST

START_TEST(it_counts)
{
    static _Atomic uint32_t counts[GW__FAILPOINTS];
    gw__failpoint(GW__AT_PS_PUSH);
    gw__failpoints_count(counts);
    gw__failpoint(GW__AT_PS_PUSH);
    gw__failpoint(GW__AT_PS_PUSH);
    gw__failpoints_count(NULL);
    gw__failpoint(GW__AT_PS_PUSH);
    ck_assert_uint_eq(counts[GW__AT_PS_PUSH], 2);
}
END_TEST

START_TEST(what_is_none_is_refused)
{
    static const char *const texts[] = {
        "ring.connect",           "what=kill",
        "ring.connect=",          "ring.connect=kil",
        "ring.connect=kill@",     "ring.connect=kill@0",
        "ring.connect=pause",     "ring.connect=pause:",
        "ring.connect=pause:0",   "ring.connect=kill@2x",
        "ring.begun=error",       "ring.connect=pause:-1",
        "ring.connect=kill@1 x=y"};
    struct gw_error why;
    arm("ring.connect=error");
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_msg(gw__failpoints_arm(texts[i], &why) == GW_EINVAL, "%s",
                      texts[i]);
        ck_assert_ptr_ne(strstr(why.text, "GW_FAIL"), NULL);
    }
    ck_assert_int_ne(gw__failpoint_err(GW__AT_RING_CONNECT), GW_OK); /* still */
}
END_TEST

Suite *suite_failpoint(void)
{
    Suite *suite = suite_create("failpoint");
    TCase *tcase = tcase_create("failpoint");
    tcase_add_test(tcase, nothing_is_on_at_first);
    tcase_add_test(tcase, every_failpoint_has_a_name_and_a_description);
    tcase_add_test(tcase, it_fails_at_the_requested_time);
    tcase_add_test(tcase, it_stands_still);
    tcase_add_test(tcase, it_dies);
    tcase_add_test(tcase, the_old_names_are_accepted);
    tcase_add_test(tcase, it_counts);
    tcase_add_test(tcase, what_is_none_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
