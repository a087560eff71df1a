/* SPDX-License-Identifier: MIT
 *
 * Internal interface of gradwire/launch.h: the engines as a table
 * (launch_engines.c), their rules for the rendezvous (launch_rendezvous.c), and
 * queries to the process manager (launch_pmi.c). launch_env.c merges the
 * results of the engines.
 */
#ifndef GW__LAUNCH_ENV_H
#define GW__LAUNCH_ENV_H

#include <gradwire/launch.h>

struct gw__engine {
    enum gw_launch_env_source source;
    /* The variable of each field; several as "A|B": the first that is set. */
    const char *variables[GW_LAUNCH_FIELD_COUNT];
    /* Is the engine present? NULL: if its rank or its size is set. */
    bool (*counts)(const char *const *environment);
    /* Adds fields to *place that need more than reading a variable. May be
     * NULL. */
    enum gw_err (*more)(const char *const *environment,
                        struct gw_launch_env *env, struct gw_error *why);
    /* Finds the host of rank 0, for jobs on several hosts: fills `host` and
     * returns how it was found, or returns NULL. May be NULL. */
    const char *(*first_host)(const char *const *environment,
                              const struct gw_launch_env *env,
                              char host[GW_LAUNCH_TEXT_BYTES]);
};

/* In order of precedence; ends with GW_LAUNCH_NONE. */
extern const struct gw__engine gw__engines[];

/* The value of the first of the names ("A|B") that is set and not empty, or
 * NULL; `name`, if not NULL, receives that name. */
const char *gw__launch_env_lookup(const char *const *environment,
                                  const char *names, char name[64]);

/* Sets a field from the text of a variable. GW_EINVAL names the variable. */
GW_MUST_CHECK enum gw_err gw__launch_env_set(struct gw_launch_env *env,
                                             enum gw_launch_env_field field,
                                             enum gw_launch_env_source source,
                                             const char *how, const char *text,
                                             struct gw_error *why);
bool gw__launch_env_knows(const struct gw_launch_env *env,
                          enum gw_launch_env_field field);

/* Sets the rendezvous if no variable does: an abstract socket within one host,
 * a port at the host of rank 0 between hosts, both named after the job. Does
 * nothing if these are unknown. Pure. */
void gw__launch_env_rendezvous(const char *const *environment,
                               struct gw_launch_env *env);

/* "node[03-04,07],login" -> "node03" */
void gw__launch_env_first_host(const char *list,
                               char host[GW_LAUNCH_TEXT_BYTES]);

/* Asks hydra for the job's name, that of its key-value space. `fd`: PMI_FD.
 * `offer` NULL: nothing else. Otherwise all ranks must ask: rank 0 offers its
 * address, the others "", and `host` receives it. GW_ESYS if the answers are
 * not those of PMI-1. */
GW_MUST_CHECK enum gw_err
gw__launch_env_query_pmi(int fd, const char *offer,
                         char name[GW_LAUNCH_TEXT_BYTES],
                         char host[GW_LAUNCH_TEXT_BYTES], struct gw_error *why);

/* Sets the rendezvous at rank 0's `host`; `how` is the origin of that name. */
void gw__launch_env_rendezvous_at(struct gw_launch_env *env,
                                  enum gw_launch_env_source source,
                                  const char *how, const char *host);

#endif
