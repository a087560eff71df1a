/* SPDX-License-Identifier: MIT
 *
 * The messages of the ZeroMQ wires and of the rendezvous, as bytes.
 */
#include "wire/rank_list.h"
#include "wire/rendezvous/rendezvous_message.h"
#include "wire/zmq/frame.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_frame(void);

static const unsigned char token[GW__TOKEN_BYTES] = "sixteen letters";

/* Of a slice with 8 bytes of data in the same part. */
static void seal(unsigned char out[GW__SLICE_HEAD_BYTES + 8],
                 const struct gw__header *header)
{
    memset(out, 0, GW__SLICE_HEAD_BYTES + 8);
    gw__frame_seal(token, header, out);
}

START_TEST(a_slice_is_header_and_data_or_two_parts)
{
    unsigned char frame[GW__SLICE_HEAD_BYTES + 8];
    struct gw__header header = {.bytes = 8, .op = 3};
    struct gw_error why;
    seal(frame, &header);
    header.op = 0;
    ck_assert_int_eq(
        gw__frame_head(frame, sizeof frame, false, token, &header, &why),
        GW_OK);
    ck_assert_uint_eq(header.op, 3);
    ck_assert_int_eq(
        gw__frame_head(frame, GW__SLICE_HEAD_BYTES, true, token, &header, &why),
        GW_OK);
    ck_assert_int_eq(gw__frame_body(&header, 8, false, &why), GW_OK);
    ck_assert_int_eq(gw__frame_body(&header, 9, false, &why), GW_EDATA);
    ck_assert_int_eq(gw__frame_body(&header, 8, true, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "malformed slice: more than two parts");
}
END_TEST

START_TEST(a_slice_of_other_length_is_refused)
{
    unsigned char frame[GW__SLICE_HEAD_BYTES + 8];
    struct gw__header header = {.bytes = 8};
    struct gw_error why;
    seal(frame, &header);
    ck_assert_int_eq(gw__frame_head(frame, 71, false, token, &header, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text,
                     "malformed slice: 71 bytes instead of a header of 72");
    ck_assert_int_eq(gw__frame_head(frame, 72, false, token, &header, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text,
                     "malformed slice: 0 bytes of data, but 8 announced");
    header.bytes = 0;
    seal(frame, &header);
    ck_assert_int_eq(gw__frame_head(frame, 72, false, token, &header, &why),
                     GW_OK);
    ck_assert_int_eq(gw__frame_head(frame, 72, true, token, &header, &why),
                     GW_EDATA);
}
END_TEST

START_TEST(a_slice_of_who_does_not_know_the_token_is_refused)
{
    unsigned char frame[GW__SLICE_HEAD_BYTES + 8];
    struct gw__header header = {.bytes = 8};
    struct gw_error why;
    seal(frame, &header);
    for (unsigned i = 0; i < GW__SLICE_TOKEN_BYTES; i++) {
        frame[i] ^= 1;
        ck_assert_int_eq(
            gw__frame_head(frame, sizeof frame, false, token, &header, &why),
            GW_EDATA);
        ck_assert_str_eq(why.text, "a slice of another run or rank");
        frame[i] ^= 1;
    }
}
END_TEST

START_TEST(a_control_frame_is_read_as_it_was_written)
{
    struct gw__control_message frame = {.kind = GW__ABORT,
                                        .from = 3,
                                        .to = 1,
                                        .code = GW_ELOST,
                                        .text = "rank 2 lost"},
                               read;
    size_t bytes = gw__control_seal(&frame);
    ck_assert_uint_eq(bytes, GW__CONTROL_BYTES + strlen(frame.text));
    ck_assert_int_eq(gw__control_read(&frame, bytes, 3, 1, &read, NULL), GW_OK);
    ck_assert_int_eq(read.code, GW_ELOST);
    ck_assert_str_eq(read.text, "rank 2 lost");
    ck_assert_int_eq(gw__control_read(&frame, bytes, 2, 1, &read, NULL),
                     GW_EDATA);
    ck_assert_int_eq(gw__control_read(&frame, bytes, 3, 0, &read, NULL),
                     GW_EDATA);
    ck_assert_int_eq(
        gw__control_read(&frame, GW__CONTROL_BYTES - 1, 3, 1, &read, NULL),
        GW_EDATA);
    ck_assert_int_eq(
        gw__control_read(&frame, GW__CONTROL_BYTES_MAX, 3, 1, &read, NULL),
        GW_EDATA);
    frame.magic ^= 1;
    ck_assert_int_eq(gw__control_read(&frame, bytes, 3, 1, &read, NULL),
                     GW_EDATA);
}
END_TEST

START_TEST(an_unterminated_control_frame_is_ended)
{
    struct gw__control_message frame = {.kind = GW__ABORT, .code = GW_EINTR},
                               read;
    memset(frame.text, 'x', sizeof frame.text);
    size_t bytes = gw__control_seal(&frame);
    ck_assert_uint_eq(bytes, GW__CONTROL_BYTES_MAX - 1);
    ck_assert_int_eq(gw__control_read(&frame, bytes, 0, 0, &read, NULL), GW_OK);
    ck_assert_uint_eq(strlen(read.text), sizeof read.text - 1);
}
END_TEST

START_TEST(a_table_of_addresses_is_read_as_it_was_written)
{
    struct gw__address *table = calloc(6, sizeof *table);
    void *payload;
    for (unsigned r = 0; r < 3; r++) {
        table[r].bytes = r * 10;
        memset(table[r].blob, (int)r, table[r].bytes);
    }
    size_t bytes = gw__rendezvous_pack(table, 3, &payload);
    ck_assert_uint_eq(bytes, 3 * 4 + 30);
    ck_assert(gw__rendezvous_unpack(payload, bytes, table + 3, 3));
    for (unsigned r = 0; r < 3; r++) {
        ck_assert_uint_eq(table[3 + r].bytes, r * 10);
        ck_assert_mem_eq(table[3 + r].blob, table[r].blob, r * 10);
    }
    ck_assert(!gw__rendezvous_unpack(payload, bytes, table + 3, 2));
    for (size_t shorter = 0; shorter < bytes; shorter++)
        ck_assert(!gw__rendezvous_unpack(payload, shorter, table + 3, 3));
    free(payload);
    free(table);
}
END_TEST

START_TEST(missing_ranks_are_named)
{
    bool here[1000] = {[1] = true};
    char text[GW__RANK_LIST_BYTES];
    gw__rank_list(here, 2, text);
    ck_assert_str_eq(text, "rank 0 of 2");
    gw__rank_list(here, 4, text);
    ck_assert_str_eq(text, "ranks 0, 2, 3 of 4");
    gw__rank_list(here, 1000, text);
    ck_assert_ptr_nonnull(strstr(text, "ranks 0, 2, 3, 4, 5"));
    ck_assert_ptr_nonnull(strstr(text, ", ... of 1000"));
}
END_TEST

Suite *suite_frame(void)
{
    Suite *suite = suite_create("frame");
    TCase *tests = tcase_create("messages");
    tcase_add_test(tests, a_slice_is_header_and_data_or_two_parts);
    tcase_add_test(tests, a_slice_of_other_length_is_refused);
    tcase_add_test(tests, a_slice_of_who_does_not_know_the_token_is_refused);
    tcase_add_test(tests, a_control_frame_is_read_as_it_was_written);
    tcase_add_test(tests, an_unterminated_control_frame_is_ended);
    tcase_add_test(tests, a_table_of_addresses_is_read_as_it_was_written);
    tcase_add_test(tests, missing_ranks_are_named);
    suite_add_tcase(suite, tests);
    return suite;
}
