/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For every parent of processes: signals that can be polled, children that die
 * with the parent, and the description of their end. The children themselves
 * and the meaning of their ends are the parent's matter: launch.c for ranks,
 * run/supervisor for the members of a run, announce.c for its one process.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <gradwire/gradwire.h>

#include <signal.h>
#include <sys/types.h>

/* Reads SIGINT, SIGTERM and SIGCHLD from a file, one after the other, so that
 * one poll sees them and all other files and misses none in between. */
struct signal_file {
    int fd;          /* -1: not taken */
    sigset_t before; /* the mask until then */
};
/* GW_ESYS, and nothing is taken. */
GW_MUST_CHECK enum gw_err signals_acquire(struct signal_file *file,
                                          struct gw_error *why);
/* The number of the next signal; 0: none. */
int signals_next(const struct signal_file *file);
void signals_release(struct signal_file *file);

/* In a child: `number` comes when the parent ends. False: the parent has
 * already ended. */
GW_MUST_CHECK bool process_follow(pid_t parent, int number);
/* Has this child just ended? `flags` as waitpid's; true once, with its status.
 */
bool process_reap(pid_t pid, int flags, int *status);
/* "killed by signal 9 (Killed)", or `left` and its status. */
enum { PROCESS_END_MAX = 80 };
const char *process_end(int status, char out[PROCESS_END_MAX]);

#endif
