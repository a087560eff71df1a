/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the files of `ringctl sim`: verb_sim.c is the command, sim_faults.c
 * reads and writes its fault schedules, sim_names.c converts their names of
 * nodes, sim_scale.c compares rings of different sizes.
 */
#ifndef RINGCTL_SIM_H
#define RINGCTL_SIM_H

#include "simcluster/common/kind.h"

/* A schedule as text, from --faults. */
struct sim_faults {
    const char *name; /* in errors; NULL: schedules are drawn from the seed */
    char *text;
    size_t bytes;
    bool by_op;      /* some are at a place in the work */
    uint64_t end_ns; /* end of the last fault, or begin of a permanent one */
};

/* `option` is named in errors. `word` is the name of a file, or faults separated by semicolons; NULL: none
 * was given. Names of nodes are those of `groups`. Reports the errors that do
 * not depend on the network. */
GW_MUST_CHECK enum gw_err sim_faults_read(const char *option, const char *word,
                                          const struct simcluster_group *groups,
                                          struct sim_faults *faults,
                                          struct gw_error *why);
/* GW_ENOTSUP: some are at a place in the work instead of a time. */
GW_MUST_CHECK enum gw_err sim_faults_timed(const struct sim_faults *faults,
                                           struct gw_error *why);
void sim_faults_fini(struct sim_faults *faults);
/* The schedule of `seed`: the given one, or a random one. */
GW_MUST_CHECK enum gw_err sim_faults_of(const struct sim_faults *input,
                                        const struct gw__campaign *campaign,
                                        uint64_t seed,
                                        struct gw__faults *faults,
                                        struct gw_error *why);
/* Writes it in the format of --faults; "-" is stdout. */
GW_MUST_CHECK enum gw_err
sim_faults_write(const struct gw__faults *faults,
                 const struct simcluster_group *groups, const char *path,
                 struct gw_error *why);

/* ---- sim_names.c ---- */

/* Replaces names by numbers, in place: in `bytes` bytes and an end, in memory of
 * `room` bytes. Returns the growth. */
size_t sim_names_in(char *text, size_t bytes, size_t room,
                    const struct simcluster_group *groups);
/* One fault as a line, with names instead of numbers. */
void sim_names_out(const char *line, const struct simcluster_group *groups,
                   FILE *file);

/* ---- sim_scale.c ---- */

/* `ringctl sim scale`: rings of up to `members`, 0: the default. `plain`: no
 * other option was given. Returns the exit status. */
int sim_scale(unsigned members, bool plain);

#endif
