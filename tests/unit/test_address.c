/* SPDX-License-Identifier: MIT
 *
 * Host names become addresses, and the addresses of this host are recognised.
 */
#include "wire/address.h"

#include <check.h>
#include <string.h>

Suite *suite_address(void);

START_TEST(interfaces_that_lead_there)
{
    char address[GW__HOST_MAX];
    struct gw_error why;
    ck_assert_int_eq(gw__address_towards("ipc://@x", address, &why), GW_EINVAL);
    ck_assert_int_eq(
        gw__address_towards("tcp://no.such.host.invalid:1", address, &why),
        GW_EUNREACH);
}
END_TEST

static const char *number(const char *endpoint)
{
    static char text[64];
    static struct gw_error why;
    enum gw_err err = gw__address_number(endpoint, text, sizeof text, &why);
    return err ? why.text : text;
}

static const char *listener(const char *endpoint)
{
    static char text[64];
    static struct gw_error why;
    enum gw_err err =
        gw__address_listen(endpoint, NULL, text, sizeof text, &why);
    return err ? why.text : text;
}

START_TEST(names_become_numbers)
{
    char address[GW__HOST_MAX], small[8];
    struct gw_error why;
    ck_assert_str_eq(number("ipc://@name"), "ipc://@name");
    ck_assert_str_eq(number("tcp://192.0.2.7:80"), "tcp://192.0.2.7:80");
    ck_assert_str_eq(number("tcp://[2001:db8::7]:80"),
                     "tcp://[2001:db8::7]:80");
    ck_assert_str_eq(listener("tcp://lo:*"), "tcp://127.0.0.1:*");
    ck_assert_str_eq(listener("tcp://127.0.0.9:7100"), "tcp://127.0.0.9:7100");
    ck_assert_str_eq(listener("ipc://@name"), "ipc://@name");
    ck_assert_int_eq(
        gw__address_number("tcp://192.0.2.7:80", small, sizeof small, &why),
        GW_EINVAL);
    ck_assert_int_eq(
        gw__address_own("localhost", "tcp://127.0.0.1:1", address, &why),
        GW_OK);
    ck_assert_str_eq(address, "127.0.0.1");
    ck_assert(gw__address_is_local("tcp://[::1]:1"));
    ck_assert(gw__address_is_local("tcp://localhost:1"));
    ck_assert(!gw__address_is_local("tcp://192.0.2.7:1"));
}
END_TEST

START_TEST(a_wrong_interface_lists_the_candidates)
{
    static const char *const wrong[] = {"192.0.2.7", "nosuch0", "[2001:db8::7]",
                                        "no.such.host.invalid"};
    char address[GW__HOST_MAX];
    struct gw_error why;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(gw__address_own(wrong[i], NULL, address, &why),
                         GW_EUNREACH);
        ck_assert_ptr_eq(strstr(why.text, wrong[i]), why.text);
        ck_assert_ptr_nonnull(strstr(why.text, "; use one of "));
    }
    ck_assert_ptr_nonnull(strstr(listener("tcp://192.0.2.7:*"), "use one of"));
}
END_TEST

Suite *suite_address(void)
{
    Suite *suite = suite_create("address");
    TCase *tc = tcase_create("address");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, interfaces_that_lead_there);
    tcase_add_test(tc, names_become_numbers);
    tcase_add_test(tc, a_wrong_interface_lists_the_candidates);
    return suite;
}
