/* SPDX-License-Identifier: MIT
 *
 * Rows on demand: the same bits as from memory, each byte read once per epoch,
 * an index that is never older than its file, and files larger than memory.
 */
#include "skip.h"
#include "task_run.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <gradwire/learn.h>
#include <learn/data/row_stream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *suite_row_file(void);

enum { ROWS = 200, EPOCHS = 2 };

static struct task_run run;
static char folder[] = "/tmp/gw-rows-XXXXXX";

static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", folder, 1), 0);
}

/* The only index in the folder; false: none. */
static bool kept_index(char path[400])
{
    char rows[64];
    bool found = false;
    snprintf(rows, sizeof rows, "%s/gradwire/rows", folder);
    DIR *list = opendir(rows);
    for (struct dirent *entry; list && !found && (entry = readdir(list));) {
        found = entry->d_name[0] != '.';
        snprintf(path, 400, "%s/%s", rows, entry->d_name);
    }
    if (list)
        closedir(list);
    return found;
}

static void clean(void)
{
    char path[400];
    task_clean(&run);
    if (kept_index(path))
        unlink(path);
    snprintf(path, sizeof path, "%s/gradwire/rows", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/gradwire", folder);
    rmdir(path);
    rmdir(folder);
}

/* With comments and blank lines between the rows; indices begin at `base`. */
static size_t make_rows(char *text, size_t room, unsigned base, unsigned seed)
{
    size_t used = (size_t)snprintf(text, room, "# rows\n\n");
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned label = (unsigned)gw_rng_below(&rng, 2);
        used += (size_t)snprintf(text + used, room - used, "%u", label);
        for (unsigned j = base; j < base + 9; j++)
            if (gw_rng_below(&rng, 3) == 0)
                used +=
                    (size_t)snprintf(text + used, room - used, " %u:%.3f", j,
                                     gw_rng_unit(&rng) + (j % 2 == label));
        used += (size_t)snprintf(text + used, room - used, "%s\n",
                                 row % 50 ? "" : " # a remark\n");
    }
    return used;
}

static uint64_t learn(bool on_demand, struct gw_task_score scores[2])
{
    run.config.on_demand = on_demand;
    task_begin(&run);
    uint64_t before = gw_task_bytes_read(run.task);
    scores[0] = task_train(&run, 0, EPOCHS, 3);
    uint64_t read = gw_task_bytes_read(run.task);
    struct stat about;
    ck_assert_int_eq(stat(run.config.train, &about), 0);
    ck_assert_uint_eq(before, on_demand ? 0 : (uint64_t)about.st_size);
    /* The first lines precede all rows. */
    ck_assert_uint_eq(read, on_demand ? EPOCHS * ((uint64_t)about.st_size -
                                                  strlen("# rows\n\n"))
                                      : (uint64_t)about.st_size);
    scores[1] = task_score(&run, GW_TASK_TRAIN, EPOCHS);
    uint64_t digest = gw_table_store_digest(run.store);
    task_end(&run);
    return digest;
}

static void test_rows(const char *model, unsigned base, unsigned seed)
{
    static char text[1 << 15];
    size_t bytes = make_rows(text, sizeof text, base, seed);
    ck_assert_int_eq(gw_task_defaults(model, &run.config, NULL), GW_OK);
    run.config.batch = 30;
    run.config.train = task_file(&run, 0, text, bytes);
}

START_TEST(the_bits_are_those_of_rows_in_memory)
{
    static const char *const models[] = {"lr", "linear"};
    for (unsigned i = 0; i < 4; i++) {
        struct gw_task_score here[2], there[2];
        test_rows(models[i % 2], i / 2, i);
        uint64_t wanted = learn(false, here);
        for (unsigned twice = 0; twice < 2; twice++) {
            ck_assert_uint_eq(learn(true, there), wanted);
            ck_assert_mem_eq(here, there, sizeof here);
        }
        char path[400];
        ck_assert(kept_index(path));
        ck_assert_int_eq(unlink(path), 0);
        task_clean(&run);
    }
}
END_TEST

/* The same name with another content makes the stored index stale. */
START_TEST(an_old_index_is_noticed)
{
    static char text[1 << 15];
    struct gw_task_score scores[2];
    test_rows("lr", 1, 1);
    uint64_t first = learn(true, scores);
    size_t bytes = make_rows(text, sizeof text, 1, 2);
    int fd = open(run.config.train, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
    close(fd);
    uint64_t second = learn(true, scores);
    ck_assert_uint_ne(first, second);
    ck_assert_uint_eq(learn(false, scores), second);
}
END_TEST

/* An index with a changed byte is rebuilt. */
START_TEST(a_damaged_index_is_made_again)
{
    char path[400], byte;
    struct gw_task_score scores[2];
    test_rows("lr", 1, 1);
    uint64_t wanted = learn(true, scores);
    ck_assert(kept_index(path));
    int fd = open(path, O_RDWR);
    ck_assert_int_eq(pread(fd, &byte, 1, 300), 1);
    byte ^= 4;
    ck_assert_int_eq(pwrite(fd, &byte, 1, 300), 1);
    close(fd);
    ck_assert_uint_eq(learn(true, scores), wanted);
}
END_TEST

START_TEST(a_file_that_changes_meanwhile_is_an_error)
{
    struct gw_work_item_id id = {.parts = 1};
    test_rows("lr", 1, 1);
    run.config.on_demand = true;
    run.config.batch = 0;
    task_begin(&run);
    ck_assert_int_eq(truncate(run.config.train, 1000), 0);
    ck_assert_int_eq(gw_work_item_prepare(run.item, &id, &run.why), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(run.why.text, "has changed since"));
    task_end(&run);
    /* The file has the same size, but another content than the index. */
    test_rows("lr", 1, 1);
    run.config.batch = 0;
    run.config.on_demand = true;
    task_begin(&run);
    int fd = open(run.config.train, O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "5 77:1 #", 8, 8), 8);
    close(fd);
    ck_assert_int_eq(gw_work_item_prepare(run.item, &id, &run.why), GW_EDATA);
    task_end(&run);
}
END_TEST

/* ---- a stream ---- */

static size_t came(struct gw__row_stream *stream, uint64_t first, size_t count,
                   enum gw_err wanted)
{
    struct gw__row_reader reader = {.text = NULL};
    size_t got;
    ck_assert_int_eq(
        gw__row_stream_read(stream, &reader, first, count, &got, &run.why),
        wanted);
    ck_assert_uint_eq(reader.rows.data ? reader.rows.data->rows : 0,
                      wanted == GW_PENDING ? 0 : got);
    gw__row_reader_fini(&reader);
    return got;
}

static void add(struct gw__row_spool *spool, const char *text)
{
    ck_assert_int_eq(gw__row_spool_add(spool, text, strlen(text), &run.why),
                     GW_OK);
}

/* The stream is cut anywhere, with comments; an item waits until its rows are
 * complete. */
START_TEST(rows_of_a_stream_are_read_as_they_come)
{
    char path[80];
    struct gw__row_spool spool;
    struct gw__row_stream *stream;
    ck_assert_int_eq(gw__row_spool_open(&spool, folder, &run.why), GW_OK);
    ck_assert_int_eq(gw__row_stream_open(folder, 2, &stream, &run.why), GW_OK);
    ck_assert_uint_eq(came(stream, 0, 1, GW_PENDING), 0);
    add(&spool, "# rows\n\n1 1:2\n 2 ");
    ck_assert_uint_eq(came(stream, 0, 1, GW_OK), 1);
    ck_assert_uint_eq(came(stream, 0, 2, GW_PENDING), 0);
    add(&spool, "2:1\n  # no row\n3 1:1 2:5");
    ck_assert_uint_eq(came(stream, 0, 2, GW_OK), 2);
    ck_assert_uint_eq(came(stream, 1, 2, GW_PENDING), 0);
    ck_assert_uint_eq(gw__row_stream_count(stream), 2);
    ck_assert_int_eq(gw__row_spool_close(&spool, &run.why), GW_OK);
    ck_assert_uint_eq(gw__row_stream_count(stream), 3);
    ck_assert_uint_eq(came(stream, 1, 2, GW_OK), 2);
    ck_assert_uint_eq(came(stream, 2, 4, GW_OK), 1);
    ck_assert_uint_eq(came(stream, 9, 4, GW_OK), 0);
    stream->features = 1; /* row 1 has one more */
    ck_assert_uint_eq(came(stream, 0, 1, GW_OK), 1);
    came(stream, 1, 1, GW_EDATA);
    gw__row_stream_close(&stream);
    snprintf(path, sizeof path, "%s/rows", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/ends", folder);
    unlink(path);
}
END_TEST

/* ---- larger than memory ---- */

enum { PAD = 1 << 18 };

static void write_padded(FILE *file, unsigned rows)
{
    static char pad[PAD];
    memset(pad, 'x', sizeof pad);
    for (unsigned row = 0; row < rows; row++) {
        fprintf(file, "%u 1:%u 3:1 # ", row % 2, row % 2);
        ck_assert_uint_eq(fwrite(pad, sizeof pad, 1, file), 1);
        ck_assert_int_eq(fputc('\n', file), '\n');
    }
    ck_assert_int_eq(fclose(file), 0);
}

static uint64_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The process may have fewer addresses than the file has bytes. */
START_TEST(a_file_larger_than_memory_trains)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    SKIP("row_file", "a sanitizer needs all addresses");
#endif
    enum { MORE = 16 << 20 };
    struct gw_dataset *data;
    uint64_t limit = address_space() + MORE;
    const struct rlimit least = {.rlim_cur = limit, .rlim_max = RLIM_INFINITY};
    unsigned rows = (unsigned)(limit / PAD) + 8;
    test_rows("lr", 1, 1);
    write_padded(fopen(run.config.train, "w"), rows);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &least), 0);
    ck_assert_int_eq(
        gw_libsvm_load(run.config.train, GW_BASE_AUTO, &data, &run.why),
        GW_EDATA);
    task_begin(&run);
    ck_assert_uint_eq(gw_task_rows(run.task), rows);
    task_train(&run, 0, 1, 4);
    ck_assert_uint_gt(gw_task_bytes_read(run.task), limit);
    ck_assert_double_eq_tol(task_score(&run, GW_TASK_TRAIN, 1).quality, 1,
                            1e-9);
    task_end(&run);
}
END_TEST

Suite *suite_row_file(void)
{
    Suite *suite = suite_create("row_file");
    TCase *tcase = tcase_create("row_file");
    tcase_add_checked_fixture(tcase, begin, clean);
    tcase_add_test(tcase, the_bits_are_those_of_rows_in_memory);
    tcase_add_test(tcase, an_old_index_is_noticed);
    tcase_add_test(tcase, a_damaged_index_is_made_again);
    tcase_add_test(tcase, a_file_that_changes_meanwhile_is_an_error);
    tcase_add_test(tcase, rows_of_a_stream_are_read_as_they_come);
    tcase_add_test(tcase, a_file_larger_than_memory_trains);
    suite_add_tcase(suite, tcase);
    return suite;
}
