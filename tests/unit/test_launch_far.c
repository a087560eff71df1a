/* SPDX-License-Identifier: MIT
 *
 * Ranks of other supervisors: a caller with the token is accepted under its
 * number, within a host and by either kind of address; all others are refused.
 */
#include "common/launch/launch_parts.h"
#include "skip.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *suite_launch_far(void);

static const char *const interfaces[] = {NULL, "127.0.0.1", "::1"};
enum { INTERFACES = sizeof interfaces / sizeof *interfaces };

static struct far_address address;
static struct gw_error why;
static int house, guest, got;
static struct far_callers callers;

/* False: this host has no such address. */
static bool open_house(const char *interface)
{
    return far_listen(interface, &address, &house, &why) == GW_OK;
}

START_TEST(who_has_the_token_is_let_in)
{
    struct ending ending = {.pid = 0};
    unsigned rank;
    if (!open_house(interfaces[_i])) {
        ck_assert_str_eq(interfaces[_i], "::1");
        SKIP("launch_far", "this host has no IPv6");
    }
    ck_assert_msg(!far_connect(&address, 7, &guest, &why), "%s", why.text);
    ck_assert(far_accept(house, &address, &callers, &got, &rank, &ending));
    ck_assert_uint_eq(rank, 7);
    ck_assert_int_eq(ending.pid, getpid());
    ck_assert_str_ne(ending.host, "");
    /* After the greeting come frames. */
    struct frames frames = {.capacity = 0};
    struct frame frame;
    ck_assert(frame_write(guest, FRAME_REPORT, "news", 4));
    ck_assert_int_eq(frames_pull(&frames, got, &why), GW_OK);
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_OK);
    ck_assert_mem_eq(frame.data, "news", 4);
    frames_fini(&frames);
    close(got);
    close(guest);
    close(house);
}
END_TEST

START_TEST(who_has_another_token_is_left)
{
    struct ending ending = {.pid = 0};
    unsigned rank;
    ck_assert(open_house(interfaces[_i]));
    struct far_address wrong = address;
    wrong.token[1] ^= 1;
    ck_assert_int_eq(far_connect(&wrong, 1, &guest, &why), GW_OK);
    ck_assert(!far_accept(house, &address, &callers, &got, &rank, &ending));
    ck_assert_int_eq(ending.pid, 0);
    ck_assert_uint_eq(callers.count, 0);
    close(guest);
    close(house);
}
END_TEST

/* Half-open connections, which send nothing, or only the token. */
START_TEST(who_is_silent_delays_no_other)
{
    enum { SILENT = FAR_CALLERS_MAX + 6 };
    struct ending ending = {.pid = 0};
    int silent[SILENT];
    char byte;
    unsigned rank;
    ck_assert(open_house("127.0.0.1"));
    const struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(address.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    for (unsigned i = 0; i < SILENT; i++) {
        silent[i] = socket(AF_INET, SOCK_STREAM, 0);
        ck_assert_int_eq(
            connect(silent[i], (const struct sockaddr *)&to, sizeof to), 0);
        if (i % 2)
            ck_assert_int_eq(
                write(silent[i], address.token, sizeof address.token),
                sizeof address.token);
    }
    ck_assert(!far_accept(house, &address, &callers, &got, &rank, &ending));
    ck_assert_uint_eq(callers.count, FAR_CALLERS_MAX);
    ck_assert_int_eq(read(silent[0], &byte, 1), 0); /* the first was dropped */
    ck_assert_int_eq(far_connect(&address, 3, &guest, &why), GW_OK);
    ck_assert(far_accept(house, &address, &callers, &got, &rank, &ending));
    ck_assert_uint_eq(rank, 3);
    for (unsigned i = 0; i < SILENT; i++)
        close(silent[i]);
    ck_assert(!far_accept(house, &address, &callers, &got, &rank, &ending));
    ck_assert_uint_eq(callers.count, 0);
    far_leave(&callers);
    close(got);
    close(guest);
    close(house);
}
END_TEST

START_TEST(who_sends_nothing_or_too_little_is_left)
{
    struct ending ending = {.pid = 0};
    struct sockaddr_in to = {.sin_family = AF_INET};
    unsigned rank;
    ck_assert(open_house("127.0.0.1"));
    to.sin_port = htons(address.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t bytes = 0; bytes <= sizeof address.token; bytes += 8) {
        guest = socket(AF_INET, SOCK_STREAM, 0);
        ck_assert_int_eq(connect(guest, (struct sockaddr *)&to, sizeof to), 0);
        if (bytes > 0)
            ck_assert_int_eq(write(guest, address.token, bytes),
                             (ssize_t)bytes);
        ck_assert(!far_accept(house, &address, &callers, &got, &rank, &ending));
        close(guest);
    }
    far_leave(&callers);
    close(house);
}
END_TEST

START_TEST(an_interface_is_an_address)
{
    ck_assert_int_eq(far_listen("eth0", &address, &house, &why), GW_EINVAL);
    ck_assert_str_eq(
        why.text,
        "\"eth0\" is not an address; name the interface by its address");
}
END_TEST

START_TEST(a_house_that_is_gone_is_an_error)
{
    ck_assert(open_house(NULL));
    close(house);
    ck_assert_int_eq(far_connect(&address, 1, &guest, &why), GW_ESYS);
}
END_TEST

Suite *suite_launch_far(void)
{
    Suite *suite = suite_create("launch_far");
    TCase *tc = tcase_create("far");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, who_has_the_token_is_let_in, 0, INTERFACES);
    tcase_add_loop_test(tc, who_has_another_token_is_left, 0, 2);
    tcase_add_test(tc, who_is_silent_delays_no_other);
    tcase_add_test(tc, who_sends_nothing_or_too_little_is_left);
    tcase_add_test(tc, an_interface_is_an_address);
    tcase_add_test(tc, a_house_that_is_gone_is_an_error);
    return suite;
}
