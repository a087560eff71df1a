/* SPDX-License-Identifier: MIT
 *
 * Rules of the calibration file: the calls that use them, that a bad rule is
 * ignored, and the old rules that remain after storing. test_tuning_ranks.c
 * has several ranks.
 */
#include "coll/cost/tuning_table.h"

#include <gradwire/gradwire.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_tuning_table(void);

static char path[64];

/* Every test has a file of its own, which does not exist at first. */
static void begin(void)
{
    snprintf(path, sizeof path, "/tmp/gw-test-winners-%d.json", (int)getpid());
    unlink(path);
    setenv("GRADWIRE_CALIBRATION", path, 1);
}

static void end(void)
{
    unlink(path);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* A file with one rule. */
static void write_entry(const char *wire, const char *op, const char *entry)
{
    char text[512];
    snprintf(text, sizeof text, "{\"tuning_rules\":{\"%s\":{\"%s\":[%s]}}}",
             wire, op, entry);
    write_file(text);
}

static const char *chosen(const char *wire, enum gw_collective collective,
                          unsigned ranks, size_t count)
{
    struct gw_candidate best;
    ck_assert_uint_gt(gw_choose(wire, collective, ranks, count, 4, &best, 1),
                      0);
    return best.algo->name;
}

/* From the first to the last byte, for its wire, op and ranks only. */
START_TEST(an_entry_holds_for_its_range)
{
    const char *others = chosen("tcp", GW_ALLREDUCE, 4, 256);
    ck_assert_str_ne(others, "ring");
    write_entry("tcp", "allreduce",
                "{\"ranks\":4,\"from_bytes\":1000,\"to_bytes\":2000,"
                "\"algo\":\"ring\"}");
    ck_assert_str_eq(chosen("tcp", GW_ALLREDUCE, 4, 249), others); /* 996 B */
    ck_assert_str_eq(chosen("tcp", GW_ALLREDUCE, 4, 250), "ring");
    ck_assert_str_eq(chosen("tcp", GW_ALLREDUCE, 4, 500), "ring");
    ck_assert_str_eq(chosen("tcp", GW_ALLREDUCE, 4, 501), others);
    ck_assert_str_ne(chosen("ipc", GW_ALLREDUCE, 4, 256), "ring");
    ck_assert_str_ne(chosen("tcp", GW_ALLREDUCE, 2, 256), "ring");
    ck_assert_str_ne(chosen("tcp", GW_ALLREDUCE, 8, 256), "ring");
}
END_TEST

START_TEST(the_old_member_is_read)
{
    write_file("{\"rules\":{\"tcp\":{\"allreduce\":[{\"ranks\":4,"
               "\"from_bytes\":0,\"to_bytes\":4096,\"algo\":\"ring\"}]}}}");
    ck_assert_str_eq(chosen("tcp", GW_ALLREDUCE, 4, 256), "ring");
}
END_TEST

/* Of the collectives of blocks the size is that of all blocks. */
START_TEST(sizes_are_of_the_whole_buffer)
{
    write_entry("tcp", "allgather",
                "{\"ranks\":4,\"from_bytes\":1024,\"to_bytes\":1024,"
                "\"algo\":\"ring\"}");
    ck_assert_str_eq(chosen("tcp", GW_ALLGATHER, 4, 64), "ring");
    ck_assert_str_ne(chosen("tcp", GW_ALLGATHER, 4, 256), "ring");
    ck_assert_uint_eq(gw__tuning_table_bytes(GW_ALLGATHER, 4, 64, 4), 1024);
    ck_assert_uint_eq(gw__tuning_table_bytes(GW_ALLREDUCE, 4, 64, 4), 256);
    ck_assert_uint_eq(gw__tuning_table_bytes(GW_BARRIER, 4, 64, 4), 0);
    ck_assert_uint_eq(gw__tuning_table_bytes(GW_ALLTOALL, 4, SIZE_MAX / 8, 4),
                      UINT64_MAX);
}
END_TEST

/* The rule's algorithm comes first, the others stay in order of prediction and
 * none is lost. */
START_TEST(the_others_stay_in_order)
{
    struct gw_candidate plain[32], tuned[32];
    size_t n = gw_choose("tcp", GW_ALLREDUCE, 4, 256, 4, plain, 32);
    write_entry("tcp", "allreduce",
                "{\"ranks\":4,\"from_bytes\":0,\"to_bytes\":4096,"
                "\"algo\":\"ring\"}");
    ck_assert_uint_eq(gw_choose("tcp", GW_ALLREDUCE, 4, 256, 4, tuned, 32), n);
    ck_assert_str_eq(tuned[0].algo->name, "ring");
    size_t at = 0;
    for (size_t i = 1; i < n; i++, at++) {
        at += plain[at].algo == tuned[0].algo;
        ck_assert_ptr_eq(tuned[i].algo, plain[at].algo);
        ck_assert_double_eq(tuned[i].predicted_us, plain[at].predicted_us);
    }
}
END_TEST

static const char *const bad_entries[] = {
    "7",
    "[]",
    "{}",
    "{\"ranks\":4,\"from_bytes\":0,\"to_bytes\":4096,\"algo\":\"rign\"}",
    "{\"ranks\":4,\"from_bytes\":0,\"to_bytes\":4096,\"algo\":3}",
    "{\"ranks\":4,\"from_bytes\":0,\"to_bytes\":4096,\"algo\":\"binomial\"}",
    "{\"ranks\":\"4\",\"from_bytes\":0,\"to_bytes\":4096,\"algo\":\"ring\"}",
    "{\"ranks\":-4,\"from_bytes\":0,\"to_bytes\":4096,\"algo\":\"ring\"}",
    ("{\"ranks\":4294967300,\"from_bytes\":0,\"to_bytes\":9999,"
     "\"algo\":\"ring\"}"),
    "{\"from_bytes\":0,\"to_bytes\":4096,\"algo\":\"ring\"}",
    "{\"ranks\":4,\"from_bytes\":-1,\"to_bytes\":4096,\"algo\":\"ring\"}",
    "{\"ranks\":4,\"from_bytes\":0,\"algo\":\"ring\"}",
    "{\"ranks\":4,\"from_bytes\":4096,\"to_bytes\":0,\"algo\":\"ring\"}",
    "{\"ranks\":4,\"from_bytes\":0.5,\"to_bytes\":1e9,\"algo\":\"ring\"}",
};

START_TEST(a_bad_entry_is_none)
{
    struct gw_tuning_rule entry;
    const char *predicted = chosen("tcp", GW_ALLREDUCE, 4, 256);
    ck_assert_str_ne(predicted, "ring");
    write_entry("tcp", "allreduce", bad_entries[_i]);
    ck_assert_str_eq(chosen("tcp", GW_ALLREDUCE, 4, 256), predicted);
    ck_assert(!gw_tuning_rule_find("tcp", GW_ALLREDUCE, 4, 256, 4, &entry));
}
END_TEST

/* swing supports powers of two only. */
START_TEST(an_algorithm_that_does_not_serve_is_none)
{
    write_entry("tcp", "allreduce",
                "{\"ranks\":6,\"from_bytes\":0,\"to_bytes\":4096,"
                "\"algo\":\"swing\"}");
    bool serves = gw_algo_find(GW_ALLREDUCE, "swing")->valid(6);
    ck_assert_int_eq(strcmp(chosen("tcp", GW_ALLREDUCE, 6, 256), "swing") == 0,
                     serves);
    write_entry("tcp", "allgather",
                "{\"ranks\":5,\"from_bytes\":0,\"to_bytes\":4096,"
                "\"algo\":\"neighbor\"}");
    ck_assert(!gw_algo_find(GW_ALLGATHER, "neighbor")->valid(5));
    ck_assert_str_ne(chosen("tcp", GW_ALLGATHER, 5, 16), "neighbor");
}
END_TEST

static const char *const bad_files[] = {
    "",
    "{\"tuning_rules\":{\"tcp\":{\"allreduce\":[{\"ranks\":4,\"from_bytes\":0",
    "[1,2]",
    "{\"tuning_rules\":[]}",
    "{\"tuning_rules\":{\"tcp\":3}}",
    "{\"tuning_rules\":{\"tcp\":{\"allreduce\":{\"ranks\":4}}}}",
};

START_TEST(a_bad_file_is_none)
{
    const char *predicted = chosen("tcp", GW_ALLREDUCE, 4, 256);
    write_file(bad_files[_i]);
    ck_assert_str_eq(chosen("tcp", GW_ALLREDUCE, 4, 256), predicted);
}
END_TEST

START_TEST(the_text_of_an_entry)
{
    struct gw_tuning_rule entry;
    write_entry("tcp", "allreduce",
                "{\"ranks\":4,\"from_bytes\":1,\"to_bytes\":4096,"
                "\"algo\":\"ring\",\"bytes\":1024,\"us\":3.5,"
                "\"instead\":\"swing\",\"instead_us\":4,"
                "\"tuning\":\"2026-11-22T04:30:00Z\"}");
    ck_assert(gw_tuning_rule_find("tcp", GW_ALLREDUCE, 4, 256, 4, &entry));
    ck_assert_str_eq(entry.algo->name, "ring");
    ck_assert_str_eq(entry.instead->name, "swing");
    ck_assert_double_eq(entry.us, 3.5);
    ck_assert_double_eq(entry.instead_us, 4);
    ck_assert_uint_eq(entry.bytes, 1024);
    ck_assert_str_eq(entry.date, "2026-11-22T04:30:00Z");
    ck_assert(!gw_tuning_rule_find("tcp", GW_ALLREDUCE, 4, 2048, 4, &entry));
}
END_TEST

/* ---- storing ---- */

static struct gw_tuning_rule entry_of(unsigned ranks, uint64_t from_bytes,
                                      uint64_t to_bytes, const char *algo)
{
    return (struct gw_tuning_rule){
        .collective = GW_ALLREDUCE,
        .ranks = ranks,
        .from_bytes = from_bytes,
        .to_bytes = to_bytes,
        .algo = algo ? gw_algo_find(GW_ALLREDUCE, algo) : NULL,
        .bytes = from_bytes,
        .us = 1.5,
        .instead = algo ? gw_algo_find(GW_ALLREDUCE, "swing") : NULL,
        .instead_us = 2,
    };
}

static void store(const char *date, struct gw_tuning_rule one)
{
    struct gw_error why;
    struct gw_tuning tuning = {.cpu = "a processor", .runs = 5, .seed = 1};
    snprintf(tuning.date, sizeof tuning.date, "%s", date);
    ck_assert_int_eq(gw_tuning_rules_store("tcp", &tuning, &one, 1, &why),
                     GW_OK);
}

/* The list in short: "4:10-20 ring 4:21-30 swing ". */
static void list(char out[512])
{
    size_t used = 0;
    json_t *file = json_load_file(path, 0, NULL), *entry;
    json_t *entries = json_object_get(
        json_object_get(json_object_get(file, "tuning_rules"), "tcp"),
        "allreduce");
    size_t i;
    ck_assert(json_is_array(entries));
    out[0] = 0;
    json_array_foreach(entries, i, entry)
    {
        struct gw_tuning_rule r;
        ck_assert(gw__tuning_entry_read(entry, GW_ALLREDUCE, &r));
        used +=
            (size_t)snprintf(out + used, 512 - used, "%u:%d-%d %s ", r.ranks,
                             (int)r.from_bytes, (int)r.to_bytes, r.algo->name);
    }
    json_decref(file);
}

static void assert_list(const char *expected)
{
    char text[512];
    list(text);
    ck_assert_str_eq(text, expected);
}

START_TEST(what_is_stored_takes_its_range)
{
    store("a", entry_of(4, 100, 400, "ring"));
    store("a", entry_of(2, 100, 400, "ring"));
    assert_list("2:100-400 ring 4:100-400 ring ");
    store("a", entry_of(4, 200, 300, "one_shot")); /* within: two remain */
    assert_list("2:100-400 ring 4:100-199 ring 4:200-300 one_shot "
                "4:301-400 ring ");
    store("a", entry_of(4, 150, 250, NULL)); /* without a replacement */
    assert_list("2:100-400 ring 4:100-149 ring 4:251-300 one_shot "
                "4:301-400 ring ");
    store("a", entry_of(4, 0, 350, "one_shot"));
    assert_list("2:100-400 ring 4:0-350 one_shot 4:351-400 ring ");
    store("a", entry_of(2, 0, 1000, NULL));
    assert_list("4:0-350 one_shot 4:351-400 ring ");
}
END_TEST

START_TEST(the_evidence_is_kept)
{
    struct gw_tuning_rule found;
    store("2026-11-22T04:30:00Z", entry_of(4, 8, 4096, "ring"));
    ck_assert(gw_tuning_rule_find("tcp", GW_ALLREDUCE, 4, 256, 4, &found));
    ck_assert_double_eq(found.us, 1.5);
    ck_assert_double_eq(found.instead_us, 2);
    ck_assert_str_eq(found.instead->name, "swing");
    ck_assert_str_eq(found.date, "2026-11-22T04:30:00Z");
}
END_TEST

static bool has_tuning(const char *date)
{
    json_t *file = json_load_file(path, 0, NULL);
    json_t *entry = json_object_get(json_object_get(file, "tunings"), date);
    bool there = json_is_object(entry);
    if (there)
        ck_assert_str_eq(json_string_value(json_object_get(entry, "cpu")),
                         "a processor");
    json_decref(file);
    return there;
}

/* Those of existing rules, and the newest. */
START_TEST(tunings_go_with_their_entries)
{
    store("a", entry_of(4, 0, 100, "ring"));
    store("b", entry_of(4, 200, 300, "ring"));
    ck_assert(has_tuning("a") && has_tuning("b"));
    store("c", entry_of(4, 0, 150, "ring"));
    ck_assert(!has_tuning("a") && has_tuning("b") && has_tuning("c"));
    store("d", entry_of(4, 0, 1000, NULL));
    ck_assert(!has_tuning("b") && !has_tuning("c") && has_tuning("d"));
}
END_TEST

/* Each writer keeps what the other has stored. */
START_TEST(costs_and_entries_share_the_file)
{
    struct gw_wire_costs costs;
    struct gw_error why;
    struct gw_tuning_rule found;
    bool measured;
    write_file("{\"wires\":{\"ipc\":{\"alpha_us\":17}},\"mine\":[1]}");
    store("a", entry_of(4, 8, 4096, "ring"));
    gw_costs("ipc", &costs, &measured);
    ck_assert(measured);
    ck_assert_double_eq(costs.model.alpha_us, 17);
    ck_assert_int_eq(gw_costs_store("tcp", &costs, &why), GW_OK);
    ck_assert(gw_tuning_rule_find("tcp", GW_ALLREDUCE, 4, 256, 4, &found));
    json_t *file = json_load_file(path, 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(file, "mine")), 1);
    json_decref(file);
}
END_TEST

START_TEST(a_failure_to_store_is_reported)
{
    struct gw_error why = {0};
    struct gw_tuning tuning = {.date = "a"};
    struct gw_tuning_rule one = entry_of(4, 0, 100, "ring");
    setenv("GRADWIRE_CALIBRATION", "/dev/null/costs.json", 1);
    ck_assert_int_ne(gw_tuning_rules_store("tcp", &tuning, &one, 1, &why),
                     GW_OK);
    ck_assert_ptr_nonnull(strstr(why.text, "/dev/null"));
}
END_TEST

Suite *suite_tuning_table(void)
{
    Suite *suite = suite_create("tuning_table");
    TCase *choice = tcase_create("tuning_table_choice");
    int entries = sizeof bad_entries / sizeof *bad_entries;
    int files = sizeof bad_files / sizeof *bad_files;
    tcase_add_checked_fixture(choice, begin, end);
    tcase_add_test(choice, an_entry_holds_for_its_range);
    tcase_add_test(choice, the_old_member_is_read);
    tcase_add_test(choice, sizes_are_of_the_whole_buffer);
    tcase_add_test(choice, the_others_stay_in_order);
    tcase_add_loop_test(choice, a_bad_entry_is_none, 0, entries);
    tcase_add_test(choice, an_algorithm_that_does_not_serve_is_none);
    tcase_add_loop_test(choice, a_bad_file_is_none, 0, files);
    tcase_add_test(choice, the_text_of_an_entry);
    suite_add_tcase(suite, choice);
    TCase *kept = tcase_create("tuning_table_store");
    tcase_add_checked_fixture(kept, begin, end);
    tcase_add_test(kept, what_is_stored_takes_its_range);
    tcase_add_test(kept, the_evidence_is_kept);
    tcase_add_test(kept, tunings_go_with_their_entries);
    tcase_add_test(kept, costs_and_entries_share_the_file);
    tcase_add_test(kept, a_failure_to_store_is_reported);
    suite_add_tcase(suite, kept);
    return suite;
}
