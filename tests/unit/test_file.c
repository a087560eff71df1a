/* SPDX-License-Identifier: MIT
 *
 * Readers refuse endless input before they read it, and use no more memory than
 * there is (base/file.h).
 */
#include "base/file.h"

#include "base/source.h"
#include "skip.h"

#include <gradwire/gradwire.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static struct gw_error why;

static void refused(const char *path, const char *what)
{
    int fd;
    ck_assert_int_eq(gw__file_open(path, &fd, &why), GW_EDATA);
    ck_assert_int_eq(fd, -1);
    ck_assert_msg(strstr(why.text, what), "%s", why.text);
    ck_assert_ptr_null(gw__file_stream(path, &why));
}

START_TEST(devices_sockets_and_folders_are_refused)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/gw-file-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", folder);
    int bound = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(bound, (struct sockaddr *)&name, sizeof name), 0);
    refused("/dev/zero",
            "/dev/zero: is a device; use a regular file or a pipe");
    refused("/dev/null", "is a device");
    refused(name.sun_path, "is a socket");
    refused(folder, "Is a directory");
    refused("/no/such", "/no/such: No such file or directory");
    close(bound);
    unlink(name.sun_path);
    rmdir(folder);
}
END_TEST

/* Also one whose bytes fill the memory that is read into. */
START_TEST(a_pipe_is_read_and_a_zero_follows)
{
    static const size_t sizes[] = {0, 3, 4096, 8192};
    static const char all[8192] = "abc";
    int ends[2];
    char path[32], *text;
    size_t bytes;
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], all, sizes[_i]), (ssize_t)sizes[_i]);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    ck_assert_int_eq(gw__text_load(path, 8192, &text, &bytes, &why), GW_OK);
    ck_assert_uint_eq(bytes, sizes[_i]);
    ck_assert_int_eq(text[bytes], 0);
    free(text);
    close(ends[0]);
}
END_TEST

/* Endless input: each of the readers, through the library. */
START_TEST(every_reader_refuses_a_device)
{
    struct gw_dataset *data;
    struct gw_network *network;
    struct gw_plan *plan;
    struct gw_task *task;
    struct gw_task_config config;
    static const char device[] = "/dev/zero";
    ck_assert_int_eq(gw_libsvm_load(device, GW_BASE_AUTO, &data, &why),
                     GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, "is a device"));
    ck_assert_int_eq(gw_network_load(device, &network, &why), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, "is a device"));
    ck_assert_int_eq(gw_plan_load(device, 2, &plan, &why), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, "is a device"));
    ck_assert_int_eq(gw_task_defaults("word2vec", &config, &why), GW_OK);
    config.train = device;
    ck_assert_int_eq(gw_task_new(&config, &task, &why), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, "is a device"));
}
END_TEST

/* A sparse file with a quarter of the memory that ulimit -v allows, and a
 * byte. */
START_TEST(a_text_takes_no_more_memory_than_there_is)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    SKIP("file", "a sanitizer needs more addresses");
#endif
    enum { LIMIT = 1 << 29 };
    const struct rlimit limit = {.rlim_cur = LIMIT, .rlim_max = RLIM_INFINITY};
    struct gw_task *task;
    struct gw_task_config config;
    char path[] = "/tmp/gw-file-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, LIMIT / 4 + 1), 0);
    close(fd);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_uint_eq(gw__file_bytes_max(), LIMIT / 4);
    ck_assert_int_eq(gw_task_defaults("word2vec", &config, &why), GW_OK);
    config.train = path;
    ck_assert_int_eq(gw_task_new(&config, &task, &why), GW_EDATA);
    ck_assert_msg(strstr(why.text, "more than 128 MB, which is a quarter of "),
                  "%s", why.text);
    unlink(path);
}
END_TEST

Suite *suite_file(void);
Suite *suite_file(void)
{
    Suite *suite = suite_create("file");
    TCase *files = tcase_create("files");
    tcase_add_test(files, devices_sockets_and_folders_are_refused);
    tcase_add_loop_test(files, a_pipe_is_read_and_a_zero_follows, 0, 4);
    tcase_add_test(files, every_reader_refuses_a_device);
    tcase_add_test(files, a_text_takes_no_more_memory_than_there_is);
    suite_add_tcase(suite, files);
    return suite;
}
