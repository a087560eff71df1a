/* SPDX-License-Identifier: MIT
 *
 * The pure parts of launching: frames that survive any fragmentation and refuse
 * invalid ones, the verdict that finds the first cause among n endings, and the
 * attention that distinguishes a rank's silence from its own absence.
 */
#include "common/launch/launch_parts.h"
#include "common/launched.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_launch_parts(void);

/* ---- frames ---- */

static int ends[2];
static struct frames frames;
static struct gw_error why;

static void open_pipe(void)
{
    ck_assert_int_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static void close_pipe(void)
{
    frames_fini(&frames);
    close(ends[0]);
    close(ends[1]);
}

static void write_all(const void *data, size_t bytes)
{
    ck_assert_int_eq(write(ends[1], data, bytes), (ssize_t)bytes);
}

START_TEST(frames_keep_order_and_bytes)
{
    struct gw_error last = {.code = GW_ELOST, .text = "gone"};
    struct frame frame;
    ck_assert(frame_write(ends[1], FRAME_REPORT, "abc", 3));
    ck_assert(frame_write(ends[1], FRAME_REPORT, "", 0));
    ck_assert(frame_write(ends[1], FRAME_RESULT, &last, sizeof last));
    ck_assert_int_eq(frames_pull(&frames, ends[0], &why), GW_OK);
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_OK);
    ck_assert_uint_eq(frame.kind, FRAME_REPORT);
    ck_assert_uint_eq(frame.bytes, 3);
    ck_assert_mem_eq(frame.data, "abc", 3);
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_OK);
    ck_assert_uint_eq(frame.bytes, 0);
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_OK);
    ck_assert_mem_eq(frame.data, &last, sizeof last);
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_PENDING);
    ck_assert_int_eq(frames_pull(&frames, ends[0], &why), GW_PENDING);
}
END_TEST

/* A frame that comes byte by byte is complete with its last byte, not
 * before. */
START_TEST(frames_survive_tearing)
{
    int whole[2];
    unsigned char bytes[8 + 5];
    struct frame frame;
    ck_assert_int_eq(pipe(whole), 0);
    ck_assert(frame_write(whole[1], FRAME_REPORT, "hello", 5));
    ck_assert_int_eq(read(whole[0], bytes, sizeof bytes), sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_PENDING);
        write_all(&bytes[i], 1);
        ck_assert_int_eq(frames_pull(&frames, ends[0], &why), GW_OK);
    }
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_OK);
    ck_assert_mem_eq(frame.data, "hello", 5);
    close(whole[0]);
    close(whole[1]);
}
END_TEST

START_TEST(largest_frame_goes_through)
{
    unsigned char *data = malloc(FRAME_BYTES_MAX);
    struct frame frame;
    enum gw_err code;
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < FRAME_BYTES_MAX; i++)
        data[i] = (unsigned char)(i * 31 >> 3);
    pid_t writer = fork();
    if (writer == 0)
        _exit(!frame_write(ends[1], FRAME_REPORT, data, FRAME_BYTES_MAX));
    while ((code = frames_next(&frames, &frame, &why)) == GW_PENDING) {
        struct pollfd readable = {.fd = ends[0], .events = POLLIN};
        ck_assert_int_eq(poll(&readable, 1, 5000), 1);
        ck_assert_int_eq(frames_pull(&frames, ends[0], &why), GW_OK);
    }
    ck_assert_int_eq(code, GW_OK);
    ck_assert_uint_eq(frame.bytes, FRAME_BYTES_MAX);
    ck_assert_mem_eq(frame.data, data, FRAME_BYTES_MAX);
    free(data);
}
END_TEST

static void refuses(uint32_t kind, uint32_t bytes)
{
    uint32_t head[2] = {kind, bytes};
    struct frame frame;
    write_all(head, sizeof head);
    ck_assert_int_eq(frames_pull(&frames, ends[0], &why), GW_OK);
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_EDATA);
    frames_fini(&frames);
}

START_TEST(nonsense_is_refused)
{
    refuses(0, 4);
    refuses(4, 4);
    refuses(FRAME_REPORT, FRAME_BYTES_MAX + 1);
    refuses(FRAME_REPORT, UINT32_MAX);
    refuses(FRAME_EVENTS, sizeof(struct gw_event) + 1);
    refuses(FRAME_LIFE, 1);
    refuses(FRAME_LIFE + 1, 0);
    refuses(FRAME_RESULT, 3);
    ck_assert_str_eq(why.text, "invalid frame: kind 3, 3 bytes");
}
END_TEST

START_TEST(torn_frame_of_the_dead_is_never_whole)
{
    uint32_t head[2] = {FRAME_REPORT, 100};
    struct frame frame;
    write_all(head, sizeof head);
    write_all("half", 4);
    close(ends[1]);
    ck_assert_int_eq(frames_pull(&frames, ends[0], &why), GW_OK);
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_PENDING);
    ck_assert_int_eq(frames_pull(&frames, ends[0], &why), GW_ECLOSED);
    ck_assert_int_eq(frames_next(&frames, &frame, &why), GW_PENDING);
    ends[1] = open("/dev/null", O_RDONLY);
}
END_TEST

/* ---- verdicts ---- */

/* As waitpid codes them on Linux: the signal, or the status times 256. */
enum { KILLED = 9, SEGFAULT = 11, EXIT_3 = 3 << 8 };

static struct ending ended_normally(void)
{
    return (struct ending){.pid = 100, .reported = true};
}

static struct ending failed(enum gw_err code, const char *text)
{
    struct ending ending = ended_normally();
    gw_fail(&ending.result, code, "%s", text);
    return ending;
}

static struct ending dead(pid_t pid, int status, uint64_t turn)
{
    return (struct ending){.pid = pid, .status = status, .turn = turn};
}

static struct ending shot(void)
{
    return (struct ending){.pid = 100, .status = KILLED, .killed = true};
}

static void expect(const struct ending *endings, unsigned ranks,
                   enum gw_err code, const char *text)
{
    gw_fail(&why, GW_OK, "%s", "");
    ck_assert_int_eq(verdict_of(endings, ranks, "rank", &why), code);
    ck_assert_str_eq(why.text, text);
}

/* Killed because it was silent. */
static struct ending silent(pid_t pid, unsigned ms, uint64_t turn)
{
    struct ending ending = dead(pid, KILLED, turn);
    ending.silent_ms = ms;
    return ending;
}

START_TEST(all_ended_normally)
{
    struct ending endings[] = {ended_normally(), ended_normally()};
    expect(endings, 2, GW_OK, "");
}
END_TEST

START_TEST(the_dead_come_first_then_a_witness)
{
    struct ending endings[] = {
        failed(GW_ELOST, "allreduce op 57: rank 0 waits for rank 2"),
        shot(),
        dead(4711, KILLED, 1),
    };
    expect(endings, 3, GW_ELOST,
           "rank 2 (pid 4711) was killed by signal 9 (Killed); "
           "rank 0: allreduce op 57: rank 0 waits for rank 2");
}
END_TEST

START_TEST(the_first_dead_is_named_the_others_counted)
{
    struct ending endings[] = {dead(1, KILLED, 3), dead(2, SEGFAULT, 1),
                               dead(3, KILLED, 2)};
    expect(endings, 3, GW_ELOST,
           "rank 1 (pid 2) was killed by signal 11 (Segmentation fault); "
           "2 more failed");
}
END_TEST

START_TEST(leaving_without_a_result_is_death)
{
    struct ending endings[] = {ended_normally(), dead(42, EXIT_3, 1)};
    expect(endings, 2, GW_ELOST,
           "rank 1 (pid 42) exited with status 3 without a result");
}
END_TEST

START_TEST(death_after_a_good_result_counts)
{
    struct ending endings[] = {ended_normally(), ended_normally()};
    endings[1].status = SEGFAULT;
    expect(endings, 2, GW_ELOST,
           "rank 1 (pid 100) was killed by signal 11 (Segmentation fault)");
}
END_TEST

START_TEST(a_cause_comes_before_a_consequence)
{
    struct ending endings[] = {
        failed(GW_ELOST, "rank 1 is gone"),
        failed(GW_EINVAL, "no such algorithm"),
        failed(GW_ECLOSED, "closed"),
    };
    expect(endings, 3, GW_EINVAL, "rank 1: no such algorithm");
    endings[1] = ended_normally();
    expect(endings, 3, GW_ELOST, "rank 0: rank 1 is gone");
}
END_TEST

START_TEST(one_that_never_leaves_is_named)
{
    struct ending endings[] = {ended_normally(), shot()};
    expect(endings, 2, GW_EINTERNAL,
           "rank 1 (pid 100) did not finish: internal error");
    endings[1].reported = true;
    endings[1].state = 'D';
    expect(endings, 2, GW_EINTERNAL,
           "rank 1 (pid 100) did not finish after its result (it was waiting "
           "in the kernel): internal error");
}
END_TEST

START_TEST(the_silent_are_named_as_the_dead_are)
{
    struct ending endings[] = {
        failed(GW_ELOST, "rank 0 waits for rank 1"),
        silent(4711, 700, 1),
        dead(12, KILLED, 2),
    };
    expect(endings, 3, GW_ELOST,
           "rank 1 (pid 4711) did not respond for 700 ms (stopped or "
           "hanging); 1 more failed; rank 0: rank 0 waits for rank 1");
    endings[1].killed = true; /* once more, after all others */
    endings[2] = shot();
    expect(endings, 3, GW_ELOST,
           "rank 1 (pid 4711) did not respond for 700 ms (stopped or "
           "hanging); rank 0: rank 0 waits for rank 1");
}
END_TEST

START_TEST(ranks_have_the_commands_name)
{
    struct ending endings[] = {failed(GW_EDATA, "no number"), ended_normally()};
    ck_assert_int_eq(verdict_of(endings, 2, "stage", &why), GW_EDATA);
    ck_assert_str_eq(why.text, "stage 0: no number");
    endings[1] = silent(7, 300, 1);
    ck_assert_int_eq(verdict_of(endings, 2, "stage", &why), GW_ELOST);
    ck_assert_str_eq(why.text, "stage 1 (pid 7) did not respond for 300 "
                               "ms (stopped or hanging); stage 0: no number");
    endings[1] = shot();
    endings[0] = ended_normally();
    ck_assert_int_eq(verdict_of(endings, 2, "stage", &why), GW_EINTERNAL);
    ck_assert_str_eq(why.text,
                     "stage 1 (pid 100) did not finish: internal error");
}
END_TEST

/* ---- silence ---- */

enum { MS = 1000000, SILENCE_MS = 800, INSPECT_NS = SILENCE_MS * MS / 8 };

/* Checks every 100 ms without a message; returns the time until the rank is
 * missed. */
static uint64_t missed_after(struct attention *attention, uint64_t *now_ns)
{
    uint64_t received_ns = attention->clock_ns, since_ns = *now_ns;
    while (!attention_is_silent(attention, received_ns))
        attention_update(attention, *now_ns += INSPECT_NS);
    return *now_ns - since_ns;
}

START_TEST(silence_is_missed_in_time)
{
    struct attention attention;
    uint64_t now_ns = 12345678900;
    attention_begin(&attention, SILENCE_MS, now_ns);
    ck_assert_int_eq(attention_wait_ms(&attention), SILENCE_MS / 8);
    ck_assert_uint_eq(missed_after(&attention, &now_ns),
                      (uint64_t)SILENCE_MS * MS);
    ck_assert(!attention_is_silent(&attention, attention.clock_ns));
}
END_TEST

/* The supervisor was stopped for a minute: that does not count as silence of a
 * rank. */
START_TEST(who_was_away_himself_waits_longer)
{
    struct attention attention;
    uint64_t now_ns = 1, received_ns;
    attention_begin(&attention, SILENCE_MS, now_ns);
    received_ns = attention.clock_ns;
    attention_update(&attention, now_ns += UINT64_C(60000) * MS);
    ck_assert(!attention_is_silent(&attention, received_ns));
    ck_assert_uint_le(attention.clock_ns - received_ns, 2 * INSPECT_NS);
    ck_assert_uint_ge(missed_after(&attention, &now_ns),
                      (uint64_t)SILENCE_MS * MS);
}
END_TEST

START_TEST(silence_is_checked_only_on_request)
{
    struct attention attention;
    attention_begin(&attention, 0, 5);
    for (uint64_t now_ns = 5; now_ns < 1000; now_ns += 100)
        attention_update(&attention, now_ns * MS);
    ck_assert(!attention_is_silent(&attention, 0));
    ck_assert_int_eq(attention_wait_ms(&attention), -1);
}
END_TEST

/* ---- meeting ---- */

START_TEST(a_timeout_extends_the_rendezvous_only)
{
    const uint64_t second_ns = 1000000000;
    struct launch launch = {.ranks = 2};
    ck_assert_uint_eq(rank_connect_ms(&launch), 0);
    launch.timeout_ns = 45 * second_ns;
    ck_assert_uint_eq(rank_connect_ms(&launch), 45000);
    launch.timeout_ns = second_ns / 2;
    ck_assert_uint_eq(rank_connect_ms(&launch), 0);
}
END_TEST

START_TEST(an_engine_sets_the_rendezvous_timeout)
{
    const struct launched launched = {.connect_ms = 60000};
    struct launch launch = {.ranks = 2, .launched = &launched};
    ck_assert_uint_eq(rank_connect_ms(&launch), 60000);
    launch.timeout_ns = 500000000;
    ck_assert_uint_eq(rank_connect_ms(&launch), 500);
}
END_TEST

Suite *suite_launch_parts(void)
{
    Suite *suite = suite_create("launch parts");
    TCase *stream = tcase_create("frames");
    tcase_add_checked_fixture(stream, open_pipe, close_pipe);
    tcase_add_test(stream, frames_keep_order_and_bytes);
    tcase_add_test(stream, frames_survive_tearing);
    tcase_add_test(stream, largest_frame_goes_through);
    tcase_add_test(stream, nonsense_is_refused);
    tcase_add_test(stream, torn_frame_of_the_dead_is_never_whole);
    suite_add_tcase(suite, stream);
    TCase *verdict = tcase_create("verdict");
    tcase_add_test(verdict, all_ended_normally);
    tcase_add_test(verdict, the_dead_come_first_then_a_witness);
    tcase_add_test(verdict, the_first_dead_is_named_the_others_counted);
    tcase_add_test(verdict, leaving_without_a_result_is_death);
    tcase_add_test(verdict, death_after_a_good_result_counts);
    tcase_add_test(verdict, a_cause_comes_before_a_consequence);
    tcase_add_test(verdict, one_that_never_leaves_is_named);
    tcase_add_test(verdict, the_silent_are_named_as_the_dead_are);
    tcase_add_test(verdict, ranks_have_the_commands_name);
    suite_add_tcase(suite, verdict);
    TCase *silence = tcase_create("silence");
    tcase_add_test(silence, silence_is_missed_in_time);
    tcase_add_test(silence, who_was_away_himself_waits_longer);
    tcase_add_test(silence, silence_is_checked_only_on_request);
    suite_add_tcase(suite, silence);
    TCase *rendezvous = tcase_create("rendezvous message");
    tcase_add_test(rendezvous, a_timeout_extends_the_rendezvous_only);
    tcase_add_test(rendezvous, an_engine_sets_the_rendezvous_timeout);
    suite_add_tcase(suite, rendezvous);
    return suite;
}
