/* SPDX-License-Identifier: MIT
 *
 * Key files, good and bad ones.
 */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <sys/types.h>

struct key_file {
    char path[40];
};

/* A pair of keys of its own. A file is there until the test's process ends. */
struct key_file key_file_make(mode_t mode);
/* With that text. */
struct key_file key_file_write(const char *text, mode_t mode);

#endif
