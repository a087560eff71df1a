/* SPDX-License-Identifier: MIT
 *
 * A mesh in bulk: longer messages, and who is away is said at once.
 */
#include "mesh_set.h"

#include <wire/mesh/mesh_parts.h>

#include <string.h>

Suite *suite_mesh_bulk(void);

static struct gw__mesh *open_bulk(unsigned node, const char *endpoint)
{
    struct gw__mesh_config config = mesh_config(node, endpoint);
    config.bulk = true;
    return mesh_open(config);
}

/* It is connected without anything being sent. */
static void send_when_connected(struct gw__mesh *mesh, unsigned node,
                                const void *data, size_t bytes)
{
    uint64_t until_ns = gw_now_ns() + 5000000000U;
    while (gw__mesh_send(mesh, node, data, bytes)) {
        ck_assert(gw_now_ns() < until_ns);
        gw__mesh_wait(mesh, -1, gw_now_ns() + 1000000);
    }
}

START_TEST(long_messages_arrive)
{
    static const char block[GW__MESH_BULK_MAX + 1];
    struct gw__mesh *from = open_bulk(0, mesh_name("from"));
    struct gw__mesh *to = open_bulk(1, mesh_name("to"));
    ck_assert_int_eq(gw__mesh_know(from, 1, gw__mesh_endpoint(to), NULL),
                     GW_OK);
    ck_assert_int_eq(gw__mesh_send(from, 1, block, sizeof block), GW_EINVAL);
    send_when_connected(from, 1, block, GW__MESH_BULK_MAX);
    ck_assert_uint_eq(mesh_await(to).bytes, GW__MESH_BULK_MAX);
    gw__mesh_close(&from);
    gw__mesh_close(&to);
}
END_TEST

/* Nothing of what was sent to the dead one comes to the next. */
START_TEST(who_is_away_is_told_and_nothing_kept)
{
    const char *place = mesh_name("to");
    struct gw__mesh *from = open_bulk(0, mesh_name("from"));
    ck_assert_int_eq(gw__mesh_know(from, 1, place, NULL), GW_OK);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(gw__mesh_send(from, 1, "early", 5), GW_EUNREACH);
    ck_assert_uint_eq(gw__mesh_counts(from)->overflowed, 10);
    struct gw__mesh *to = open_bulk(1, place);
    send_when_connected(from, 1, "first", 5);
    mesh_expect(to, 0, "first");
    gw__mesh_close(&to);
    uint64_t until_ns = gw_now_ns() + 5000000000U;
    while (gw__mesh_send(from, 1, "lost", 4) == GW_OK)
        ck_assert(gw_now_ns() < until_ns);
    to = open_bulk(1, place);
    send_when_connected(from, 1, "second", 6);
    mesh_expect(to, 0, "second");
    gw__mesh_close(&from);
    gw__mesh_close(&to);
}
END_TEST

START_TEST(who_does_not_read_is_told)
{
    static const char block[GW__MESH_BYTES_MAX];
    struct gw__mesh *from = open_bulk(0, "tcp://127.0.0.1:*");
    struct gw__mesh *to = open_bulk(1, "tcp://127.0.0.1:*");
    unsigned taken = 0;
    ck_assert_int_eq(gw__mesh_know(from, 1, gw__mesh_endpoint(to), NULL),
                     GW_OK);
    send_when_connected(from, 1, block, sizeof block);
    while (taken < 10 * GW__MESH_MARK &&
           gw__mesh_send(from, 1, block, sizeof block) == GW_OK)
        taken++;
    ck_assert_uint_lt(taken, 10 * GW__MESH_MARK);
    mesh_await(to); /* and the others are there in their order */
    gw__mesh_close(&from);
    gw__mesh_close(&to);
}
END_TEST

Suite *suite_mesh_bulk(void)
{
    Suite *suite = suite_create("mesh_bulk");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, long_messages_arrive);
    tcase_add_test(t, who_is_away_is_told_and_nothing_kept);
    tcase_add_test(t, who_does_not_read_is_told);
    suite_add_tcase(suite, t);
    return suite;
}
