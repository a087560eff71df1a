/* SPDX-License-Identifier: MIT
 *
 * The messenger between processes: nodes that are killed in the middle, and
 * that come back in another incarnation.
 */
#include "messenger_set.h"

#include <gradwire/wire.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_messenger_death(void);

static const size_t MIB = 1 << 20;

/* Node 1 is a child, the test is node 0. Children are forked before the test
 * opens a messenger, which has threads, and each begins on a signal. */
struct child {
    struct gw__messenger_config config;
    pid_t pid;
    int channel;
};

static void exchange(struct gw__messenger *messenger,
                     const struct gw__messenger_config *theirs, int channel)
{
    struct gw__address address;
    const struct gw__address *own = gw__messenger_address(messenger);
    if (write(channel, own, sizeof *own) != sizeof *own ||
        recv(channel, &address, sizeof address, MSG_WAITALL) !=
            sizeof address ||
        gw__messenger_know(messenger, theirs->node, theirs->incarnation_high,
                           theirs->incarnation_low, &address, NULL) != GW_OK)
        abort();
}

static void live(const struct gw__messenger_config *config, int channel,
                 void (*life)(struct gw__messenger *))
{
    struct gw__messenger *messenger;
    struct gw__messenger_config theirs = messenger_config(config->wire, 0);
    char go;
    if (read(channel, &go, 1) != 1)
        _exit(0);
    if (gw__messenger_open(config, &messenger, NULL) != GW_OK)
        abort();
    exchange(messenger, &theirs, channel);
    life(messenger);
    for (;;)
        pause();
}

/* The child will open node 1 in incarnation (1, low), exchange addresses with
 * node 0 and run `life`. After that it waits to be killed. */
static struct child child_new(const char *wire, uint64_t low,
                              void (*life)(struct gw__messenger *))
{
    int channel[2];
    struct child child = {.config = messenger_config(wire, 1)};
    child.config.incarnation_low = low;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
    child.pid = fork();
    ck_assert_int_ge(child.pid, 0);
    if (child.pid == 0) {
        close(channel[0]);
        live(&child.config, channel[1], life);
    }
    close(channel[1]);
    child.channel = channel[0];
    return child;
}

static void child_begin(struct child *child, struct gw__messenger *messenger)
{
    ck_assert_int_eq(write(child->channel, "g", 1), 1);
    exchange(messenger, &child->config, child->channel);
}

static void child_kill(struct child *child)
{
    kill(child->pid, SIGKILL);
    ck_assert_int_eq(waitpid(child->pid, NULL, 0), child->pid);
    close(child->channel);
}

/* ---- lives ---- */

static void echo_for_ever(struct gw__messenger *messenger)
{
    for (;;) {
        struct gw__message_in *in;
        while (gw__messenger_receive(messenger, &in) != GW_OK)
            gw__messenger_wait(messenger, UINT64_MAX);
        struct gw__message_out out = {.node = in->from,
                                      .part_count = in->part_count};
        memcpy(out.parts, in->parts, sizeof out.parts);
        gw__messenger_send(messenger, &out);
        gw__message_in_release(in);
    }
}

static void send_nothing(struct gw__messenger *messenger)
{
    (void)messenger;
}

/* Sends a message in its own memory and a copied one, and waits until both have
 * left. */
static void send_two(struct gw__messenger *messenger)
{
    unsigned back = 0;
    void *memory = gw_alloc(MIB, NULL), *data = malloc(MIB);
    messenger_fill(memory, MIB, 1);
    messenger_fill(data, MIB, 2);
    struct gw__message_out message = {.node = 0,
                                      .part_count = 2,
                                      .parts = {{memory, MIB}, {data, MIB}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = &back};
    gw__messenger_send(messenger, &message);
    while (back == 0)
        gw__messenger_wait(messenger, UINT64_MAX);
}

/* ---- tests ---- */

START_TEST(processes_answer_each_other)
{
    static const size_t sizes[] = {0, 100, 5000, 1 << 20, 40 << 20};
    struct child child = child_new(messenger_wires[_i], 1, echo_for_ever);
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    child_begin(&child, messenger);
    for (unsigned i = 0; i < 5; i++) {
        unsigned back = 0;
        void *memory = gw_alloc(sizes[i] ? sizes[i] : 1, NULL);
        ck_assert_ptr_nonnull(memory);
        messenger_fill(memory, sizes[i], i);
        struct gw__message_out out = {.node = 1,
                                      .part_count = 2,
                                      .parts = {{memory, sizes[i]}, {&i, 4}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = &back};
        ck_assert_int_eq(gw__messenger_send(messenger, &out), GW_OK);
        struct gw__message_in *in = messenger_await(messenger);
        ck_assert_uint_eq(in->parts[0].bytes, sizes[i]);
        ck_assert(!messenger_differs(in->parts[0].data, sizes[i], i));
        ck_assert_mem_eq(in->parts[1].data, &i, 4);
        gw__message_in_release(in);
        messenger_await_count(messenger, &back, 1);
        gw_free(memory);
    }
    child_kill(&child);
    gw__messenger_close(&messenger);
}
END_TEST

/* Messages stay readable after their sender has died and was forgotten. */
START_TEST(a_dead_senders_messages_stay)
{
    struct child child = child_new(messenger_wires[_i], 1, send_two);
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    child_begin(&child, messenger);
    struct gw__message_in *message = messenger_await(messenger);
    child_kill(&child);
    ck_assert(!messenger_differs(message->parts[0].data, MIB, 1));
    gw__messenger_forget(messenger, 1);
    ck_assert(!messenger_differs(message->parts[1].data, MIB, 2));
    gw__messenger_close(&messenger);
    ck_assert(!messenger_differs(message->parts[0].data, MIB, 1));
    gw__message_in_release(message);
}
END_TEST

/* The child echoes as long as it lives. Forgetting it returns the memory that
 * it has not returned. Its successor receives none of its messages. */
START_TEST(a_killed_receiver_is_replaced)
{
    enum { LIVES = 5 };
    struct child children[LIVES];
    for (unsigned i = 0; i < LIVES; i++)
        children[i] = child_new(messenger_wires[_i], i + 1, echo_for_ever);
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    unsigned back = 0, sent = 0;
    char *memory = gw_alloc(MIB, NULL);
    for (unsigned life = 1; life <= LIVES; life++) {
        child_begin(&children[life - 1], messenger);
        messenger_fill(memory, MIB, life);
        struct gw__message_out out = {.node = 1,
                                      .part_count = 1,
                                      .parts = {{memory, MIB}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = &back};
        for (unsigned i = 0; i < 200; i++, sent++)
            ck_assert_int_eq(gw__messenger_send(messenger, &out), GW_OK);
        for (unsigned i = 0; i < life; i++) {
            struct gw__message_in *in = messenger_await(messenger);
            ck_assert_uint_eq(in->incarnation_low, life);
            ck_assert(!messenger_differs(in->parts[0].data, MIB, life));
            gw__message_in_release(in);
        }
        child_kill(&children[life - 1]);
        ck_assert_int_eq(gw__messenger_send(messenger, &out), GW_OK);
        sent++;
        if (life % 2) /* odd lives: forget before the next one */
            gw__messenger_forget(messenger, 1);
    }
    gw__messenger_forget(messenger, 1);
    messenger_expect_none(messenger);
    ck_assert_uint_eq(back, sent);
    gw__messenger_close(&messenger);
    ck_assert_uint_eq(back, sent);
    gw_free(memory);
}
END_TEST

START_TEST(a_process_that_has_ended_is_not_known)
{
    int channel[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
    struct gw__messenger_config theirs =
        messenger_config(messenger_wires[_i], 1);
    pid_t child = fork();
    if (child == 0) {
        struct gw__messenger *mine;
        if (gw__messenger_open(&theirs, &mine, NULL) != GW_OK)
            abort();
        const struct gw__address *own = gw__messenger_address(mine);
        _exit(write(channel[1], own, sizeof *own) != sizeof *own);
    }
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    struct gw__address address;
    struct gw_error why;
    ck_assert_int_eq(recv(channel[0], &address, sizeof address, MSG_WAITALL),
                     sizeof address);
    /* the child is a zombie or already reaped */
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 1, &address, &why),
                     GW_ELOST);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 1, &address, &why),
                     GW_ELOST);
    ck_assert_ptr_nonnull(strstr(why.text, "messenger: node 1: its process ("));
    ck_assert(!gw__messenger_knows(messenger, 1, 1, 1));
    close(channel[0]);
    close(channel[1]);
    gw__messenger_close(&messenger);
}
END_TEST

/* A message of a former life is released after the new life has begun: this
 * must not return memory of the new life. */
START_TEST(late_releases_do_not_touch_the_next_life)
{
    enum { LIVES = 3 };
    struct child children[LIVES];
    struct gw__message_in *held[LIVES];
    for (unsigned i = 0; i < LIVES; i++)
        children[i] = child_new(messenger_wires[_i], i + 1, send_two);
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    for (unsigned life = 1; life <= LIVES; life++) {
        child_begin(&children[life - 1], messenger);
        held[life - 1] = messenger_await(messenger);
        if (life > 1)
            gw__message_in_release(held[life - 2]);
        ck_assert(!messenger_differs(held[life - 1]->parts[0].data, MIB, 1));
        ck_assert(!messenger_differs(held[life - 1]->parts[1].data, MIB, 2));
        child_kill(&children[life - 1]);
    }
    gw__message_in_release(held[LIVES - 1]);
    gw__messenger_close(&messenger);
}
END_TEST

/* Closing does not wait for dead peers or for peers that never read. */
START_TEST(close_is_not_delayed)
{
    unsigned back = 0;
    char *memory = gw_alloc(MIB, NULL);
    struct child child = child_new(messenger_wires[_i], 1, send_nothing);
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    child_begin(&child, messenger);
    struct gw__message_out message = {.node = 1,
                                      .part_count = 1,
                                      .parts = {{memory, MIB}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = &back};
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(gw__messenger_send(messenger, &message), GW_OK);
    gw__messenger_close(&messenger);
    ck_assert_uint_eq(back, 100);
    child_kill(&child);
    gw_free(memory);
}
END_TEST

Suite *suite_messenger_death(void)
{
    Suite *suite = suite_create("messenger_death");
    TCase *tests = tcase_create("messenger_death");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, processes_answer_each_other, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, a_dead_senders_messages_stay, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, a_killed_receiver_is_replaced, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, a_process_that_has_ended_is_not_known, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, late_releases_do_not_touch_the_next_life, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, close_is_not_delayed, 0, MESSENGER_WIRES);
    suite_add_tcase(suite, tests);
    return suite;
}
