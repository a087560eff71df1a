/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What outlasts a command: the run that commands mean, the connection to its
 * supervisor, and the runs to be taken down when the script or shell that
 * started them ends.
 *
 * The run is the one of --run, else of $GRADWIRE_RUN, else the one that was
 * started here last, else the newest.
 */
#ifndef SESSION_H
#define SESSION_H

#include "common/attach.h"
#include "common/command.h"

extern const struct option_spec session_options[]; /* --run */

/* A script or shell begins: runs that start from now on belong to it. */
void session_begin(void);
bool session_lasts(void); /* has one begun? */
/* Takes down what it started, and says so on stderr. */
void session_end(void);

/* Keeps the words of the command that is about to run. */
void session_type(int count, char *const *words);
const char *session_typed(void);

/* The name of the run that is meant; NULL: the newest. */
const char *session_run(void);
/* The name as the user gave it, by --run or $GRADWIRE_RUN; or NULL. */
const char *session_run_named(void);
/* The connection to it; the session's own. */
GW_MUST_CHECK enum gw_err session_attach(struct attach **attach,
                                         struct gw_error *why);
/* The connection is no good any more. */
void session_detach(void);

/* `up` and `down` have been. */
void session_started(const char *run, pid_t supervisor, bool keep);
void session_stopped(const char *run);

/* `quit` was typed. */
extern bool session_quit;

#endif
