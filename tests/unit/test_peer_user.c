/* SPDX-License-Identifier: MIT
 *
 * The user at the other end of a loopback connection. Connections of other
 * users are closed, and no others.
 */
#include "skip.h"

#include <wire/peer_user.h>

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_peer_user(void);

enum { UNUSED_UID = 65534 };

/* Both ends of a connection, and its listener. */
struct connection {
    int listener, theirs, ours;
    unsigned port; /* of ours */
};

static struct gw__peers peers;

static void open_peers(void)
{
    ck_assert_int_eq(gw__peers_open(&peers, NULL), GW_OK);
}

static void close_peers(void)
{
    gw__peers_close(&peers);
}

/* False: this host does not support the family. */
static bool listen_at(struct connection *c, int family,
                      struct sockaddr_storage *at, socklen_t *size)
{
    struct sockaddr_in *four = (void *)at;
    struct sockaddr_in6 *six = (void *)at;
    *at = (struct sockaddr_storage){.ss_family = (sa_family_t)family};
    *size = family == AF_INET ? sizeof *four : sizeof *six;
    if (family == AF_INET)
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        six->sin6_addr = in6addr_loopback;
    c->listener = socket(family, SOCK_STREAM, 0);
    if (c->listener < 0 || bind(c->listener, (void *)at, *size) != 0)
        return false;
    ck_assert_int_eq(listen(c->listener, 1), 0);
    ck_assert_int_eq(getsockname(c->listener, (void *)at, size), 0);
    c->port = ntohs(family == AF_INET ? four->sin_port : six->sin6_port);
    return true;
}

/* Connects as `user`; 0 is the current one. */
static bool connect_as(struct connection *c, int family, uid_t user)
{
    struct sockaddr_storage at;
    socklen_t size;
    *c = (struct connection){-1, -1, -1, 0};
    if (!listen_at(c, family, &at, &size)) {
        close(c->listener);
        return false;
    }
    if (user != 0)
        ck_assert_int_eq(seteuid(user), 0);
    c->theirs = socket(family, SOCK_STREAM, 0);
    if (user != 0)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(connect(c->theirs, (void *)&at, size), 0);
    c->ours = accept(c->listener, NULL, NULL);
    ck_assert_int_ge(c->ours, 0);
    return true;
}

static void disconnect(struct connection *c)
{
    close(c->listener);
    close(c->theirs);
    close(c->ours);
}

static bool is_open(const struct connection *c)
{
    char byte = 0;
    if (send(c->ours, "x", 1, MSG_NOSIGNAL) != 1)
        return false;
    return recv(c->theirs, &byte, 1, 0) == 1 && byte == 'x';
}

static const int families[] = {AF_INET, AF_INET6};

START_TEST(ones_own_user_is_let_in)
{
    struct connection c;
    uid_t user = UNUSED_UID;
    if (!connect_as(&c, families[_i], 0))
        SKIP("peer_user", "this host has no IPv6");
    ck_assert_int_eq(gw__peers_receive(&peers, c.ours, c.port, &user),
                     GW__PEER_ONE_OF_US);
    ck_assert_uint_eq(user, geteuid()); /* found in the table */
    ck_assert(is_open(&c));
    disconnect(&c);
}
END_TEST

START_TEST(another_user_is_disconnected)
{
    struct connection c;
    uid_t user = 0;
    if (geteuid() != 0)
        SKIP("peer_user", "only root can be another user");
    if (!connect_as(&c, families[_i], UNUSED_UID))
        SKIP("peer_user", "this host has no IPv6");
    ck_assert(is_open(&c));
    ck_assert_int_eq(gw__peers_receive(&peers, c.ours, c.port, &user),
                     GW__PEER_OTHER_USER);
    ck_assert_uint_eq(user, UNUSED_UID);
    ck_assert(!is_open(&c));
    disconnect(&c);
}
END_TEST

/* The descriptor number was reused: for a connection from here to a service of
 * another user, or for a file. */
START_TEST(only_connections_to_the_port_are_checked)
{
    struct connection c;
    uid_t user;
    int ends[2];
    if (geteuid() != 0)
        SKIP("peer_user", "only root can be another user");
    ck_assert(connect_as(&c, AF_INET, UNUSED_UID));
    ck_assert_int_eq(
        gw__peers_receive(&peers, c.ours, (c.port + 1) & 0xffff, &user),
        GW__PEER_ONE_OF_US);
    ck_assert_int_eq(gw__peers_receive(&peers, c.listener, c.port, &user),
                     GW__PEER_ONE_OF_US);
    ck_assert(is_open(&c));
    disconnect(&c);
    ck_assert_int_eq(gw__peers_receive(&peers, c.ours, c.port, &user),
                     GW__PEER_ONE_OF_US);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(gw__peers_receive(&peers, ends[0], c.port, &user),
                     GW__PEER_ONE_OF_US);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* Data sent before the disconnect can still be read. */
START_TEST(who_has_gone_is_disconnected)
{
    struct connection c;
    uid_t user;
    char byte[2];
    ck_assert(connect_as(&c, AF_INET, 0));
    ck_assert_int_eq(send(c.theirs, "x", 1, 0), 1);
    close(c.theirs);
    c.theirs = -1;
    enum gw__peer who = gw__peers_receive(&peers, c.ours, c.port, &user);
    ck_assert_int_ne(who, GW__PEER_OTHER_USER);
    ck_assert_int_eq(recv(c.ours, byte, sizeof byte, 0), 1);
    disconnect(&c);
}
END_TEST

/* 192.0.2.1 belongs to no host (RFC 5737). */
START_TEST(who_is_not_in_the_table_is_not_found)
{
    struct inet_diag_sockid ends = {
        .idiag_sport = htons(1),
        .idiag_dport = htons(2),
        .idiag_src = {htonl(INADDR_LOOPBACK)},
        .idiag_dst = {htonl(0xc0000201)},
        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
    struct connection c;
    uid_t user;
    ck_assert(!gw__peers_find(&peers, AF_INET, &ends, &user));
    ck_assert(connect_as(&c, AF_INET, 0));
    ends.idiag_sport = htons((uint16_t)c.port); /* the listener is not an end */
    ck_assert(!gw__peers_find(&peers, AF_INET, &ends, &user));
    disconnect(&c);
}
END_TEST

/* As on a kernel without the table. */
START_TEST(where_the_user_is_unknown_all_are_accepted)
{
    struct gw__peers none = {-1, -1};
    struct connection c;
    uid_t user;
    ck_assert(connect_as(&c, AF_INET, 0));
    ck_assert_int_eq(gw__peers_receive(&none, c.ours, c.port, &user),
                     GW__PEER_ONE_OF_US);
    ck_assert(is_open(&c));
    gw__peers_close(&none);
    disconnect(&c);
}
END_TEST

Suite *suite_peer_user(void)
{
    Suite *s = suite_create("peer_user");
    TCase *t = tcase_create("peer_user");
    tcase_add_checked_fixture(t, open_peers, close_peers);
    tcase_add_loop_test(t, ones_own_user_is_let_in, 0, 2);
    tcase_add_loop_test(t, another_user_is_disconnected, 0, 2);
    tcase_add_test(t, only_connections_to_the_port_are_checked);
    tcase_add_test(t, who_has_gone_is_disconnected);
    tcase_add_test(t, who_is_not_in_the_table_is_not_found);
    tcase_add_test(t, where_the_user_is_unknown_all_are_accepted);
    suite_add_tcase(s, t);
    return s;
}
