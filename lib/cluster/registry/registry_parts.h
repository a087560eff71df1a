/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of the registry, one file per kind of state:
 *   registry.c           an entry: decode, answer once, dispatch
 *   registry_clients.c   answers of clients
 *   registry_members.c   register, admit, leave; the effect of a removal
 *   registry_suspect.c   suspicions, and when they declare a member dead
 *   registry_ended.c     the removal of processes that have ended
 *   registry_flush.c     reports, the deadline, decisions
 *   registry_routes.c    slots and tables of the parameter server
 *   registry_snapshot.c  encodes the state
 *   registry_restore.c   decodes it
 */
#ifndef GW__CLUSTER_REGISTRY_PARTS_H
#define GW__CLUSTER_REGISTRY_PARTS_H

#include "registry.h"

/* Makes *answer a refusal with a sentence; returns `code`. */
GW_PRINTF(3, 4)
enum gw_err gw__refuse(struct gw__answer *answer, enum gw_err code,
                       const char *format, ...);
/* Describes the effect in a sentence; returns GW_OK. */
GW_PRINTF(2, 3)
enum gw_err gw__append_text(struct gw__answer *answer, const char *format, ...);

/* The member with this number in any state; NULL and a refusal if there is
 * none. */
struct gw__member *gw__registry_member(struct gw__registry *registry,
                                       unsigned node,
                                       struct gw__answer *answer);
/* The same if it is active as this incarnation. */
struct gw__member *gw__registry_active(struct gw__registry *registry,
                                       struct gw__process who,
                                       struct gw__answer *answer);
/* Refuses if `node` is the last one that keeps the state. */
bool gw__registry_is_last(struct gw__registry *registry, unsigned node,
                          struct gw__answer *answer);
/* Removes these active members from the view. This is a new epoch if they were
 * workers, servers or aggregators, and it opens a flush if one was in the
 * ring. */
void gw__registry_remove(struct gw__registry *registry, struct gw_nodes nodes,
                         enum gw__member_state state);

/* Drops the suspicion of this member. */
void gw__suspicion_drop(struct gw__member *member);
/* Is the process active, and not the observer itself? */
bool gw__registry_may_suspect(struct gw__registry *registry,
                              struct gw__process by,
                              struct gw__process suspected,
                              struct gw__answer *answer);
/* A certain SUSPECT: removes those in it that are still active. */
enum gw_err gw__registry_remove_ended(struct gw__registry *registry,
                                      const struct gw__command *command,
                                      struct gw__answer *answer);

/* The ring is about to lose members: survivors must report. */
void gw__flush_begin(struct gw__registry *registry);
/* Decides if all members have reported. */
void gw__flush_check(struct gw__registry *registry);
/* The servers may have changed: the slots follow (route.h). */
void gw__registry_route(struct gw__registry *registry);
/* Refuses if this member has a slot that no other server has in sync. */
bool gw__registry_needs(const struct gw__registry *registry, unsigned node,
                        struct gw__answer *answer);

typedef enum gw_err gw__command_apply(struct gw__registry *,
                                      const struct gw__command *,
                                      struct gw__answer *);
gw__command_apply gw__apply_register, gw__apply_admit, gw__apply_suspect,
    gw__apply_leave, gw__apply_report, gw__apply_deadline, gw__apply_routes,
    gw__apply_table, gw__apply_place, gw__apply_promote, gw__apply_handover,
    gw__apply_drain;

/* The entry of a client, or NULL. */
struct gw__client *gw__client_find(struct gw__registry *registry,
                                   struct gw__id id);
/* May this request be executed? True: the answer belongs in *client (NULL:
 * nowhere). False: the answer is written, and *bytes is its length. */
bool gw__client_begin(struct gw__registry *registry,
                      const struct gw__command *command,
                      struct gw__client **client,
                      uint8_t answer[GW__ANSWER_BYTES_MAX], size_t *bytes);
void gw__client_end(struct gw__client *client, const struct gw__registry *,
                    const struct gw__command *command, const uint8_t *answer,
                    size_t bytes);

#endif
