/* SPDX-License-Identifier: MIT
 *
 * For tests of the controllers' log: a folder for it.
 */
#ifndef TESTS_LOG_FOLDER_H
#define TESTS_LOG_FOLDER_H

enum { LOG_FOLDER_PATH = 64 };

/* Makes a new folder: in $TMPDIR if its path is short enough, otherwise in
 * memory if possible, since a busy disk may delay a log for minutes. */
void log_folder_make(char path[LOG_FOLDER_PATH]);
/* Removes the folder and all that is in it. */
void log_folder_remove(const char *path);

#endif
