/* SPDX-License-Identifier: MIT
 *
 * See key_file.h. The files are in memory and disappear with the process,
 * however it ends: Check kills failed tests, and /tmp stays clean.
 */
#include "key_file.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

struct key_file key_file_write(const char *text, mode_t mode)
{
    struct key_file file;
    int fd = memfd_create("key", 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", fd);
    return file;
}

struct key_file key_file_make(mode_t mode)
{
    char public_key[41], secret_key[41], text[90];
    ck_assert_int_eq(zmq_curve_keypair(public_key, secret_key), 0);
    snprintf(text, sizeof text, "%s\n%s\n", public_key, secret_key);
    return key_file_write(text, mode);
}
