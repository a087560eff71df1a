/* SPDX-License-Identifier: MIT
 *
 * What is special to the ZeroMQ wires: keys, exposure, strangers, malformed
 * messages, and how a death is seen from afar. What they share with the other
 * wires is in test_wire.c and test_wire_end.c.
 */
#include "wire/zmq_wire.h"
#include "wire_crew.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *suite_wire_zmq(void);

static const char *const names[] = {"ipc", "tcp"};

static void expect_refusal(struct gw_comm_config config, enum gw_err due,
                           const char *sentence)
{
    struct gw__wire *wire;
    struct gw_error why;
    enum gw_err err = gw__wire_open(&config, &wire, &why);
    ck_assert_msg(err == due, "%s", gw_err_name(err));
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
    ck_assert_ptr_null(wire);
}

/* ---- exposure ---- */

START_TEST(only_loopback_without_a_key)
{
    struct gw_comm_config config = crew_config("tcp", 0, 2);
    config.interface = "192.0.2.1";
    expect_refusal(
        config, GW_EINVAL,
        "tcp wire: 192.0.2.1 is open to the network: give a key file");
    config.interface = "eth0";
    expect_refusal(config, GW_EINVAL, "eth0 is open to the network");
    config.insecure = true;
    config.interface = "0.0.0.0";
    expect_refusal(config, GW_EINVAL, "name one interface, not \"0.0.0.0\"");
    config.interface = "no-such-interface";
    expect_refusal(config, GW_EUNREACH, "no-such-interface");
}
END_TEST

START_TEST(limits_are_told)
{
    struct gw_comm_config config = crew_config("ipc", 0, 2);
    config.lanes = 9;
    expect_refusal(config, GW_EINVAL, "ipc wire: 9 lanes: at most 8");
    ck_assert_uint_gt(gw__zmq_card_bytes(0, 256, 2, GW__ZMQ_TCP), 0);
    ck_assert_uint_gt(gw__zmq_card_bytes(0, 1000, 8, GW__ZMQ_IPC), 0);
    ck_assert_uint_eq(gw__zmq_card_bytes(0, 1000, 8, GW__ZMQ_TCP), 0);
}
END_TEST

/* libzmq would end the program; so it is refused before, or made possible. */
START_TEST(open_files_are_reserved)
{
    struct rlimit few = {.rlim_cur = 64, .rlim_max = 4096};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct crew crew;
    crew_start(&crew, "tcp", CREW_MAX, 4);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &few), 0);
    ck_assert_uint_gt(few.rlim_cur, 64);
    crew_end(&crew);
    few.rlim_cur = few.rlim_max = 100;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    expect_refusal(crew_config("tcp", 0, 20), GW_ESYS,
                   "the limit is 100 (ulimit -n)");
}
END_TEST

/* ---- keys ---- */

struct key_file {
    char path[40];
};

static struct key_file write_key(const char *text, mode_t mode)
{
    struct key_file file = {"/tmp/gradwire-test-key-XXXXXX"};
    int fd = mkstemp(file.path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    fchmod(fd, mode);
    close(fd);
    return file;
}

static struct key_file make_key(void)
{
    char public_key[41], secret_key[41], text[90];
    ck_assert_int_eq(zmq_curve_keypair(public_key, secret_key), 0);
    snprintf(text, sizeof text, "%s\n%s\n", public_key, secret_key);
    return write_key(text, 0600);
}

static void expect_bad_key(const char *text, mode_t mode, const char *sentence)
{
    struct key_file file = write_key(text, mode);
    struct gw_comm_config config = crew_config("tcp", 0, 2);
    config.key_file = file.path;
    expect_refusal(config, GW_EINVAL, sentence);
    unlink(file.path);
}

START_TEST(bad_key_files_are_refused)
{
    char one[] = "0123456789012345678901234567890123456789\n";
    char both[sizeof one * 2];
    snprintf(both, sizeof both, "%s%s", one, one);
    expect_bad_key(one, 0600, "must be two lines of 40 characters");
    expect_bad_key("", 0600, "must be two lines of 40 characters");
    expect_bad_key(both, 0600, "not of one pair");
    expect_bad_key(both, 0644, "(mode 0644); chmod 600 it");
    struct gw_comm_config config = crew_config("tcp", 0, 2);
    config.key_file = "/nonexistent/key";
    expect_refusal(config, GW_EINVAL, "No such file");
}
END_TEST

/* Two ranks, each with its own configuration, connected by two threads. */
struct pair {
    struct gw__wire *wires[2];
    struct gw__address table[2];
    enum gw_err errors[2];
    struct gw_error why[2];
    uint64_t patience_ns;
};

struct pair_half {
    struct pair *pair;
    unsigned rank;
};

static void *connect_half(void *context)
{
    struct pair_half *half = context;
    struct pair *p = half->pair;
    unsigned r = half->rank;
    p->errors[r] = p->wires[r]->ops->connect(
        p->wires[r], p->table, gw_now_ns() + p->patience_ns, &p->why[r]);
    return NULL;
}

static void open_pair(struct pair *pair, const struct gw_comm_config configs[2])
{
    for (unsigned r = 0; r < 2; r++) {
        enum gw_err err =
            gw__wire_open(&configs[r], &pair->wires[r], &pair->why[r]);
        ck_assert_msg(err == GW_OK, "%s", pair->why[r].text);
        pair->table[r] = pair->wires[r]->address;
    }
}

static void connect_pair(struct pair *pair, uint64_t patience_ns)
{
    pthread_t threads[2];
    struct pair_half halves[2];
    pair->patience_ns = patience_ns;
    for (unsigned r = 0; r < 2; r++) {
        halves[r] = (struct pair_half){pair, r};
        pthread_create(&threads[r], NULL, connect_half, &halves[r]);
    }
    for (unsigned r = 0; r < 2; r++)
        pthread_join(threads[r], NULL);
}

static void close_pair(struct pair *pair)
{
    for (unsigned r = 0; r < 2; r++)
        gw__wire_close(&pair->wires[r]);
}

START_TEST(a_shared_key_joins)
{
    struct key_file file = make_key();
    struct gw_comm_config configs[2];
    struct pair pair;
    struct gw__view view;
    struct gw__header header = {.bytes = 100000};
    unsigned char *data = malloc(100000);
    for (unsigned r = 0; r < 2; r++) {
        configs[r] = crew_config(names[_i], r, 2);
        configs[r].key_file = file.path;
        configs[r].interface = "127.0.0.2";
    }
    open_pair(&pair, configs);
    connect_pair(&pair, 5000000000U);
    ck_assert_msg(!pair.errors[0] && !pair.errors[1], "%s", pair.why[0].text);
    crew_fill(data, 100000, 1);
    crew_send(pair.wires[0], 1, &header, data, false);
    ck_assert_int_eq(crew_await(pair.wires[1], 0, &view), GW_OK);
    ck_assert(!crew_differs(view.data, 100000, 1));
    close_pair(&pair);
    unlink(file.path);
    free(data);
}
END_TEST

START_TEST(another_key_does_not_join)
{
    struct key_file files[2] = {make_key(), make_key()};
    struct gw_comm_config configs[2];
    struct pair pair;
    for (unsigned r = 0; r < 2; r++) {
        configs[r] = crew_config("tcp", r, 2);
        configs[r].key_file = files[r].path;
    }
    open_pair(&pair, configs);
    connect_pair(&pair, 200000000U);
    for (unsigned r = 0; r < 2; r++) {
        ck_assert_int_eq(pair.errors[r], GW_ETIMEOUT);
        ck_assert_ptr_nonnull(
            strstr(pair.why[r].text, "have all the same key file?"));
    }
    close_pair(&pair);
    configs[1].key_file = NULL;
    open_pair(&pair, configs);
    connect_pair(&pair, 200000000U);
    for (unsigned r = 0; r < 2; r++)
        ck_assert_int_eq(pair.errors[r], GW_EMISMATCH);
    ck_assert_ptr_nonnull(
        strstr(pair.why[0].text, "rank 1 has no key file, this rank has one"));
    close_pair(&pair);
    for (unsigned r = 0; r < 2; r++)
        unlink(files[r].path);
}
END_TEST

START_TEST(other_lanes_or_sizes_are_a_mismatch)
{
    struct gw_comm_config configs[2] = {crew_config("tcp", 0, 2),
                                        crew_config("tcp", 1, 2)};
    struct pair pair;
    configs[1].lanes = 3;
    open_pair(&pair, configs);
    connect_pair(&pair, 200000000U);
    ck_assert_int_eq(pair.errors[0], GW_EMISMATCH);
    ck_assert_ptr_nonnull(strstr(pair.why[0].text, "with 3 lanes"));
    close_pair(&pair);
    configs[1] = crew_config("tcp", 1, 5);
    open_pair(&pair, configs);
    pair.patience_ns = 0;
    struct pair_half half = {&pair, 0};
    connect_half(&half);
    ck_assert_int_eq(pair.errors[0], GW_EMISMATCH);
    ck_assert_ptr_nonnull(strstr(pair.why[0].text, "another number of ranks"));
    close_pair(&pair);
}
END_TEST

/* ---- strangers and rubbish ---- */

/* Somebody takes the place of rank 1 before it comes, and says what he knows.
 */
START_TEST(a_stranger_is_not_taken_for_a_rank)
{
    struct gw_comm_config config = crew_config("ipc", 0, 2);
    struct gw__wire *wire;
    struct gw__zmq_card card = {0};
    struct gw_error why;
    char endpoint[128];
    ck_assert_int_eq(gw__wire_open(&config, &wire, &why), GW_OK);
    struct gw__address table[2] = {wire->address, wire->address};
    memcpy(&card, wire->address.blob, wire->address.bytes);
    gw__zmq_endpoint(&card, 0, 1, 0, endpoint);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    ck_assert_int_eq(zmq_connect(socket, endpoint), 0);
    struct gw__note hello = {.kind = GW__HELLO, .from = 1, .to = 0};
    size_t bytes = gw__note_seal(&hello);
    ck_assert_int_eq(zmq_send(socket, &hello, bytes, 0), (int)bytes);
    enum gw_err err =
        wire->ops->connect(wire, table, gw_now_ns() + 5000000000U, &why);
    ck_assert_int_eq(err, GW_EMISMATCH);
    ck_assert_ptr_nonnull(
        strstr(why.text, "a stranger connected in the place of rank 1"));
    zmq_close(socket);
    zmq_ctx_term(context);
    gw__wire_close(&wire);
}
END_TEST

/* Whatever comes on a lane or beside it, the link is lost with a sentence. */
static void expect_lost(struct crew *crew, const char *sentence)
{
    struct gw__view view;
    struct gw_error why;
    ck_assert_int_eq(crew_await(crew->wires[0], 1, &view), GW_ELOST);
    ck_assert_int_eq(crew_await_failure(crew->wires[0], 1000, &why), GW_ELOST);
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
    ck_assert_ptr_nonnull(strstr(why.text, "rank 1"));
    ck_assert_int_eq(crew->wires[0]->ops->peek(crew->wires[0], 1, &view),
                     GW_ELOST);
    crew_end(crew);
}

START_TEST(malformed_messages_lose_the_link)
{
    static const size_t parts[][4] = {{5},     {0},     {49},
                                      {48, 7}, {50, 8}, {48, 8, 1}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct crew crew;
        struct gw__header header = {.bytes = 8};
        unsigned char bytes[64] = {0};
        crew_start(&crew, names[_i], 2, 0);
        void *socket = gw__zmq_of(crew.wires[1])->links[0].lanes[0].socket;
        memcpy(bytes, &header, sizeof header);
        for (size_t p = 0; p == 0 || parts[i][p]; p++)
            zmq_send(socket, bytes, parts[i][p],
                     parts[i][p + 1] ? ZMQ_SNDMORE : 0);
        expect_lost(&crew, "malformed slice");
    }
}
END_TEST

START_TEST(malformed_notes_lose_the_link)
{
    struct gw__note notes[] = {
        {.kind = 99, .from = 1},
        {.kind = GW__CREDIT, .from = 1, .count = 1},
        {.kind = GW__CREDIT, .from = 5},
        {.kind = GW__ABORT, .from = 1, .code = 3},
        {.kind = GW__HELLO, .from = 1},
    };
    static const char *const sentences[] = {
        "unknown kind 99", "credit for slices that were not sent",
        "from rank 5", "unknown code 3", "a second HELLO"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct crew crew;
        crew_start(&crew, names[_i], 2, 0);
        void *socket = gw__zmq_of(crew.wires[1])->links[0].notes->socket;
        size_t bytes = gw__note_seal(&notes[i]);
        ck_assert_int_eq(zmq_send(socket, &notes[i], bytes, 0), (int)bytes);
        expect_lost(&crew, sentences[i]);
    }
    struct crew crew;
    crew_start(&crew, names[_i], 2, 0);
    void *socket = gw__zmq_of(crew.wires[1])->links[0].notes->socket;
    ck_assert_int_eq(zmq_send(socket, "boo", 3, 0), 3);
    expect_lost(&crew, "malformed note of 3 bytes");
}
END_TEST

/* ---- a death, seen from afar or in disguise ---- */

static void be_idle(struct gw__wire *wire, void *context)
{
    (void)wire;
    (void)context;
}

/* Nobody watches a process on another host; its connection's end tells. */
START_TEST(a_far_peer_is_lost_with_its_connection)
{
    struct crew crew;
    struct gw_error why;
    crew_start_with_child(&crew, names[_i], 2, 1, be_idle, NULL);
    struct gw__zmq *zmq = gw__zmq_of(crew.wires[0]);
    gw__watch_fini(&zmq->watch);
    ck_assert_int_eq(gw__watch_init(&zmq->watch, 2, &why), GW_OK);
    kill(crew.child, SIGKILL);
    ck_assert_int_eq(crew_await_failure(crew.wires[0], 1000, &why), GW_ELOST);
    ck_assert_str_eq(why.text, "rank 1 lost: its connection ended");
    crew_end(&crew);
}
END_TEST

static void leave_a_child(struct gw__wire *wire, void *context)
{
    (void)wire;
    pid_t *orphan = context, child = fork();
    while (child == 0)
        pause();
    *orphan = child;
}

/* The dead peer's own child still holds the connection open. */
START_TEST(a_connection_that_is_held_open_hides_no_death)
{
    struct crew crew;
    struct gw_error why;
    pid_t *orphan = mmap(NULL, sizeof *orphan, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crew_start_with_child(&crew, names[_i], 2, 1, leave_a_child, orphan);
    kill(crew.child, SIGKILL);
    enum gw_err err = crew_await_failure(crew.wires[0], 1000, &why);
    ck_assert_int_gt(*orphan, 0);
    kill(*orphan, SIGKILL);
    ck_assert_int_eq(err, GW_ELOST);
    ck_assert_str_eq(why.text, "rank 1 lost: its process ended");
    crew_end(&crew);
    munmap(orphan, sizeof *orphan);
}
END_TEST

/* ---- buffers and sleep ---- */

static uint32_t lend_many(struct gw__wire *wire, const void *data, size_t bytes)
{
    struct gw__header header = {.bytes = (uint32_t)bytes};
    uint32_t sent = 0;
    while (wire->ops->send(wire, 1, &header, data, false) == GW_OK)
        sent++;
    return sent;
}

/* So that the user of a failed call may free its buffers. */
START_TEST(an_abort_gives_lent_buffers_back)
{
    enum { BYTES = 1 << 20 };
    unsigned char *data = calloc(1, BYTES);
    struct gw_error reason = {GW_EINTR, "enough"};
    for (unsigned aborter = 0; aborter < 2; aborter++) {
        struct crew crew;
        crew_start_with_child(&crew, names[_i], 3, 1, be_idle, NULL);
        kill(crew.child, SIGSTOP);
        struct gw__wire *lender = crew.wires[0];
        uint32_t sent = lend_many(lender, data, BYTES);
        struct gw__wire *by = crew.wires[aborter ? 2 : 0];
        by->ops->abort(by, &reason);
        ck_assert_int_eq(crew_await_failure(lender, 1000, NULL), GW_EINTR);
        ck_assert_uint_eq(lender->ops->sends_done(lender, 1), sent);
        crew_end(&crew);
    }
    free(data);
}
END_TEST

/* The news is heard by a sender who only looks for room. */
START_TEST(a_sender_without_room_hears_an_abort)
{
    struct crew crew;
    unsigned char *data = calloc(1, 1 << 20);
    struct gw__header header = {.bytes = 1 << 20};
    struct gw_error reason = {GW_EINTR, "enough"};
    crew_start(&crew, names[_i], 2, 0);
    struct gw__wire *sender = crew.wires[0];
    lend_many(sender, data, header.bytes);
    crew.wires[1]->ops->abort(crew.wires[1], &reason);
    enum gw_err err = GW_PENDING;
    uint64_t deadline = gw_now_ns() + 2000000000U;
    while (err == GW_PENDING && gw_now_ns() < deadline)
        err = sender->ops->send(sender, 1, &header, data, false);
    ck_assert_int_eq(err, GW_ECLOSED);
    ck_assert_int_eq(sender->ops->check(sender, NULL), GW_EINTR);
    crew_end(&crew);
    free(data);
}
END_TEST

/* Who does not look at a link is woken by it once, and then sleeps. */
START_TEST(an_unwanted_slice_wakes_once)
{
    struct crew crew;
    struct gw__header header = {.bytes = 4};
    crew_start(&crew, names[_i], 2, 0);
    struct gw__wire *sleeper = crew.wires[0];
    crew_send(crew.wires[1], 0, &header, "data", true);
    for (int i = 0; i < 5; i++)
        sleeper->ops->wait(sleeper, 20000000);
    uint64_t begin = gw_now_ns();
    sleeper->ops->wait(sleeper, 20000000);
    ck_assert_uint_ge(gw_now_ns() - begin, 20000000);
    struct gw__view view;
    ck_assert_int_eq(sleeper->ops->peek(sleeper, 1, &view), GW_OK);
    begin = gw_now_ns();
    sleeper->ops->wait(sleeper, 20000000);
    ck_assert_uint_ge(gw_now_ns() - begin, 20000000);
    crew_end(&crew);
}
END_TEST

Suite *suite_wire_zmq(void)
{
    Suite *suite = suite_create("wire_zmq");
    TCase *tests = tcase_create("zmq");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, only_loopback_without_a_key);
    tcase_add_test(tests, limits_are_told);
    tcase_add_test(tests, open_files_are_reserved);
    tcase_add_test(tests, bad_key_files_are_refused);
    tcase_add_loop_test(tests, a_shared_key_joins, 0, 2);
    tcase_add_test(tests, another_key_does_not_join);
    tcase_add_test(tests, other_lanes_or_sizes_are_a_mismatch);
    tcase_add_test(tests, a_stranger_is_not_taken_for_a_rank);
    tcase_add_loop_test(tests, malformed_messages_lose_the_link, 0, 2);
    tcase_add_loop_test(tests, malformed_notes_lose_the_link, 0, 2);
    tcase_add_loop_test(tests, a_far_peer_is_lost_with_its_connection, 0, 2);
    tcase_add_loop_test(tests, a_connection_that_is_held_open_hides_no_death, 0,
                        2);
    tcase_add_loop_test(tests, an_abort_gives_lent_buffers_back, 0, 2);
    tcase_add_loop_test(tests, a_sender_without_room_hears_an_abort, 0, 2);
    tcase_add_loop_test(tests, an_unwanted_slice_wakes_once, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
