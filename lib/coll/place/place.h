/* SPDX-License-Identifier: MIT
 *
 * Internal interface of gradwire/place.h: the engines as a table
 * (place_engines.c), their rules for the rendezvous (place_rules.c), and
 * queries to the process manager (place_pmi.c). place.c merges the results of
 * the engines.
 */
#ifndef GW__PLACE_H
#define GW__PLACE_H

#include <gradwire/place.h>

struct gw__engine {
    enum gw_place_source source;
    /* The variable of each field; several as "A|B": the first that is set. */
    const char *variables[GW_PLACE_FIELD_COUNT];
    /* Is the engine present? NULL: if its rank or its size is set. */
    bool (*counts)(const char *const *environment);
    /* Adds fields to *place that need more than reading a variable. May be
     * NULL. */
    enum gw_err (*more)(const char *const *environment, struct gw_place *place,
                        struct gw_error *why);
    /* Finds the host of rank 0, for jobs on several hosts: fills `host` and
     * returns how it was found, or returns NULL. May be NULL. */
    const char *(*first_host)(const char *const *environment,
                              const struct gw_place *place,
                              char host[GW_PLACE_TEXT_BYTES]);
};

/* In order of precedence; ends with GW_PLACE_NOBODY. */
extern const struct gw__engine gw__engines[];

/* The value of the first of the names ("A|B") that is set and not empty, or
 * NULL; `name`, if not NULL, receives that name. */
const char *gw__place_look(const char *const *environment, const char *names,
                           char name[64]);

/* Sets a field from the text of a variable. GW_EINVAL names the variable. */
GW_MUST_CHECK enum gw_err gw__place_set(struct gw_place *place,
                                        enum gw_place_field field,
                                        enum gw_place_source source,
                                        const char *how, const char *text,
                                        struct gw_error *why);
bool gw__place_knows(const struct gw_place *place, enum gw_place_field field);

/* Sets the rendezvous if no variable does: an abstract socket within one host,
 * a port at the host of rank 0 between hosts, both named after the job. Does
 * nothing if these are unknown. Pure. */
void gw__place_meet(const char *const *environment, struct gw_place *place);

/* "node[03-04,07],login" -> "node03" */
void gw__place_first_host(const char *list, char host[GW_PLACE_TEXT_BYTES]);

/* Asks hydra for the job's name, that of its key-value space. `fd`: PMI_FD.
 * `offer` NULL: nothing else. Otherwise all ranks must ask: rank 0 offers its
 * address, the others "", and `host` receives it. GW_ESYS if the answers are
 * not those of PMI-1. */
GW_MUST_CHECK enum gw_err gw__place_ask_pmi(int fd, const char *offer,
                                            char name[GW_PLACE_TEXT_BYTES],
                                            char host[GW_PLACE_TEXT_BYTES],
                                            struct gw_error *why);

/* Sets the rendezvous at rank 0's `host`; `how` is the origin of that name. */
void gw__place_meet_at(struct gw_place *place, enum gw_place_source source,
                       const char *how, const char *host);

#endif
