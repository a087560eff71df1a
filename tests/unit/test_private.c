/* SPDX-License-Identifier: MIT
 *
 * Shared memory and the folder of a run are private to their user on a host
 * with several. Where a test needs another user it becomes nobody, which only
 * root can do.
 */
#include "skip.h"

#include <common/rpc/rpc_client_parts.h>
#include <common/run_folder.h>
#include <wire/memory.h>

#include <check.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_private(void);

enum { OTHER_UID = 65534, BYTES = 4096 };

static unsigned mode_of(int fd)
{
    struct stat info;
    ck_assert_int_eq(fstat(fd, &info), 0);
    return info.st_mode & 0777U;
}

START_TEST(shared_memory_is_its_users)
{
    struct gw__region region;
    ck_assert_int_eq(gw__region_new(BYTES, &region, NULL), GW_OK);
    ck_assert_uint_eq(mode_of(region.fd), 0600);
    gw__region_free(&region);
}
END_TEST

/* A child under another user id: it reports the result of `make`, and ends on
 * request. */
struct other_user {
    pid_t pid;
    int result, end; /* pipes */
    int number;      /* the result of `make` */
};

static struct other_user other_user(int (*make)(void))
{
    int results[2], ends[2], number;
    char byte;
    struct other_user f = {.number = -1};
    ck_assert(pipe(results) == 0 && pipe(ends) == 0);
    f.pid = fork();
    if (f.pid == 0) {
        close(ends[1]);
        if (setgid(OTHER_UID) != 0 || setuid(OTHER_UID) != 0)
            _exit(1);
        number = make();
        if (write(results[1], &number, sizeof number) < 0)
            _exit(1);
        _exit(read(ends[0], &byte, 1) != 0);
    }
    close(results[1]);
    close(ends[0]);
    f.result = results[0];
    f.end = ends[1];
    ck_assert_int_eq(read(f.result, &f.number, sizeof f.number),
                     sizeof f.number);
    return f;
}

static void dismiss(struct other_user *f)
{
    close(f->end);
    close(f->result);
    ck_assert_int_eq(waitpid(f->pid, NULL, 0), f->pid);
}

static int make_region(void)
{
    static struct gw__region region;
    return gw__region_new(BYTES, &region, NULL) ? -1 : region.fd;
}

START_TEST(memory_of_another_user_is_not_mapped)
{
    struct gw_error why;
    void *base;
    if (getuid() != 0)
        SKIP("private", "only root can be another user");
    struct other_user f = other_user(make_region);
    ck_assert_int_ge(f.number, 0);
    ck_assert_int_eq(gw__region_map(f.pid, f.number, BYTES, true, &base, &why),
                     GW_EUNREACH);
    ck_assert_ptr_nonnull(
        strstr(why.text, "it belongs to another user (65534)"));
    ck_assert_ptr_null(base);
    dismiss(&f);
}
END_TEST

/* Any user may take an abstract name. */
static int squat(void)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    memcpy(place.sun_path + 1, "gradwire-test-squatter", 22);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 23);
    return bind(fd, (struct sockaddr *)&place, bytes) == 0 && listen(fd, 8) == 0
               ? fd
               : -1;
}

START_TEST(a_supervisor_of_another_user_is_none)
{
    int own = squat();
    ck_assert_int_ge(own, 0);
    struct gw_error why = {0};
    ck_assert_int_eq(
        rpc_client_knock("mine", "ipc://@gradwire-test-squatter", &why), GW_OK);
    close(own);
    ck_assert_int_eq(
        rpc_client_knock("gone", "ipc://@gradwire-test-squatter", &why),
        GW_EUNREACH);
    ck_assert_ptr_nonnull(strstr(why.text, "run gone has ended"));
    if (getuid() != 0)
        SKIP("private", "only root can be another user");
    struct other_user f = other_user(squat);
    ck_assert_int_ge(f.number, 0);
    ck_assert_int_eq(
        rpc_client_knock("theirs", "ipc://@gradwire-test-squatter", &why),
        GW_EUNREACH);
    ck_assert_ptr_nonnull(
        strstr(why.text, "run theirs belongs to another user (65534)"));
    dismiss(&f);
}
END_TEST

/* The queue of a stopped supervisor fills up with knocks, which must not wait. */
START_TEST(a_full_queue_is_a_sign_of_life)
{
    struct gw_error why = {0};
    int own = squat();
    ck_assert_int_ge(own, 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(
            rpc_client_knock("mine", "ipc://@gradwire-test-squatter", &why),
            GW_OK);
    close(own);
}
END_TEST

static char runs[] = "/tmp/gradwire-test-private-XXXXXX";

static void clean(const char *format, ...) GW_PRINTF(1, 2);

static void clean(const char *format, ...)
{
    char path[256];
    va_list values;
    va_start(values, format);
    vsnprintf(path, sizeof path, format, values);
    va_end(values);
    (void)remove(path);
}

START_TEST(a_runs_folder_is_its_users)
{
    struct run_folder folder;
    struct gw_error why;
    char path[sizeof runs + 8];
    ck_assert_ptr_nonnull(mkdtemp(runs));
    setenv("GRADWIRE_RUNS", runs, 1);
    snprintf(path, sizeof path, "%s/open", runs);
    umask(0);
    ck_assert_int_eq(mkdir(path, 0777), 0); /* of an earlier run */
    ck_assert_int_eq(run_folder_open(&folder, "open", &why), GW_OK);
    ck_assert_uint_eq(mode_of(folder.fd), 0700);
    ck_assert_int_eq(run_folder_write(&folder, "run.json", "{}", &why), GW_OK);
    int file = openat(folder.fd, "run.json", O_RDONLY);
    ck_assert_uint_eq(mode_of(file), 0600);
    close(file);
    close(folder.fd);
    ck_assert_int_eq(run_folder_open(&folder, "new", &why), GW_OK);
    ck_assert_uint_eq(mode_of(folder.fd), 0700);
    close(folder.fd);
    if (getuid() == 0) {
        ck_assert_int_eq(chown(path, OTHER_UID, OTHER_UID), 0);
        ck_assert_int_eq(run_folder_open(&folder, "open", &why), GW_EINVAL);
        ck_assert_ptr_nonnull(strstr(why.text, "belongs to another user"));
    }
    clean("%s/open/run.json", runs);
    clean("%s/open", runs);
    clean("%s/new", runs);
    clean("%s", runs);
    if (getuid() != 0)
        SKIP("private", "only root can be another user");
}
END_TEST

Suite *suite_private(void)
{
    Suite *suite = suite_create("private");
    TCase *tests = tcase_create("private");
    tcase_add_test(tests, shared_memory_is_its_users);
    tcase_add_test(tests, memory_of_another_user_is_not_mapped);
    tcase_add_test(tests, a_supervisor_of_another_user_is_none);
    tcase_add_test(tests, a_full_queue_is_a_sign_of_life);
    tcase_add_test(tests, a_runs_folder_is_its_users);
    suite_add_tcase(suite, tests);
    return suite;
}
