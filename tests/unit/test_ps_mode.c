/* SPDX-License-Identifier: MIT
 *
 * Modes and updaters as text: parsed ones are printed again, and an invalid one
 * is refused and changes nothing.
 */
#include <gradwire/ps.h>

#include <check.h>

Suite *suite_ps_mode(void);

START_TEST(modes_are_read_and_printed)
{
    static const struct {
        const char *text;
        struct gw_ps_mode mode;
    } good[] = {
        {"bsp", {.kind = GW_PS_BSP}},
        {"asp", {.kind = GW_PS_ASP}},
        {"ssp:0", {.kind = GW_PS_SSP}},
        {"ssp:2", {.kind = GW_PS_SSP, .bound = 2}},
        {"ssp:65", {.kind = GW_PS_SSP, .bound = 65}},
        {"ssp:1000000", {.kind = GW_PS_SSP, .bound = 1000000}},
        {"kofn:1", {.kind = GW_PS_KOFN, .bound = 1}},
        {"kofn:64", {.kind = GW_PS_KOFN, .bound = 64}},
        {"bsp+drop", {.kind = GW_PS_BSP, .drop = true}},
        {"kofn:3+drop", {.kind = GW_PS_KOFN, .bound = 3, .drop = true}},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct gw_ps_mode mode = {.kind = GW_PS_MODES, .bound = 99};
        char text[32];
        ck_assert_int_eq(gw_ps_mode_parse(good[i].text, &mode, NULL), GW_OK);
        ck_assert_uint_eq(mode.kind, good[i].mode.kind);
        ck_assert_uint_eq(mode.bound, good[i].mode.bound);
        ck_assert_int_eq(mode.drop, good[i].mode.drop);
        ck_assert_ptr_eq(gw_ps_mode_print(&mode, text, sizeof text), text);
        ck_assert_str_eq(text, good[i].text);
    }
}
END_TEST

START_TEST(what_is_no_mode_is_refused)
{
    static const char *const bad[] = {
        "",
        "b",
        "bspx",
        "bsp+",
        "bsp+drop2",
        "ssp+drop:2",
        "+drop",
        "kofn:2+dro",
        "BSP",
        "bsp:",
        "bsp:1",
        "asp:0",
        "ssp",
        "ssp:",
        "ssp:x",
        "ssp:-1",
        "ssp:+1",
        "ssp: 1",
        "ssp:1 ",
        "ssp:1:2",
        "kofn",
        "kofn:0",
        "kofn:65",
        "ssp:1e3",
        "ssp:0x10",
        "ssp:1000001",
        ":",
        "ssp:4294967298",
        "ssp:99999999999999999999999999999999999999999999999999999999999999",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gw_ps_mode mode = {.kind = GW_PS_ASP, .bound = 7};
        struct gw_error why = {.code = GW_OK};
        ck_assert_int_eq(gw_ps_mode_parse(bad[i], &mode, &why), GW_EINVAL);
        ck_assert_int_eq(why.code, GW_EINVAL);
        ck_assert_msg(why.text[0] == '"', "%s", why.text);
        ck_assert_uint_eq(mode.kind, GW_PS_ASP);
        ck_assert_uint_eq(mode.bound, 7);
    }
}
END_TEST

START_TEST(a_mode_is_truncated_to_the_room)
{
    struct gw_ps_mode mode = {.kind = GW_PS_KOFN, .bound = 12};
    char text[6] = "xxxxx";
    ck_assert_str_eq(gw_ps_mode_print(&mode, text, sizeof text), "kofn:");
    ck_assert_str_eq(gw_ps_mode_print(&mode, text, 1), "");
    mode.kind = GW_PS_MODES;
    ck_assert_str_eq(gw_ps_mode_print(&mode, text, sizeof text), "?");
}
END_TEST

START_TEST(each_updater_has_a_name_of_its_own)
{
    for (unsigned i = 0; i < GW_PS_UPDATERS; i++)
        for (unsigned k = 0; k < i; k++)
            ck_assert_str_ne(gw_ps_updater_name((enum gw_ps_updater)i),
                             gw_ps_updater_name((enum gw_ps_updater)k));
    ck_assert_str_eq(gw_ps_updater_name(GW_PS_ADD), "add");
    ck_assert_str_eq(gw_ps_updater_name(GW_PS_FTRL), "ftrl");
    ck_assert_str_eq(gw_ps_updater_name(GW_PS_UPDATERS), "?");
}
END_TEST

Suite *suite_ps_mode(void)
{
    Suite *suite = suite_create("ps_mode");
    TCase *tcase = tcase_create("ps_mode");
    tcase_add_test(tcase, modes_are_read_and_printed);
    tcase_add_test(tcase, what_is_no_mode_is_refused);
    tcase_add_test(tcase, a_mode_is_truncated_to_the_room);
    tcase_add_test(tcase, each_updater_has_a_name_of_its_own);
    suite_add_tcase(suite, tcase);
    return suite;
}
