/* SPDX-License-Identifier: MIT
 *
 * Inside of gradwire/place.h: the engines as a table (place_engines.c), their
 * rules for where to meet (place_rules.c), and what one gets by asking the
 * process manager (place_pmi.c). place.c lays what the engines say over each
 * other.
 */
#ifndef GW__PLACE_H
#define GW__PLACE_H

#include <gradwire/place.h>

struct gw__engine {
    enum gw_place_source source;
    /* The variable of each field; several: the first that is set, "A|B". */
    const char *variables[GW_PLACE_FIELD_COUNT];
    /* Whether it counts at all; NULL: when its rank or its size is set. */
    bool (*counts)(const char *const *environment);
    /* What takes more than reading a variable: adds to *place. May be NULL. */
    enum gw_err (*more)(const char *const *environment, struct gw_place *place,
                        struct gw_error *why);
    /* Where rank 0 is, for jobs on several hosts: fills `host` and says how it
     * knows, or returns NULL. May be NULL. */
    const char *(*first_host)(const char *const *environment,
                              const struct gw_place *place,
                              char host[GW_PLACE_TEXT_BYTES]);
};

/* In the order in which they are believed; ends with GW_PLACE_NOBODY. */
extern const struct gw__engine gw__engines[];

/* The value of the first of the names ("A|B") that is set and not empty, or
 * NULL; `name`, if not NULL, receives which one. */
const char *gw__place_look(const char *const *environment, const char *names,
                           char name[64]);

/* Sets a field from the text of a variable. GW_EINVAL names the variable. */
GW_MUST_CHECK enum gw_err gw__place_set(struct gw_place *place,
                                        enum gw_place_field field,
                                        enum gw_place_source source,
                                        const char *how, const char *text,
                                        struct gw_error *why);
bool gw__place_knows(const struct gw_place *place, enum gw_place_field field);

/* A rendezvous where no variable has one: within a host an abstract socket,
 * between hosts a port at the host of rank 0, both named after the job. Nothing
 * when that is not known. Pure. */
void gw__place_meet(const char *const *environment, struct gw_place *place);

/* "node[03-04,07],login" -> "node03" */
void gw__place_first_host(const char *list, char host[GW_PLACE_TEXT_BYTES]);

/* What hydra calls the job: the name of its key-value space. `fd`: PMI_FD.
 * `offer` NULL: that is all. Else all ranks must ask: rank 0 offers its
 * address, the others "", and `host` receives it. GW_ESYS when nobody answers
 * there as PMI-1 does. */
GW_MUST_CHECK enum gw_err gw__place_ask_pmi(int fd, const char *offer,
                                            char name[GW_PLACE_TEXT_BYTES],
                                            char host[GW_PLACE_TEXT_BYTES],
                                            struct gw_error *why);

/* The rendezvous at rank 0's `host`, of which `how` tells who named it. */
void gw__place_meet_at(struct gw_place *place, enum gw_place_source source,
                       const char *how, const char *host);

#endif
