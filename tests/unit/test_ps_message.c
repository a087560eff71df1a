/* SPDX-License-Identifier: MIT
 *
 * The common check of the data path's messages (ps/message.h): a worker's
 * messages pass, and each invalid one is refused with an error.
 */
#include <ps/messages/message.h>

#include <check.h>
#include <string.h>

Suite *suite_ps_message(void);

struct request {
    struct gw__ps_head head;
    struct gw__ps_segment segments[2];
};

static const uint64_t keys[3] = {5, 6, 9};
static const float values[6];

static struct request make_request(void)
{
    return (struct request){.head = {.magic = GW__PS_MAGIC,
                                     .kind = GW__PS_PUSH,
                                     .keys = 3,
                                     .segments = 2},
                            .segments = {{4, 1}, {7, 2}}};
}

static struct gw__message_in as_message(const struct request *request)
{
    struct gw__message_in message = {.part_count = 3};
    message.parts[0] = (struct gw__messenger_part){request, sizeof *request};
    message.parts[1] = (struct gw__messenger_part){keys, sizeof keys};
    message.parts[2] = (struct gw__messenger_part){values, sizeof values};
    return message;
}

static enum gw_err check(const struct gw__message_in *message)
{
    const struct gw__ps_head *head;
    const struct gw__ps_segment *segments;
    struct gw_error why = {.code = GW_OK};
    enum gw_err err = gw__ps_check(message, &head, &segments, &why);
    if (err) {
        ck_assert_int_eq(err, GW_EDATA);
        ck_assert_int_eq(why.code, GW_EDATA);
        ck_assert_int_gt((int)strlen(why.text), 0);
    } else {
        ck_assert_ptr_eq(head, message->parts[0].data);
    }
    return err;
}

START_TEST(a_good_one_passes)
{
    struct request request = make_request();
    struct gw__message_in message = as_message(&request);
    ck_assert_int_eq(check(&message), GW_OK);
    request.head.kind = GW__PS_PULL;
    message.parts[2].bytes = 0;
    ck_assert_int_eq(check(&message), GW_OK);
    request.head.key_list = 77;
    message.parts[1].bytes = 0;
    ck_assert_int_eq(check(&message), GW_OK);
    request.head.kind = GW__PS_REPLY;
    ck_assert_int_eq(check(&message), GW_OK);
}
END_TEST

static void spoil(unsigned how, struct request *request,
                  struct gw__message_in *message)
{
    switch (how) {
    case 0:
        request->head.magic++;
        break;
    case 1:
        request->head.kind = GW__PS_KINDS;
        break;
    case 2:
        request->head.kind = 0;
        break;
    case 3:
        request->head.segments = 1;
        break;
    case 4:
        request->head.segments = 0;
        break;
    case 5:
        request->head.keys = 4;
        break;
    case 6:
        request->segments[1].slot = 4;
        break;
    case 7:
        request->segments[1].slot = GW_PS_SLOTS_MAX;
        break;
    case 8:
        request->segments[0].keys = 0;
        break;
    case 9:
        message->parts[1].bytes -= 8;
        break;
    case 10:
        message->parts[1].bytes -= 1;
        break;
    case 11:
        message->parts[2].bytes -= 1;
        break;
    case 12:
        message->parts[0].bytes -= 1;
        break;
    case 13:
        message->parts[0].bytes = sizeof request->head - 1;
        break;
    case 14:
        message->part_count = 0;
        break;
    case 15:
        message->part_count = 1;
        break;
    case 16:
        message->part_count = 4;
        break;
    case 17:
        request->head.kind = GW__PS_PULL; /* with values */
        break;
    case 18:
        request->head.segments = UINT32_MAX;
        break;
    case 19:
        request->segments[0].keys = UINT32_MAX;
        break;
    default:
        ck_abort();
    }
}

START_TEST(a_bad_one_is_refused)
{
    struct request request = make_request();
    struct gw__message_in message = as_message(&request);
    spoil((unsigned)_i, &request, &message);
    ck_assert_int_eq(check(&message), GW_EDATA);
}
END_TEST

START_TEST(signatures_differ)
{
    struct gw__ps_segment segments[2] = {{1, 2}, {2, 1}};
    uint64_t list[40] = {5, 6, 9};
    uint64_t all = gw__ps_key_list(segments, 2, list, 3, 0);
    ck_assert_uint_ne(all, 0);
    ck_assert_uint_eq(all, gw__ps_key_list(segments, 2, list, 3, 0));
    ck_assert_uint_ne(all, gw__ps_key_list(segments, 2, list, 3, 1));
    ck_assert_uint_ne(all, gw__ps_key_list(segments, 1, list, 3, 0));
    segments[0].slot = 3;
    ck_assert_uint_ne(all, gw__ps_key_list(segments, 2, list, 3, 0));
    for (unsigned i = 0; i < 40; i++)
        list[i] = i;
    all = gw__ps_key_list(segments, 2, list, 40, 0);
    for (unsigned i = 0; i < 40; i++) {
        list[i] ^= UINT64_C(1) << (i % 64);
        ck_assert_uint_ne(all, gw__ps_key_list(segments, 2, list, 40, 0));
        list[i] ^= UINT64_C(1) << (i % 64);
    }
    /* The order counts, also for keys in one chain. */
    list[0] = 4;
    list[4] = 0;
    ck_assert_uint_ne(all, gw__ps_key_list(segments, 2, list, 40, 0));
}
END_TEST

Suite *suite_ps_message(void)
{
    Suite *suite = suite_create("ps_message");
    TCase *tcase = tcase_create("ps_message");
    tcase_add_test(tcase, a_good_one_passes);
    tcase_add_loop_test(tcase, a_bad_one_is_refused, 0, 20);
    tcase_add_test(tcase, signatures_differ);
    suite_add_tcase(suite, tcase);
    return suite;
}
