/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run's directory (attach.h), as its owner has it. Whoever holds the lock on
 * it is the owner; the lock goes with the process, however it ends, so a
 * directory without one is what a dead run left, and may be taken over.
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
 * free one (NULL). What a dead run of that name left is removed. GW_EINVAL: a
 * living run has it, or it is no run's; GW_ENOSPC; else what the system says.
 */
GW_MUST_CHECK enum gw_err run_folder_open(struct run_folder *folder,
                                          const char *name,
                                          struct gw_error *why);
/* stdout and stderr go into its log from now on. A directory without a log is
 * not taken for a run's later, so this comes first. */
GW_MUST_CHECK enum gw_err run_folder_log(const struct run_folder *folder,
                                         struct gw_error *why);
/* Whole or not at all. */
GW_MUST_CHECK enum gw_err run_folder_write(const struct run_folder *folder,
                                           const char *file, const char *text,
                                           struct gw_error *why);
/* Steals `json`. */
GW_MUST_CHECK enum gw_err run_folder_write_json(const struct run_folder *folder,
                                                const char *file, json_t *json,
                                                struct gw_error *why);
/* run.json of these facts (stolen), its name and when it began; and where it is
 * to be asked. */
GW_MUST_CHECK enum gw_err run_folder_publish(const struct run_folder *folder,
                                             json_t *facts,
                                             const char *endpoint,
                                             struct gw_error *why);
/* The run is over: writes summary.json of `summary` (stolen; NULL: none), with
 * its beginning, its duration and the error (NULL: none) where the summary has
 * not got them. The run cannot be asked any more. */
void run_folder_conclude(const struct run_folder *folder, json_t *summary,
                         const char *error);
/* `latest` is this one from now on. */
void run_folder_latest(const struct run_folder *folder);

/* ---- names ---- */

/* Lower case letters, digits and "-", not "latest". */
GW_MUST_CHECK enum gw_err run_name_check(const char *name,
                                         struct gw_error *why);
/* A short word; another one for each attempt. */
void run_name_pick(uint64_t chance, unsigned attempt, char out[RUN_NAME_MAX]);

#endif
