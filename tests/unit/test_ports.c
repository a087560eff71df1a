/* SPDX-License-Identifier: MIT
 *
 * Reserved ports: the intended process can listen there, no other process gets
 * them, and afterwards they are free again.
 */
#include "common/ports.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *suite_ports(void);

/* The error of binding there, 0 for none; the socket then listens in *fd. */
static int bind_address(const char *address, bool reuse, int *fd)
{
    unsigned port;
    const int on = reuse;
    ck_assert_int_eq(sscanf(address, "127.0.0.1:%u", &port), 1);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(*fd, 0);
    ck_assert_int_eq(setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on),
                     0);
    if (bind(*fd, (struct sockaddr *)&to, sizeof to) == 0 &&
        listen(*fd, 1) == 0)
        return 0;
    int error = errno;
    close(*fd);
    return error;
}

START_TEST(held_ports_are_for_those_who_know_them)
{
    struct ports ports;
    struct gw_error why;
    char raft[PORTS_MAX][32];
    int fd;
    ck_assert_int_eq(ports_hold(&ports, raft, PORTS_MAX, &why), GW_OK);
    for (unsigned i = 0; i < PORTS_MAX; i++) {
        for (unsigned other = 0; other < i; other++)
            ck_assert_str_ne(raft[i], raft[other]);
        ck_assert_int_eq(bind_address(raft[i], false, &fd), EADDRINUSE);
        for (unsigned again = 0; again < 2; again++) { /* it is restarted */
            ck_assert_int_eq(bind_address(raft[i], true, &fd), 0);
            close(fd);
        }
        ck_assert_int_eq(bind_address(raft[i], false, &fd), EADDRINUSE);
    }
    ports_let_go(&ports);
    ck_assert_int_eq(bind_address(raft[0], false, &fd), 0);
    close(fd);
}
END_TEST

Suite *suite_ports(void)
{
    Suite *suite = suite_create("ports");
    TCase *held = tcase_create("held");
    tcase_add_test(held, held_ports_are_for_those_who_know_them);
    suite_add_tcase(suite, held);
    return suite;
}
