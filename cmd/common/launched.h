/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tools under an engine: when mpirun, srun, torchrun or Kubernetes has started
 * the ranks (gradwire/launch.h), each process is one of them, and only rank 0
 * prints. Commands that support this take these options and call launched_begin
 * first.
 */
#ifndef LAUNCHED_H
#define LAUNCHED_H

#include "key.h"

struct launched {
    const char *engine; /* "OpenMPI" */
    struct gw_launch_env env;
    struct gw_comm_config config; /* points into this struct */
    unsigned connect_ms;
    char interface[GW_LAUNCH_TEXT_BYTES];
};

struct launch_options {
    bool alone, explain, insecure;
    bool all_print; /* not only rank 0; set by a command */
    const char *interface;
};
extern struct launch_options launch_options;

/* clang-format off */
#define LAUNCHER_OPTIONS                                                       \
    {"alone", 0, OPTION_FLAG, &launch_options.alone, NULL,                     \
     "Start ranks here, even under mpirun, srun or another launcher.", NULL},  \
    {"explain-env", 0, OPTION_FLAG, &launch_options.explain, NULL,             \
     "Print the rank information of the environment, then exit.", NULL},       \
    KEY_OPTION,                                                                \
    {"insecure", 0, OPTION_FLAG, &launch_options.insecure, NULL,               \
     "Allow connections between hosts without a key, and verbs without "       \
     "encryption.", NULL},                                                     \
    {"interface", 0, OPTION_TEXT, &launch_options.interface, "ADDRESS",        \
     "Address or interface of this host for ranks on other hosts.", NULL}
/* clang-format on */

/* The value of --ranks when it is not given. */
enum { RANKS_UNSET = INT32_MAX };

/* Finds the place of this process. Alone: *placed is NULL, and *ranks and *wire
 * get their defaults (`ranks_default`, "shm") where they are RANKS_UNSET or
 * NULL. Under an engine, *placed is the place of this rank, *ranks the number
 * of ranks that the engine has started, and *wire "shm" or, between hosts,
 * "tcp". From then on only rank 0 prints. GW_PENDING: --explain-env has been
 * handled, and nothing is left to do. GW_EINVAL: an incomplete place, or a
 * different --ranks. */
GW_MUST_CHECK enum gw_err
launched_begin(unsigned *ranks, unsigned ranks_default, const char **wire,
               const struct launched **launched, struct gw_error *why);

/* Do the reports of all ranks arrive here: is there no engine, or is this rank
 * 0? Only then may files be written. */
static inline bool launched_receives(const struct launched *launched)
{
    return !launched || launched->config.rank == 0;
}

#endif
