/* SPDX-License-Identifier: MIT
 *
 * Snapshots on disk: written data is read back; a truncated, altered or missing
 * file is refused with its name; an incomplete snapshot leaves the previous one
 * as it was.
 */
#include <ps/slot/snapshot.h>

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 5 };

static char directory[] = "/dev/shm/gradwire-snapshot-XXXXXX";
static struct gw_error why;

static void setup(void)
{
    snprintf(directory, sizeof directory, "/dev/shm/gradwire-snapshot-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    ck_assert_int_eq(system(command), 0);
}

/* The content of slot s of marker m: s * 1000 bytes that depend on both. */
static size_t content(uint64_t mark, unsigned slot, uint8_t out[SLOTS * 1000])
{
    memset(out, (int)(mark * 16 + slot), slot * 1000);
    return slot * 1000;
}

static void write_slots(uint64_t mark, unsigned from, unsigned to)
{
    uint8_t bytes[SLOTS * 1000];
    for (unsigned slot = from; slot < to; slot++) {
        size_t used = content(mark, slot, bytes);
        ck_assert_msg(gw__snapshot_write(directory, mark, slot, SLOTS, bytes,
                                         used, &why) == GW_OK,
                      "%s", why.text);
    }
}

static void check_is(uint64_t mark)
{
    struct gw__snapshot snapshot;
    uint8_t bytes[SLOTS * 1000];
    ck_assert_msg(gw__snapshot_open(directory, &snapshot, &why) == GW_OK, "%s",
                  why.text);
    ck_assert_uint_eq(snapshot.mark, mark);
    ck_assert_uint_eq(snapshot.slot_count, SLOTS);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        size_t used = content(mark, slot, bytes);
        ck_assert_uint_eq(snapshot.slots[slot].bytes, used);
        ck_assert(used == 0 ||
                  memcmp(snapshot.slots[slot].data, bytes, used) == 0);
    }
    gw__snapshot_close(&snapshot);
}

static void check_refused(const char *sentence)
{
    struct gw__snapshot snapshot;
    ck_assert_int_eq(gw__snapshot_open(directory, &snapshot, &why), GW_EDATA);
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
}

static void whole(uint64_t mark)
{
    write_slots(mark, 0, SLOTS);
    ck_assert_int_eq(gw__snapshot_finish(directory, mark, SLOTS, &why), GW_OK);
}

static bool is_there(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

/* Markers are unordered: a snapshot in progress must stay, an older complete
 * one is removed. */
START_TEST(what_was_written_comes_back)
{
    whole(7);
    check_is(7);
    write_slots(3, 0, 1);
    whole(2);
    check_is(2);
    ck_assert(!is_there("slot-03.7"));
    ck_assert(is_there("slot-00.3"));
}
END_TEST

START_TEST(half_a_snapshot_leaves_the_former)
{
    check_refused("no manifest");
    whole(1);
    write_slots(2, 0, SLOTS - 1);
    ck_assert_int_eq(gw__snapshot_finish(directory, 2, SLOTS, &why),
                     GW_PENDING);
    check_is(1);
    write_slots(2, SLOTS - 1, SLOTS);
    ck_assert_int_eq(gw__snapshot_finish(directory, 2, SLOTS, &why), GW_OK);
    check_is(2);
}
END_TEST

static int open_file(const char *name, int flags)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, flags);
    ck_assert_int_ge(fd, 0);
    return fd;
}

START_TEST(damage_is_named)
{
    const uint8_t other = 0xee;
    whole(1);
    int fd = open_file("slot-03.1", O_WRONLY);
    ck_assert_int_eq(pwrite(fd, &other, 1, 500), 1);
    check_refused("slot-03.1: it was altered");
    ck_assert_int_eq(ftruncate(fd, 2000), 0);
    check_refused("slot-03.1: it is cut short: 2000 bytes instead of 3048");
    ck_assert_int_eq(ftruncate(fd, 4000), 0);
    check_refused("slot-03.1: it is too long");
    ck_assert_int_eq(ftruncate(fd, 10), 0);
    check_refused("slot-03.1: the file is cut short");
    close(fd);
    whole(1);
    fd = open_file("manifest", O_WRONLY);
    for (int length = 60; length >= 0; length--) {
        ck_assert_int_eq(ftruncate(fd, length), 0);
        check_refused("manifest");
    }
    close(fd);
}
END_TEST

static void write_at(const char *name, off_t at, const char *text)
{
    int fd = open_file(name, O_WRONLY);
    size_t bytes = strlen(text);
    if (at < 0)
        at = lseek(fd, 0, SEEK_END);
    ck_assert_int_eq(pwrite(fd, text, bytes, at), (ssize_t)bytes);
    close(fd);
}

/* One more line, blanks, a byte 0, and more than is read. */
START_TEST(what_follows_the_manifest_is_refused)
{
    char much[20000];
    memset(much, '\n', sizeof much - 1);
    much[sizeof much - 1] = 0;
    const char *const more[] = {"x", "\n", "slot 5 0 0\n", "hello\n", much};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        whole(i + 1);
        write_at("manifest", -1, more[i]);
        check_refused("manifest: ");
        check_refused("extra bytes after byte ");
    }
    whole(9);
    int fd = open_file("manifest", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "", 1), 1);
    close(fd);
    check_refused("manifest: 1 extra bytes after byte ");
}
END_TEST

/* A clock of version 1 has no counts of parts; they are not guessed. */
START_TEST(an_older_snapshot_is_refused_by_its_version)
{
    whole(8);
    write_at("manifest", (off_t)strlen("gradwire snapshot "), "1");
    check_refused(
        "manifest: version 1 instead of 3; use the release that wrote it");
}
END_TEST

/* A change that leaves all numbers equal; and damage to the heads of slots. */
START_TEST(the_manifest_has_one_form)
{
    whole(10);
    write_at("manifest", (off_t)strlen("gradwire snapshot 2\nmark "), "A");
    check_refused("manifest: it was altered");
    whole(10);
    write_at("manifest", (off_t)strlen("gradwire snapshot"), "\t");
    check_refused("manifest: it was altered");
    for (off_t at = 0; at < 48; at++) {
        whole(11);
        write_at("slot-03.b", at, "\x7f");
        check_refused("slot-03.b: its head does not match the manifest");
    }
}
END_TEST

/* ---- damage, drawn from a seed ---- */

static struct gw_rng rng;

static uint64_t below(uint64_t end)
{
    return gw_rng_below(&rng, end ? end : 1);
}

/* Damages one of the six files, in one of five ways. */
static void damage(char story[200])
{
    static const char *const names[] = {"manifest",  "slot-00.1", "slot-01.1",
                                        "slot-02.1", "slot-03.1", "slot-04.1"};
    const char *name = names[below(6)], *other = names[below(6)];
    char path[128], path_of_other[128], bytes[512] = {0};
    snprintf(path, sizeof path, "%s/%s", directory, name);
    snprintf(path_of_other, sizeof path_of_other, "%s/%s", directory, other);
    int fd = open_file(name, O_RDWR);
    off_t end = lseek(fd, 0, SEEK_END), at = (off_t)below((uint64_t)end);
    unsigned kind = (unsigned)below(6);
    size_t size = 1 + below(sizeof bytes);
    if (kind == 0)
        ck_assert_int_eq(ftruncate(fd, at), 0);
    else if (kind == 1)
        ck_assert_int_ge(pwrite(fd, bytes, size, at), 0);
    else if (kind == 2)
        ck_assert_int_ge(pwrite(fd, bytes, size, end), 0);
    else if (kind == 3)
        ck_assert_int_eq(rename(path, path_of_other), 0);
    else if (kind == 4)
        ck_assert_int_eq(unlink(path), 0);
    else if (pread(fd, bytes, 1, at) == 1) {
        bytes[0] ^= (char)(1 << below(8));
        ck_assert_int_eq(pwrite(fd, bytes, 1, at), 1);
    }
    close(fd);
    snprintf(story, 200, "way %u: %s, byte %d of %d, %zu bytes, %s", kind, name,
             (int)at, (int)end, size, other);
}

/* DAMAGES and SEED in the environment set the count and repeat a run. */
START_TEST(damage_is_refused_or_does_no_harm)
{
    const char *seed_text = getenv("SEED"), *many = getenv("DAMAGES");
    unsigned seed = seed_text ? (unsigned)atoi(seed_text) : (unsigned)getpid();
    unsigned rounds = many ? (unsigned)atoi(many) : 200, refused = 0;
    char story[200];
    printf("ps_snapshot: SEED=%u DAMAGES=%u\n", seed, rounds);
    gw_rng_seed(&rng, seed);
    for (unsigned i = 0; i < rounds; i++) {
        struct gw__snapshot snapshot;
        whole(1);
        damage(story);
        enum gw_err err = gw__snapshot_open(directory, &snapshot, &why);
        ck_assert_msg(err == GW_OK || err == GW_EDATA, "%s: %s", story,
                      why.text);
        if (err == GW_EDATA) {
            refused++;
            ck_assert_msg(strstr(why.text, "slot-") ||
                              strstr(why.text, "manifest"),
                          "%s: %s", story, why.text);
        } else {
            gw__snapshot_close(&snapshot);
            check_is(1);
        }
    }
    ck_assert_uint_gt(refused, rounds / 2);
}
END_TEST

START_TEST(no_directory)
{
    struct gw__snapshot snapshot;
    ck_assert_int_eq(gw__snapshot_open("/nowhere/at/all", &snapshot, &why),
                     GW_EDATA);
    ck_assert_int_ne(
        gw__snapshot_write("/nowhere/at/all", 1, 0, 1, "", 0, &why), GW_OK);
}
END_TEST

Suite *suite_ps_snapshot(void);
Suite *suite_ps_snapshot(void)
{
    Suite *suite = suite_create("ps_snapshot");
    TCase *tcase = tcase_create("files");
    tcase_set_timeout(tcase, 300);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, what_was_written_comes_back);
    tcase_add_test(tcase, half_a_snapshot_leaves_the_former);
    tcase_add_test(tcase, damage_is_named);
    tcase_add_test(tcase, what_follows_the_manifest_is_refused);
    tcase_add_test(tcase, an_older_snapshot_is_refused_by_its_version);
    tcase_add_test(tcase, the_manifest_has_one_form);
    tcase_add_test(tcase, damage_is_refused_or_does_no_harm);
    tcase_add_test(tcase, no_directory);
    suite_add_tcase(suite, tcase);
    return suite;
}
