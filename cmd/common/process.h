/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every parent of processes needs: signals as something to poll, children
 * that die with it, and how they ended. Which children there are, and what
 * their ends mean, the parent knows: launch.c of ranks, run/supervisor of the
 * members of a run, announce.c of its one.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <gradwire/gradwire.h>

#include <signal.h>
#include <sys/types.h>

/* SIGINT, SIGTERM and SIGCHLD come out of a file, one after the other, so one
 * poll sees them and all else, and nothing can slip in between. */
struct signal_file {
    int fd;          /* -1: not taken */
    sigset_t before; /* the mask until then */
};
/* GW_ESYS, and nothing is taken. */
GW_MUST_CHECK enum gw_err signals_take(struct signal_file *file,
                                       struct gw_error *why);
/* The number of the next one; 0: there is none. */
int signals_next(const struct signal_file *file);
void signals_release(struct signal_file *file);

/* In a child: `number` comes when the parent ends, also when it has already
 * ended: false. */
GW_MUST_CHECK bool process_follow(pid_t parent, int number);
/* Has this child just ended? `flags` as waitpid's; true once, with its status.
 */
bool process_reap(pid_t pid, int flags, int *status);
/* "killed by signal 9 (Killed)", or `left` and its status. */
enum { PROCESS_END_MAX = 80 };
const char *process_end(int status, char out[PROCESS_END_MAX]);

#endif
