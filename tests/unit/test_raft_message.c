/* SPDX-License-Identifier: MIT
 *
 * Messages of the controllers' log as bytes: each is decoded as it was, and all
 * others are refused.
 */
#include <cluster/raft/raft_message.h>

#include <check.h>
#include <string.h>

Suite *suite_raft_message(void);

enum { ROOM = 1 << 20 };

static uint8_t bytes[ROOM], again[ROOM];
static uint64_t words[4] = {11, 12, 13, 14};
static struct raft_entry entries[] = {
    {.term = 3, .type = RAFT_COMMAND, .buf = {words, 8}},
    {.term = 3, .type = RAFT_BARRIER, .buf = {words + 1, 16}},
    {.term = 4, .type = RAFT_CHANGE, .buf = {words + 2, 8}}};
static char first[] = "10.0.0.1:7001", second[] = "[::1]:7001";
static struct raft_server servers[] = {{1, first, RAFT_VOTER},
                                       {2, second, RAFT_SPARE}};

/* One of each, and AppendEntries without entries. */
static const struct raft_message messages[] = {
    {.type = RAFT_IO_REQUEST_VOTE,
     .request_vote = {.term = 5,
                      .candidate_id = 2,
                      .last_log_index = 7,
                      .last_log_term = 4,
                      .disrupt_leader = true}},
    {.type = RAFT_IO_REQUEST_VOTE_RESULT,
     .request_vote_result = {.term = 5,
                             .vote_granted = true,
                             .pre_vote = raft_tribool_false}},
    {.type = RAFT_IO_APPEND_ENTRIES,
     .append_entries = {.term = 5,
                        .prev_log_index = 7,
                        .prev_log_term = 4,
                        .leader_commit = 6,
                        .entries = entries,
                        .n_entries = 3}},
    {.type = RAFT_IO_APPEND_ENTRIES,
     .append_entries = {.term = 5, .leader_commit = 6}},
    {.type = RAFT_IO_APPEND_ENTRIES_RESULT,
     .append_entries_result = {.term = 5, .rejected = 3, .last_log_index = 2}},
    {.type = RAFT_IO_INSTALL_SNAPSHOT,
     .install_snapshot = {.term = 5,
                          .last_index = 6,
                          .last_term = 4,
                          .conf = {.servers = servers, .n = 2},
                          .conf_index = 1,
                          .data = {words, sizeof words}}},
    {.type = RAFT_IO_TIMEOUT_NOW,
     .timeout_now = {.term = 5, .last_log_index = 7, .last_log_term = 4}},
};
enum { MESSAGES = sizeof messages / sizeof *messages };

static size_t encode(unsigned i)
{
    bool whole;
    size_t used = gw__raft_message_encode(&messages[i], bytes, ROOM, &whole);
    ck_assert_uint_gt(used, 0);
    ck_assert(whole);
    return used;
}

static bool decode(size_t used, struct raft_message *message)
{
    struct gw_error why = {0};
    enum gw_err err = gw__raft_message_decode(bytes, used, message, &why);
    ck_assert_int_eq(err, err ? GW_EDATA : GW_OK);
    ck_assert_int_eq(why.code, err);
    return err == GW_OK;
}

START_TEST(a_message_comes_back_as_it_was)
{
    bool whole;
    struct raft_message message;
    size_t used = encode((unsigned)_i);
    ck_assert(decode(used, &message));
    ck_assert_int_eq(message.type, messages[_i].type);
    ck_assert_uint_eq(gw__raft_message_encode(&message, again, ROOM, &whole),
                      used);
    ck_assert_mem_eq(again, bytes, used);
    gw__raft_message_drop(&message);
    ck_assert_uint_eq(
        gw__raft_message_encode(&messages[_i], again, used - 1, &whole), 0);
}
END_TEST

START_TEST(what_it_refers_to_is_libraft_s)
{
    struct raft_message message;
    ck_assert(decode(encode(2), &message));
    const struct raft_append_entries *a = &message.append_entries;
    ck_assert_uint_eq(a->prev_log_index, 7);
    ck_assert_uint_eq(a->n_entries, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_ptr_eq(a->entries[i].batch, a->entries[0].batch);
        ck_assert_uint_eq((uintptr_t)a->entries[i].buf.base % 8, 0);
        ck_assert_uint_eq(a->entries[i].buf.len, entries[i].buf.len);
        ck_assert_mem_eq(a->entries[i].buf.base, entries[i].buf.base,
                         entries[i].buf.len);
        ck_assert_int_eq(a->entries[i].type, entries[i].type);
    }
    gw__raft_message_drop(&message);
    ck_assert(decode(encode(5), &message));
    const struct raft_install_snapshot *s = &message.install_snapshot;
    ck_assert_uint_eq(s->conf.n, 2);
    ck_assert_str_eq(s->conf.servers[1].address, second);
    ck_assert_int_eq(s->conf.servers[1].role, RAFT_SPARE);
    ck_assert_mem_eq(s->data.base, words, sizeof words);
    gw__raft_message_drop(&message);
}
END_TEST

/* Truncated, with an additional byte, and with each byte changed: refused, or
 * another valid message. */
START_TEST(rubbish_is_refused)
{
    bool whole;
    struct raft_message message;
    size_t used = encode((unsigned)_i);
    for (size_t i = 0; i < used; i++)
        ck_assert(!decode(i, &message));
    bytes[used] = 0;
    ck_assert(!decode(used + 1, &message));
    for (size_t i = 0; i < used; i++)
        for (unsigned value = 0; value < 256; value++) {
            encode((unsigned)_i);
            bytes[i] = (uint8_t)value;
            if (!decode(used, &message))
                continue;
            ck_assert_uint_eq(
                gw__raft_message_encode(&message, again, ROOM, &whole), used);
            ck_assert_mem_eq(again, bytes, used);
            gw__raft_message_drop(&message);
        }
}
END_TEST

START_TEST(the_same_server_twice_is_refused)
{
    struct raft_message message = messages[5];
    struct raft_server twice[] = {{1, first, RAFT_VOTER},
                                  {1, second, RAFT_VOTER}};
    bool whole;
    message.install_snapshot.conf.servers = twice;
    size_t used = gw__raft_message_encode(&message, bytes, ROOM, &whole);
    ck_assert_uint_gt(used, 0);
    ck_assert(!decode(used, &message));
}
END_TEST

START_TEST(no_message_is_not_written)
{
    bool whole;
    struct raft_message message = {.type = RAFT_IO_TIMEOUT_NOW + 1};
    ck_assert_uint_eq(gw__raft_message_encode(&message, bytes, ROOM, &whole),
                      0);
}
END_TEST

/* libraft would put its whole log into one. */
START_TEST(entries_are_left_out_at_the_end)
{
    enum { MANY = 100 };
    static uint8_t block[2 * GW__RAFT_ENTRIES_BYTES];
    static struct raft_entry many[MANY];
    struct raft_message message = messages[2], read;
    bool whole;
    for (unsigned i = 0; i < MANY; i++)
        many[i] = (struct raft_entry){
            .term = 3, .type = RAFT_COMMAND, .buf = {block, 1 << 13}};
    message.append_entries.entries = many;
    message.append_entries.n_entries = MANY;
    size_t used = gw__raft_message_encode(&message, bytes, ROOM, &whole);
    ck_assert(!whole);
    ck_assert(decode(used, &read));
    ck_assert_uint_eq(read.append_entries.n_entries, 7);
    gw__raft_message_drop(&read);
    many[0].buf.len = sizeof block; /* one goes as it is */
    used = gw__raft_message_encode(&message, bytes, ROOM, &whole);
    ck_assert(!whole);
    ck_assert(decode(used, &read));
    ck_assert_uint_eq(read.append_entries.n_entries, 1);
    gw__raft_message_drop(&read);
    message.append_entries.n_entries = 1;
    gw__raft_message_encode(&message, bytes, ROOM, &whole);
    ck_assert(whole);
}
END_TEST

Suite *suite_raft_message(void)
{
    Suite *suite = suite_create("raft_message");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, a_message_comes_back_as_it_was, 0, MESSAGES);
    tcase_add_test(t, what_it_refers_to_is_libraft_s);
    tcase_add_loop_test(t, rubbish_is_refused, 0, MESSAGES);
    tcase_add_test(t, the_same_server_twice_is_refused);
    tcase_add_test(t, no_message_is_not_written);
    tcase_add_test(t, entries_are_left_out_at_the_end);
    suite_add_tcase(suite, t);
    return suite;
}
