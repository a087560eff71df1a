/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the registry, one a kind of thing that it keeps:
 *   registry.c           an entry: decode, answer once, dispatch
 *   registry_clients.c   who was answered what
 *   registry_members.c   register, admit, leave; what removing a member means
 *   registry_accuse.c    accusations, and when they convict
 *   registry_flush.c     reports, the deadline, decisions
 *   registry_routes.c    slots and tables of the parameter server
 *   registry_links.c     link rules
 *   registry_snapshot.c  the state as bytes
 *   registry_restore.c   and back
 */
#ifndef GW__CLUSTER_REGISTRY_PARTS_H
#define GW__CLUSTER_REGISTRY_PARTS_H

#include "registry.h"

/* Makes *answer a refusal with its sentence; returns `code`. */
GW_PRINTF(3, 4)
enum gw_err gw__refuse(struct gw__answer *answer, enum gw_err code,
                       const char *format, ...);
/* The sentence of what was done; returns GW_OK. */
GW_PRINTF(2, 3)
enum gw_err gw__say(struct gw__answer *answer, const char *format, ...);

/* The member of this number in whatever state; NULL and a refusal when there is
 * none. */
struct gw__member *gw__registry_member(struct gw__registry *registry,
                                       unsigned node,
                                       struct gw__answer *answer);
/* The same if it is active as this incarnation. */
struct gw__member *gw__registry_active(struct gw__registry *registry,
                                       struct gw__process who,
                                       struct gw__answer *answer);
/* Would nobody be left to keep the state without `node`? Then a refusal. */
bool gw__registry_is_last(struct gw__registry *registry, unsigned node,
                          struct gw__answer *answer);
/* Takes these active members out of the view, which is a new epoch when they
 * were workers or servers, and opens a flush when one stood in the ring. */
void gw__registry_remove(struct gw__registry *registry, uint64_t nodes,
                         enum gw__member_state state);

/* Nobody accuses this member any more. */
void gw__accusation_drop(struct gw__member *member);

/* The ring is about to lose members: survivors are to report. */
void gw__flush_begin(struct gw__registry *registry);
/* Decides if all have reported. */
void gw__flush_check(struct gw__registry *registry);
/* The servers may be others: slots follow (route.h). */
void gw__registry_route(struct gw__registry *registry);
/* Has this member a slot that nobody else has in sync? Then a refusal. */
bool gw__registry_needs(const struct gw__registry *registry, unsigned node,
                        struct gw__answer *answer);

typedef enum gw_err gw__command_apply(struct gw__registry *,
                                      const struct gw__command *,
                                      struct gw__answer *);
gw__command_apply gw__apply_register, gw__apply_admit, gw__apply_accuse,
    gw__apply_leave, gw__apply_report, gw__apply_deadline, gw__apply_routes,
    gw__apply_table, gw__apply_place, gw__apply_promote, gw__apply_handover,
    gw__apply_drain, gw__apply_link, gw__apply_cut, gw__apply_heal;

/* The entry of a client, or NULL. */
struct gw__client *gw__client_find(struct gw__registry *registry,
                                   struct gw__id id);
/* May this request be done? True with *client where its answer belongs (NULL:
 * nowhere), or false with the answer written and *bytes its length. */
bool gw__client_begin(struct gw__registry *registry,
                      const struct gw__command *command,
                      struct gw__client **client,
                      uint8_t answer[GW__ANSWER_BYTES_MAX], size_t *bytes);
void gw__client_end(struct gw__client *client, const struct gw__registry *,
                    const struct gw__command *command, const uint8_t *answer,
                    size_t bytes);

#endif
