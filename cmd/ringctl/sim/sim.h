/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the files of `ringctl sim`: verb_sim.c is the command, sim_faults.c
 * where its fault schedules come from and go to, sim_names.c how they name
 * nodes.
 */
#ifndef RINGCTL_SIM_H
#define RINGCTL_SIM_H

#include "world/common/kind.h"

/* A schedule as text, from --faults. */
struct sim_faults {
    const char *name; /* in errors; NULL: schedules are drawn from the seed */
    char *text;
    size_t bytes;
    uint64_t end_ns; /* of the last fault that ends, or begins for good */
};

/* `word` is the name of a file, or faults with semicolons between; NULL: none
 * was given. Names of nodes are those of `groups`. What is wrong in it, in any
 * network, is said. */
GW_MUST_CHECK enum gw_err sim_faults_read(const char *word,
                                          const struct world_group *groups,
                                          struct sim_faults *faults,
                                          struct gw_error *why);
void sim_faults_fini(struct sim_faults *faults);
/* The schedule of `seed`: the one that was given, or one at random. */
GW_MUST_CHECK enum gw_err sim_faults_of(const struct sim_faults *given,
                                        const struct gw__campaign *campaign,
                                        uint64_t seed,
                                        struct gw__faults *faults,
                                        struct gw_error *why);
/* Writes it as --faults reads it; "-" is stdout. */
GW_MUST_CHECK enum gw_err sim_faults_write(const struct gw__faults *faults,
                                           const struct world_group *groups,
                                           const char *path,
                                           struct gw_error *why);

/* ---- sim_names.c ---- */

/* Writes numbers for names, in place. */
void sim_names_in(char *text, const struct world_group *groups);
/* One fault as a line, with names for numbers. */
void sim_names_out(const char *line, const struct world_group *groups,
                   FILE *file);

#endif
