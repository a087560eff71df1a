/* SPDX-License-Identifier: MIT
 *
 * The messages that copy the state: each is decoded as it was, and invalid ones
 * are refused.
 */
#include <ring/ring_state_transfer.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ring_transfer(void);

static uint8_t bytes[GW__TRANSFER_BYTES_MAX];
static unsigned char payload[GW__STATE_BLOCK_BYTES];

static struct gw__state_transfer result_chunk(size_t length)
{
    struct gw__state_transfer f = {.kind = GW__TRANSFER_BLOCK};
    f.block = (struct gw__state_transfer_block){
        .server_op = 12,
        .has_state = true,
        .item = {GW__ITEM_RESULT, 11, 12, 100000},
        .digest = 0xfedcba9876543210,
        .epoch = 3,
        .result = {.op = 11,
                   .epoch = 3,
                   .tag = 77,
                   .count = 12500,
                   .type = GW_F64,
                   .redop = GW_AVG,
                   .contributors = {{0x8000000000000005}},
                   .initial_count = 3,
                   .initial_members = {0, 63, 2}},
        .offset = 50000,
        .data = payload,
        .bytes = length};
    return f;
}

START_TEST(what_is_sent_is_received)
{
    struct gw__state_transfer sent = {.kind = GW__TRANSFER_REQUEST}, received;
    sent.request = (struct gw__transfer_request){
        .have_op = 9,
        .wants_state = true,
        .offset = 49152,
        .item = {GW__ITEM_SNAPSHOT, 0x1234567890abcdef, 0, 0},
        .endpoint = "tcp://127.0.0.1:5555"};
    size_t used = gw__state_transfer_encode(&sent, bytes);
    ck_assert_int_eq(gw__state_transfer_decode(bytes, used, &received, NULL),
                     GW_OK);
    ck_assert_uint_eq(received.request.have_op, 9);
    ck_assert(received.request.wants_state);
    ck_assert_uint_eq(received.request.item.id, 0x1234567890abcdef);
    ck_assert_str_eq(received.request.endpoint, "tcp://127.0.0.1:5555");

    payload[0] = 42;
    payload[GW__STATE_BLOCK_BYTES - 1] = 43;
    sent = result_chunk(GW__STATE_BLOCK_BYTES);
    used = gw__state_transfer_encode(&sent, bytes);
    ck_assert_uint_gt(used, GW__STATE_BLOCK_BYTES);
    ck_assert_int_eq(gw__state_transfer_decode(bytes, used, &received, NULL),
                     GW_OK);
    ck_assert_uint_eq(received.block.bytes, GW__STATE_BLOCK_BYTES);
    ck_assert_mem_eq(received.block.data, payload, GW__STATE_BLOCK_BYTES);
    ck_assert_uint_eq(received.block.digest, 0xfedcba9876543210);
    ck_assert_uint_eq(received.block.epoch, 3);
    ck_assert_uint_eq(received.block.result.contributors.words[0],
                      0x8000000000000005);
    ck_assert_uint_eq(received.block.result.initial_members[1], 63);
    ck_assert_int_eq(received.block.result.redop, GW_AVG);
}
END_TEST

START_TEST(a_state_is_identified_by_its_digest)
{
    struct gw__state_transfer sent = {.kind = GW__TRANSFER_CONFIRM}, received;
    size_t used = gw__state_transfer_encode(&sent, bytes);
    ck_assert_int_eq(gw__state_transfer_decode(bytes, used, &received, NULL),
                     GW_OK);
    ck_assert_int_eq(received.kind, GW__TRANSFER_CONFIRM);
    ck_assert_int_eq(
        gw__state_transfer_decode(bytes, used + 1, &received, NULL), GW_EDATA);
    sent = (struct gw__state_transfer){
        .kind = GW__TRANSFER_HAVE,
        .state = {.ops = 7, .digest = 0x123456789abc}};
    used = gw__state_transfer_encode(&sent, bytes);
    ck_assert_int_eq(gw__state_transfer_decode(bytes, used, &received, NULL),
                     GW_OK);
    ck_assert_uint_eq(received.state.ops, 7);
    ck_assert_uint_eq(received.state.digest, 0x123456789abc);
    struct gw__state_transfer nothing = {.kind = GW__TRANSFER_NOTHING,
                                         .ops = 12};
    size_t bare = gw__state_transfer_encode(&nothing, bytes);
    ck_assert_int_eq(gw__state_transfer_decode(bytes, bare, &received, NULL),
                     GW_OK);
    ck_assert_int_eq(received.kind, GW__TRANSFER_NOTHING);
    ck_assert_uint_eq(received.ops, 12);
    used = gw__state_transfer_encode(&sent, bytes);
    ck_assert_int_eq(
        gw__state_transfer_decode(bytes, used - 1, &received, NULL), GW_EDATA);
}
END_TEST

START_TEST(what_is_truncated_is_refused)
{
    struct gw__state_transfer sent = result_chunk(0), received;
    size_t used = gw__state_transfer_encode(&sent, bytes);
    for (size_t i = 0; i < used; i++)
        ck_assert_int_eq(gw__state_transfer_decode(bytes, i, &received, NULL),
                         GW_EDATA);
    bytes[0] = GW__TRANSFER_KINDS + 128;
    ck_assert_int_eq(gw__state_transfer_decode(bytes, used, &received, NULL),
                     GW_EDATA);
}
END_TEST

/* A piece never reaches beyond its item. */
START_TEST(what_does_not_fit_is_refused)
{
    struct gw__state_transfer sent = result_chunk(GW__STATE_BLOCK_BYTES),
                              received;
    sent.block.offset = 60000;
    size_t used = gw__state_transfer_encode(&sent, bytes);
    ck_assert_int_eq(gw__state_transfer_decode(bytes, used, &received, NULL),
                     GW_EDATA);
    sent.block.offset = UINT64_MAX - 10;
    used = gw__state_transfer_encode(&sent, bytes);
    ck_assert_int_eq(gw__state_transfer_decode(bytes, used, &received, NULL),
                     GW_EDATA);
}
END_TEST

START_TEST(noise_is_no_trouble)
{
    struct gw__state_transfer sent = result_chunk(100), received;
    struct gw_rng rng;
    gw_rng_seed(&rng, 1);
    for (unsigned i = 0; i < 20000; i++) {
        size_t used = gw__state_transfer_encode(&sent, bytes);
        for (unsigned k = 0; k < 3; k++)
            bytes[1 + gw_rng_below(&rng, used - 1)] =
                (uint8_t)gw_rng_next(&rng);
        if (gw__state_transfer_decode(bytes, used, &received, NULL))
            continue;
        const struct gw__state_transfer_block *chunk = &received.block;
        ck_assert_uint_le(chunk->offset + chunk->bytes, chunk->item.bytes);
        ck_assert_uint_le(chunk->result.initial_count, GW_RING_NODES);
    }
}
END_TEST

Suite *suite_ring_transfer(void)
{
    Suite *suite = suite_create("ring transfer");
    TCase *tcase = tcase_create("messages");
    tcase_add_test(tcase, what_is_sent_is_received);
    tcase_add_test(tcase, a_state_is_identified_by_its_digest);
    tcase_add_test(tcase, what_is_truncated_is_refused);
    tcase_add_test(tcase, what_does_not_fit_is_refused);
    tcase_add_test(tcase, noise_is_no_trouble);
    suite_add_tcase(suite, tcase);
    return suite;
}
