/* SPDX-License-Identifier: MIT
 *
 * The pure parts of a run's supervisor: the options of a run, also as JSON; the
 * names of runs; link profiles; and the messages between a supervisor and its
 * children.
 */
#include "run/node/child_channel.h"
#include "run/supervisor/supervisor_links.h"
#include "run/supervisor/supervisor_options.h"

#include <base/link_profile.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *suite_supervisor(void);

/* ---- options ---- */

START_TEST(options_survive_json)
{
    struct run_options options = {.name = "otter",
                                  .ranks = 5,
                                  .controllers = 3,
                                  .wire = "tcp",
                                  .seed = 0xfedcba9876543210,
                                  .pace_ns = 1234567,
                                  .command = "up 5 train lr heart",
                                  .work = work_defaults};
    struct run_options back;
    struct gw_error why;
    options.work.kind = WORK_TRAIN;
    options.work.model = "lr";
    options.work.file = "heart";
    options.work.epochs = 7;
    options.work.momentum = 0;
    options.work.l2 = 1e-9;
    json_t *json = options_encode(&options);
    ck_assert_ptr_nonnull(json);
    ck_assert_msg(!options_decode(json, &back, &why), "%s", why.text);
    ck_assert_str_eq(back.name, "otter");
    ck_assert_uint_eq(back.ranks, 5);
    ck_assert_uint_eq(back.controllers, 3);
    ck_assert_str_eq(back.wire, "tcp");
    ck_assert_uint_eq(back.seed, options.seed);
    ck_assert_uint_eq(back.pace_ns, options.pace_ns);
    ck_assert_str_eq(back.command, options.command);
    ck_assert_uint_eq(back.work.kind, WORK_TRAIN);
    ck_assert_str_eq(back.work.file, "heart");
    ck_assert_ptr_null(back.work.test);
    ck_assert_uint_eq(back.work.epochs, 7);
    ck_assert_double_eq(back.work.momentum, 0);
    ck_assert_double_eq(back.work.l2, 1e-9);
    json_decref(json); /* it owned the texts */
}
END_TEST

/* A request of the verb `train` contains the options that differ from the
 * defaults. */
START_TEST(work_of_a_request)
{
    struct work_options work;
    struct gw_error why;
    json_t *json = json_pack("{s:s, s:s, s:s, s:{s:i, s:f}}", "verb", "train",
                             "model", "softmax", "file", "digits", "options",
                             "epochs", 3, "rate", 0.25);
    ck_assert(!work_options_decode(json, &work, &why));
    json_decref(json);
    ck_assert_uint_eq(work.kind, WORK_TRAIN);
    ck_assert_uint_eq(work.epochs, 3);
    ck_assert_double_eq(work.rate, 0.25);
    ck_assert_uint_eq(work.batch, WORK_UNSET);

    json = json_pack("{s:s, s:{s:i}}", "model", "ops", "options", "bytes", 64);
    ck_assert(!work_options_decode(json, &work, &why));
    json_decref(json);
    ck_assert_uint_eq(work.kind, WORK_OPS);
    ck_assert_uint_eq(work.bytes, 64);
    ck_assert_uint_eq(work.count, 0);
}
END_TEST

START_TEST(odd_json_is_refused)
{
    static const char *const texts[] = {
        "{\"ranks\": \"four\"}",
        "{\"ranks\": -1}",
        "{\"ranks\": 1e30}",
        "{\"ranks\": 99999999999}",
        "{\"name\": 4}",
        "{\"name\": \"far-too-long-a-name-for-any-run-there-is\"}",
        "{\"work\": {\"kind\": \"sleep\"}}",
        "{\"work\": {\"model\": []}}",
        "{\"work\": {\"options\": {\"rate\": \"fast\"}}}",
        "{\"work\": {\"options\": {\"bytes\": 0.5}}}",
    };
    struct run_options options;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gw_error why = {.code = GW_OK};
        json_t *json = json_loads(texts[i], 0, NULL);
        ck_assert_msg(options_decode(json, &options, &why) == GW_EINVAL, "%s",
                      texts[i]);
        ck_assert_msg(why.text[0], "%s has no sentence", texts[i]);
        json_decref(json);
    }
    ck_assert(!options_decode(NULL, &options, NULL));
}
END_TEST

START_TEST(options_that_cannot_be)
{
    static const struct {
        struct run_options options;
        const char *text; /* the error; NULL: none */
    } cases[] = {
        {{.ranks = 1}, NULL},
        {{.ranks = RUN_RANKS_MAX, .controllers = 5, .wire = "ipc"}, NULL},
        {{.ranks = 0},
         "the number of nodes must be from 1 to 128, since larger rings do not "
         "recover reliably, not 0"},
        {{.ranks = 129},
         "the number of nodes must be from 1 to 128, since larger rings do not "
         "recover reliably, not 129"},
        {{.ranks = 2, .controllers = 2},
         "the number of controllers must be 1, 3 or 5, not 2"},
        {{.ranks = 2, .controllers = 7},
         "the number of controllers must be 1, 3 or 5, not 7"},
        {{.ranks = 2, .wire = "smoke"},
         "unknown wire smoke; use shm, ipc or tcp"},
        {{.ranks = 4, .servers = 3, .replicas = 3, .controllers = 3}, NULL},
        {{.ranks = 32, .servers = 24, .slots = 64}, NULL},
        {{.ranks = 2, .servers = 25},
         "the number of servers must be at most 24, not 25"},
        {{.ranks = 33, .servers = 1},
         "the number of workers must be from 1 to 32, not 33"},
        {{.ranks = 1, .servers = 6, .replicas = 6},
         "the number of replicas must be at most 5, not 6"},
        {{.ranks = 1, .servers = 1, .slots = 65},
         "the number of slots must be at most 64, not 65"},
        {{.ranks = 2, .replicas = 3},
         "a ring has no replicas, slots, snapshots, modes, parts and "
         "policies; only a run with --servers has them"},
        {{.ranks = 2, .name = "../x"},
         "\"../x\" is not a valid run name; use fewer than 32 small letters, "
         "digits and -"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_error why = {.code = GW_OK};
        enum gw_err code = options_check(&cases[i].options, &why);
        ck_assert_int_eq(code != GW_OK, cases[i].text != NULL);
        if (cases[i].text)
            ck_assert_str_eq(why.text, cases[i].text);
    }
}
END_TEST

START_TEST(work_that_cannot_be)
{
    struct work_order order;
    struct gw_error why;
    struct work_options work = work_defaults;
    const struct run_options ring = {.ranks = 2};
    ck_assert(!work_order_make(&ring, &work, 0, &order, &why));
    work.kind = WORK_OPS;
    work.bytes = 7;
    ck_assert_int_eq(work_order_make(&ring, &work, 1, &order, &why), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "the size of ops must be from 8 bytes to 1G, not 7");
    work.kind = WORK_TRAIN;
    ck_assert_int_eq(work_order_make(&ring, &work, 1, &order, &why), GW_EINVAL);
    work.model = "lr";
    work.file = "/there/is/no/such";
    ck_assert_int_eq(work_order_make(&ring, &work, 1, &order, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "/there/is/no/such: no such file");
    work.rate = 0;
    ck_assert_int_eq(work_order_make(&ring, &work, 1, &order, &why), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "the learning rate must be greater than 0, not 0");
    work.rate = 1;
    work.momentum = 1;
    ck_assert_int_eq(work_order_make(&ring, &work, 1, &order, &why), GW_EINVAL);
    work.model = "forest";
    ck_assert_int_eq(work_order_make(&ring, &work, 1, &order, &why), GW_EINVAL);
}
END_TEST

START_TEST(names)
{
    static const char *const good[] = {"otter", "a", "run-7", "7"};
    static const char *const bad[] = {"",         "-x",    "Otter", "a b",
                                      ".",        "a/b",   "..",    "latest",
                                      "\xc3\xa4", "under_"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(!run_name_check(good[i], NULL), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(run_name_check(bad[i], NULL) != GW_OK, "%s", bad[i]);
}
END_TEST

/* Every pick is a valid name, and no two attempts of a choice are equal. */
START_TEST(picked_names)
{
    enum { ATTEMPTS = 200 };
    static char picked[ATTEMPTS][RUN_NAME_MAX];
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        run_name_pick(12345, i, picked[i]);
        ck_assert_msg(!run_name_check(picked[i], NULL), "%s", picked[i]);
        for (unsigned j = 0; j < i; j++)
            ck_assert_str_ne(picked[i], picked[j]);
    }
}
END_TEST

/* ---- links ---- */

static enum gw_err change(struct gw_link_profile *link, const char *text,
                          struct gw_error *why)
{
    json_t *json = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(json);
    enum gw_err code = link_change(link, json, why);
    json_decref(json);
    return code;
}

/* Unnamed fields do not change. */
START_TEST(a_link_changes)
{
    struct gw_link_profile link = {.delay_us = 0};
    struct gw_error why;
    ck_assert(gw__link_profile_is_none(&link));
    ck_assert(!change(&link, "{\"delay_us\": 5000, \"rate\": 1000}", &why));
    ck_assert(!change(&link, "{\"down\": true, \"loss_ppm\": 10000}", &why));
    ck_assert_uint_eq(link.delay_us, 5000);
    ck_assert_uint_eq(link.rate, 1000);
    ck_assert_uint_eq(link.loss_ppm, 10000);
    ck_assert(link.down && !gw__link_profile_is_none(&link));
    ck_assert(!change(&link,
                      "{\"down\": false, \"delay_us\": 0, \"rate\": 0, "
                      "\"loss_ppm\": 0}",
                      &why));
    ck_assert(gw__link_profile_is_none(&link));
}
END_TEST

START_TEST(a_link_refuses)
{
    static const char *const texts[] = {
        "{\"delay_us\": -1}",          "{\"delay_us\": 4294967296}",
        "{\"loss_ppm\": 1000001}",     "{\"rate\": 1.5}",
        "{\"jitter_us\": \"long\"}",   "{\"down\": 1}",
        "{\"rate\": 5, \"down\": []}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gw_link_profile link = {.delay_us = 7};
        const struct gw_link_profile before = link;
        struct gw_error why;
        ck_assert_msg(change(&link, texts[i], &why) == GW_EINVAL, "%s",
                      texts[i]);
        ck_assert_msg(memcmp(&link, &before, sizeof link) == 0, "%s changed it",
                      texts[i]);
    }
}
END_TEST

/* Both directions between the sides, and no others; heal keeps the delays. */
START_TEST(partition_and_heal)
{
    static struct links links;
    static struct desired_state desired;
    memset(&links, 0, sizeof links);
    links.profiles[0][2].delay_us = 9;
    links_cut(&links, &(struct gw_nodes){{0x3}},
              &(struct gw_nodes){{1 << 2 | UINT64_C(1) << 63}});
    for (unsigned a = 0; a < GW_RING_NODES; a++)
        for (unsigned b = 0; b < GW_RING_NODES; b++) {
            bool left_a = a < 2, left_b = b < 2;
            bool right_a = a == 2 || a == 63, right_b = b == 2 || b == 63;
            ck_assert_int_eq(links.profiles[a][b].down,
                             (left_a && right_b) || (right_a && left_b));
        }
    links_desired_state(&links, 2, &desired);
    ck_assert_uint_eq(desired.severed.words[0], 0x3);
    ck_assert(desired.links[0].down && desired.links[1].down);
    ck_assert(!desired.links[63].down);
    ck_assert_uint_eq(desired.links[0].delay_us, 9);
    json_t *list = links_json(&links);
    ck_assert_uint_eq(json_array_size(list), 8);
    json_decref(list);
    ck_assert_uint_eq(links_heal(&links), 8);
    ck_assert_uint_eq(links_heal(&links), 0);
    ck_assert_uint_eq(links.profiles[0][2].delay_us, 9);
}
END_TEST

/* ---- messages ---- */

static int ends[2];
static _Alignas(16) char buffer[CHILD_CHANNEL_BYTES_MAX];

static void open_ends(void)
{
    ck_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
}

static void close_ends(void)
{
    close(ends[0]);
    close(ends[1]);
}

START_TEST(messages_arrive_whole)
{
    struct gw_event events[3] = {{.op = 1}, {.op = 2}, {.op = 3}};
    struct gw_error last = {.code = GW_EWRONG, .text = "wrong"};
    enum child_channel_kind kind = CHILD_CHANNEL_KINDS;
    size_t bytes;
    ck_assert_int_eq(child_channel_receive(ends[0], buffer, &kind, &bytes),
                     GW_PENDING);
    ck_assert(!child_channel_send(ends[1], CHILD_CHANNEL_EVENTS, events,
                                  sizeof events, false));
    ck_assert(!child_channel_send(ends[1], CHILD_CHANNEL_EXIT, &last,
                                  sizeof last, false));
    ck_assert(!child_channel_receive(ends[0], buffer, &kind, &bytes));
    ck_assert(kind == CHILD_CHANNEL_EVENTS && bytes == sizeof events);
    ck_assert_mem_eq(buffer, events, sizeof events);
    ck_assert(!child_channel_receive(ends[0], buffer, &kind, &bytes));
    ck_assert(kind == CHILD_CHANNEL_EXIT);
    ck_assert_int_eq(child_channel_receive(ends[0], buffer, &kind, &bytes),
                     GW_PENDING);
}
END_TEST

/* The struct is larger than a message; its used parts are not. */
START_TEST(a_status_arrives_without_its_unused_parts)
{
    static struct node_status sent, received;
    static char packed[CHILD_CHANNEL_BYTES_MAX];
    sent.server.slot_count = 64;
    sent.server.slots[63].term = 7;
    sent.server.clocks[3].worker_count = 2;
    sent.server.clocks[3].workers[1].clock = 8;
    sent.server.clocks[3].until = true;
    size_t bytes = node_status_pack(&sent, packed);
    ck_assert(bytes > 0 && bytes < sizeof sent / 2);
    ck_assert(node_status_unpack(packed, bytes, &received));
    ck_assert_mem_eq(&sent, &received, sizeof sent);
    ck_assert(!node_status_unpack(packed, bytes - 1, &received));
    sent.server.slot_count = GW_PS_SLOTS_MAX;
    ck_assert_uint_eq(node_status_pack(&sent, packed), 0);
}
END_TEST

START_TEST(what_is_no_message_is_dropped)
{
    enum child_channel_kind kind = CHILD_CHANNEL_KINDS;
    size_t bytes;
    ck_assert_int_eq(send(ends[1], "hello", 5, 0), 5);
    ck_assert_int_eq(child_channel_receive(ends[0], buffer, &kind, &bytes),
                     GW_EDATA);
    ck_assert(!child_channel_send(ends[1], CHILD_CHANNEL_DESIRED_STATE, buffer,
                                  8, false));
    ck_assert_int_eq(child_channel_receive(ends[0], buffer, &kind, &bytes),
                     GW_EDATA);
    ck_assert(
        !child_channel_send(ends[1], CHILD_CHANNEL_EVENTS, buffer, 65, false));
    ck_assert_int_eq(child_channel_receive(ends[0], buffer, &kind, &bytes),
                     GW_EDATA);
    ck_assert_int_eq(child_channel_receive(ends[0], buffer, &kind, &bytes),
                     GW_PENDING);
}
END_TEST

/* A full socket is not an error, and never blocks; the messages that fitted are
 * not lost. */
START_TEST(a_full_socket)
{
    enum child_channel_kind kind = CHILD_CHANNEL_KINDS;
    size_t bytes, sent = 0, got = 0;
    memset(buffer, 0, sizeof buffer);
    while (child_channel_send(ends[1], CHILD_CHANNEL_EVENTS, buffer, 32768,
                              false) == GW_OK)
        sent++;
    ck_assert_uint_gt(sent, 1);
    ck_assert_int_eq(
        child_channel_send(ends[1], CHILD_CHANNEL_EVENTS, buffer, 32768, false),
        GW_PENDING);
    while (child_channel_receive(ends[0], buffer, &kind, &bytes) == GW_OK)
        got++;
    ck_assert_uint_eq(got, sent);
}
END_TEST

START_TEST(the_other_end_is_gone)
{
    enum child_channel_kind kind = CHILD_CHANNEL_KINDS;
    size_t bytes;
    struct gw_event event = {.op = 1};
    shutdown(ends[1], SHUT_RDWR);
    ck_assert_int_eq(child_channel_receive(ends[0], buffer, &kind, &bytes),
                     GW_ECLOSED);
    ck_assert_int_eq(child_channel_send(ends[0], CHILD_CHANNEL_EVENTS, &event,
                                        sizeof event, false),
                     GW_ECLOSED);
}
END_TEST

START_TEST(endpoints)
{
    char a[ENDPOINT_MAX], b[ENDPOINT_MAX], expected[ENDPOINT_MAX];
    snprintf(expected, sizeof expected, "ipc://@gradwire-%u-00000000000000ff-7",
             (unsigned)geteuid());
    child_channel_endpoint_of(255, 7, a);
    ck_assert_str_eq(a, expected);
    child_channel_endpoint(UINT64_MAX, "events", b);
    ck_assert_uint_lt(strlen(b), ENDPOINT_MAX - 1);
}
END_TEST

Suite *suite_supervisor(void)
{
    Suite *suite = suite_create("supervisor");
    TCase *options = tcase_create("options");
    tcase_add_test(options, options_survive_json);
    tcase_add_test(options, work_of_a_request);
    tcase_add_test(options, odd_json_is_refused);
    tcase_add_test(options, options_that_cannot_be);
    tcase_add_test(options, work_that_cannot_be);
    tcase_add_test(options, names);
    tcase_add_test(options, picked_names);
    suite_add_tcase(suite, options);
    TCase *links = tcase_create("links");
    tcase_add_test(links, a_link_changes);
    tcase_add_test(links, a_link_refuses);
    tcase_add_test(links, partition_and_heal);
    suite_add_tcase(suite, links);
    TCase *messages = tcase_create("messages");
    tcase_add_checked_fixture(messages, open_ends, close_ends);
    tcase_add_test(messages, messages_arrive_whole);
    tcase_add_test(messages, a_status_arrives_without_its_unused_parts);
    tcase_add_test(messages, what_is_no_message_is_dropped);
    tcase_add_test(messages, a_full_socket);
    tcase_add_test(messages, the_other_end_is_gone);
    tcase_add_test(messages, endpoints);
    suite_add_tcase(suite, messages);
    return suite;
}
