/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Other programs that a tool runs: ringtop, tar, sh, and itself.
 */
#ifndef CHILD_PROCESS_H
#define CHILD_PROCESS_H

#include <gradwire/gradwire.h>

#include <stdio.h>

struct child_process {
    const char *program; /* searched for in PATH; NULL: words[0] */
    const char *const *words;
    const char *directory;  /* NULL: the current one */
    const char *const *set; /* variables: name, value, ..., NULL; or NULL */
    FILE *output;           /* its standard output; NULL: standard error */
    uint64_t file_bytes;    /* limit of every file that it writes; 0: none */
};

/* The exit status of a program that could not be executed. */
enum { CHILD_NOT_FOUND = 127 };

/* Runs it to its end, and passes SIGINT and SIGTERM on to it; *passed is the
 * last of them, or 0. *state is as from waitpid. Such a signal may end it before
 * it catches them. A terminal's Ctrl-C reaches it twice, which counts as one. */
GW_MUST_CHECK enum gw_err
child_process_await(const struct child_process *process, int *state,
                    int *passed, struct gw_error *why);

/* The same; *status is its exit status. GW_EUNREACH: it cannot be started.
 * GW_EINTR: interrupted, and so is the program. GW_EINTERNAL: a signal ended
 * it. */
GW_MUST_CHECK enum gw_err child_process_run(const struct child_process *process,
                                            int *status, struct gw_error *why);

#endif
