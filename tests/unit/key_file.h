/* SPDX-License-Identifier: MIT
 *
 * Valid and invalid key files.
 */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <sys/types.h>

struct key_file {
    char path[40];
};

/* A new pair of keys. The file exists until the test's process ends. */
struct key_file key_file_make(mode_t mode);
/* A file with that text. */
struct key_file key_file_write(const char *text, mode_t mode);

#endif
