/* SPDX-License-Identifier: MIT
 *
 * Opens files that the user names, for reading. All readers use it, so that
 * each refuses files without an end or without bytes (devices, sockets,
 * folders) before it reads, and none uses more memory than there is.
 */
#ifndef GW__BASE_FILE_H
#define GW__BASE_FILE_H

#include <gradwire/base.h>

#include <poll.h>
#include <stdio.h>

/* A regular file or a pipe. For a pipe it waits for the writer; a signal ends
 * the wait (GW_EINTR). Other errors are GW_EDATA: "PATH: ...". */
GW_MUST_CHECK enum gw_err gw__file_open(const char *path, int *fd,
                                        struct gw_error *why);
/* The same as a stream; NULL after an error. */
FILE *gw__file_stream(const char *path, struct gw_error *why);

/* Waits at most `ms` milliseconds, -1: without limit, until a descriptor is ready
 * for one of the `events` of poll(2). Returns its events, also POLLHUP, POLLERR
 * and POLLNVAL; 0: none yet, or a signal came. */
short gw__file_wait(int fd, short events, int ms);

/* Writes all bytes, and waits while the descriptor accepts none. False: errno
 * has the reason. */
bool gw__file_write(int fd, const void *data, size_t bytes);

/* The most bytes that a process reads into its memory: a quarter of its limit
 * (base/memory_limit.h), since the data made from a text take up to three times
 * as much. */
uint64_t gw__file_bytes_max(void);
/* GW_EDATA: "PATH: more than 7G, ...". */
enum gw_err gw__file_too_long(const char *path, struct gw_error *why);

#endif
