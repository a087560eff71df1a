/* SPDX-License-Identifier: MIT
 *
 * The cases of collrun tune --from: those of a program, from a recording of its
 * events.
 */
#include "collrun/tune/tune.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_tune_program(void);

static struct gw_error why;
static struct tune tune;

static void begin(void)
{
    tune = (struct tune){
        .wire = "tcp",
        .bytes_min = 4,
        .bytes_max = 2048,
        .factor = 4,
        .by = "size",
        .collectives = {[GW_ALLREDUCE] = true},
    };
}

static void end(void)
{
    free(tune.cases);
}

static void list(void)
{
    free(tune.cases);
    ck_assert_int_eq(tune_list(&tune, &why), GW_OK);
}

/* Reads a recording with these lines. */
static enum gw_err read_uses(const char *text)
{
    char path[] = "/tmp/gradwire-uses-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum gw_err err = tune_read_uses(&tune, path, &why);
    unlink(path);
    return err;
}

#define BEGIN(rank, op, bytes, collective)                                     \
    "{\"time_ns\":1,\"kind\":\"op_begin\",\"rank\":" #rank ",\"op\":" #op      \
    ",\"bytes\":" #bytes ",\"value\":" #collective "}\n"

START_TEST(a_program_has_one_case_per_power_of_two)
{
    const char *lines = BEGIN(0, 0, 3464, 0) BEGIN(0, 1, 1024, 2)
        BEGIN(0, 2, 600, 2) BEGIN(2, 2, 600, 2) BEGIN(0, 3, 8, 2);
    ck_assert_int_eq(GW_ALLREDUCE, 2);
    ck_assert_int_eq(read_uses(lines), GW_OK);
    ck_assert_uint_eq(tune.ranks_count, 1);
    ck_assert_uint_eq(tune.ranks[0], 3);
    list();
    ck_assert_uint_eq(tune.case_count, 3);
    ck_assert_uint_eq(tune.cases[0].bytes, 8);
    ck_assert_uint_eq(tune.cases[1].bytes, 600);
    ck_assert_uint_eq(tune.cases[2].bytes, 1024);
    tune.bytes_min = 16;
    tune.bytes_max = 1000;
    list();
    ck_assert_uint_eq(tune.case_count, 1);
}
END_TEST

START_TEST(sizes_of_one_class_are_one_case)
{
    ck_assert_int_eq(
        read_uses(BEGIN(0, 1, 700, 2) BEGIN(1, 1, 700, 2) BEGIN(0, 2, 1000, 2)),
        GW_OK);
    list();
    ck_assert_uint_eq(tune.case_count, 1);
    ck_assert_uint_eq(tune.cases[0].bytes, 1000);
    ck_assert_uint_eq(tune.cases[0].requested_bytes, 700);
}
END_TEST

START_TEST(a_recording_without_collectives_is_refused)
{
    ck_assert_int_eq(read_uses(""), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, "GRADWIRE_MPI_TRACE=events"));
    ck_assert_int_eq(read_uses(BEGIN(0, 1, 8, 2)), GW_EDATA); /* one rank */
    ck_assert_int_eq(read_uses(BEGIN(0, 1, 8, 2) "no JSON\n"), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, ":2: "));
}
END_TEST

Suite *suite_tune_program(void)
{
    Suite *suite = suite_create("tune_program");
    TCase *cases = tcase_create("recordings");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, a_program_has_one_case_per_power_of_two);
    tcase_add_test(cases, sizes_of_one_class_are_one_case);
    tcase_add_test(cases, a_recording_without_collectives_is_refused);
    suite_add_tcase(suite, cases);
    return suite;
}
