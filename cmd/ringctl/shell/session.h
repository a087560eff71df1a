/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state that outlasts a command: the current run, the connection to its
 * supervisor, and the runs to be taken down when the script or shell that
 * started them ends.
 *
 * The current run is that of --run, else of $GRADWIRE_RUN, else the last one
 * started here, else the newest.
 */
#ifndef SESSION_H
#define SESSION_H

#include "common/command.h"
#include "common/rpc_client.h"

extern const struct option_spec session_options[]; /* --run */

/* A script or shell begins: runs that start from now on belong to it. */
void session_begin(void);
bool session_lasts(void); /* in a script or shell? */
/* Takes down the session's runs, and reports that on stderr. */
void session_end(void);

/* Keeps the words of the command that is about to run. */
void session_type(int count, char *const *words);
const char *session_typed(void);
/* The same as a line of a script that repeats the command in another run:
 * without --run and --keep. Once per command: NULL after the first call, or
 * without memory. The caller frees it. */
char *session_line(void);

/* The name of the current run; NULL: the newest. */
const char *session_run(void);
/* The name as the user gave it, by --run or $GRADWIRE_RUN; or NULL. */
const char *session_run_named(void);
/* The connection to it; owned by the session. */
GW_MUST_CHECK enum gw_err session_connect(struct rpc_client **client,
                                          struct gw_error *why);
/* Closes the connection after a failure. */
void session_disconnect(void);

/* After `up` and `down`. */
void session_started(const char *run, pid_t supervisor, bool keep);
void session_stopped(const char *run);

/* `quit` was typed. */
extern bool session_quit;

#endif
