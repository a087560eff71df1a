/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run's directory (rpc_client.h), for its owner. The owner is the process
 * that holds the lock on it. The lock ends with the process, so a directory
 * without a lock belongs to a dead run and may be taken over.
 */
#ifndef RUN_FOLDER_H
#define RUN_FOLDER_H

#include <gradwire/gradwire.h>

#include <jansson.h>
#include <limits.h>

enum { RUN_NAME_MAX = 32 };

struct run_folder {
    char name[RUN_NAME_MAX];
    char path[PATH_MAX];
    int fd; /* locked; -1: there is none */
    uint64_t began_ns;
    json_int_t began_s; /* since 1970 */
};

/* Takes the directory of the run `name`, which run_name_check has passed, or a
 * free one (NULL). The files of a dead run of that name are removed. GW_EINVAL:
 * a run that is alive has it, or it is not a run's. GW_ENOSPC, or the system's
 * error. */
GW_MUST_CHECK enum gw_err run_folder_open(struct run_folder *folder,
                                          const char *name,
                                          struct gw_error *why);
/* From now on stdout and stderr go into its log. A directory without a log will
 * not be recognised as a run's, so this comes first. */
GW_MUST_CHECK enum gw_err run_folder_log(const struct run_folder *folder,
                                         struct gw_error *why);
/* Whole or not at all. */
GW_MUST_CHECK enum gw_err run_folder_write(const struct run_folder *folder,
                                           const char *file, const char *text,
                                           struct gw_error *why);
/* Writes run.json of these facts (stolen), its name and start time, and the
 * file with its endpoint. */
GW_MUST_CHECK enum gw_err run_folder_publish(const struct run_folder *folder,
                                             json_t *facts,
                                             const char *endpoint,
                                             struct gw_error *why);
/* The run is over: writes summary.json of `summary` (stolen; NULL: none). The
 * start, the duration and the error (NULL: none) are added unless the summary
 * has them. Requests to the run fail from now on. */
void run_folder_conclude(const struct run_folder *folder, json_t *summary,
                         const char *error);
/* Makes `latest` a link to this run. */
void run_folder_latest(const struct run_folder *folder);

/* ---- names ---- */

/* Lower case letters, digits and "-", not "latest". */
GW_MUST_CHECK enum gw_err run_name_check(const char *name,
                                         struct gw_error *why);
/* A short word; another one for each attempt. */
void run_name_pick(uint64_t chance, unsigned attempt, char out[RUN_NAME_MAX]);

#endif
