/* SPDX-License-Identifier: MIT
 *
 * Files that a person names, for reading. All readers open them here, so that
 * each refuses what has no end or no bytes (devices, sockets, folders) before
 * anything is read, and none takes more memory than there is.
 */
#ifndef GW__BASE_FILE_H
#define GW__BASE_FILE_H

#include <gradwire/base.h>

#include <stdio.h>

/* A regular file or a pipe, whose writer it waits for; a signal ends that
 * (GW_EINTR). Else GW_EDATA: "PATH: ...". */
GW_MUST_CHECK enum gw_err gw__file_open(const char *path, int *fd,
                                        struct gw_error *why);
/* The same as a stream; NULL after an error. */
FILE *gw__file_stream(const char *path, struct gw_error *why);

/* All of it; false: errno says why not. */
bool gw__file_write(int fd, const void *data, size_t bytes);

/* The most bytes of data that a process reads into its memory: a quarter of
 * what it may have (base/memory_limit.h), since what is made of a text takes up
 * to three times as much. */
uint64_t gw__file_bytes_max(void);
/* GW_EDATA: "PATH: more than 7G, ...". */
enum gw_err gw__file_too_long(const char *path, struct gw_error *why);

#endif
