/* SPDX-License-Identifier: MIT
 *
 * The client from inside. The caller's thread does everything: each call turns
 * the node (news), takes parcels, lets the worker's machine (worker.h) work,
 * and, when it has to wait, waits on the post. Between calls nothing moves but
 * what servers read out of lent memory, so no call leaves letters behind in a
 * bundle (bundle.h) but those it began before it fails; the control thread
 * (node.h) keeps the process a member meanwhile.
 *
 *   client.c           connecting, leaving, turning and waiting
 *   client_access.c    pushes and pulls; client_filter.c what travels of a push
 *   client_units.c     units of work, plans, barriers
 *   client_table.c     tables
 *   client_snapshot.c
 */
#ifndef GW__PS_CLIENT_PARTS_H
#define GW__PS_CLIENT_PARTS_H

#include "filter.h"
#include "ps/messages/bundle.h"
#include "ps/node/node.h"
#include "worker.h"

struct gw__ps_group {
    bool in_unit;
    uint64_t finished; /* units; the number of the next NEXT but one */
    uint64_t clock, closed;
    double sum, weight; /* of the unit under way */
};

/* What is left of a push behind the filters, until it has ended. */
struct gw__passed {
    struct gw__passed *next;
    uint64_t request;
    size_t count;
    uint64_t *keys;
    float *values;
};

struct gw_ps {
    struct gw__node *node;
    struct gw__worker *worker;
    struct gw__bundles bundles;
    _Atomic bool interrupted;
    bool shm;
    uint64_t timeout_ns; /* UINT64_MAX: none */
    struct gw_sink *events;
    float top_share, significant;
    bool no_lend;
    struct gw__ps_group groups[GW_PS_GROUPS_MAX];
    struct gw__filter *filters[GW_PS_TABLES_MAX];
    struct gw__passed *passed;
    uint64_t rows_held_back, waited_ns;
    bool ask_routes, asking; /* before each access; the answer is awaited */
    uint64_t routes_asked, routes_ns;
};

/* ---- client.c ---- */

/* Whatever has come is worked off. */
void gw__ps_turn(struct gw_ps *ps);
/* Sleeps until something may have changed, at most until `until_ns`. */
void gw__ps_sleep(struct gw_ps *ps, uint64_t until_ns);
/* GW_OK; GW_ECLOSED, GW_EINTR: no call will succeed any more. */
GW_MUST_CHECK enum gw_err gw__ps_alive(const struct gw_ps *ps,
                                       struct gw_error *why);
/* When a request that begins now has waited too long. */
uint64_t gw__ps_deadline(const struct gw_ps *ps);
/* Until the request has ended, or nothing can come of it any more: GW_ETIMEOUT,
 * GW_EINTR, GW_ECLOSED, and it is still under way then. */
GW_MUST_CHECK enum gw_err gw__ps_await(struct gw_ps *ps, uint64_t request,
                                       uint64_t deadline_ns, bool *ended,
                                       struct gw_error *why);
/* The same; what does not end is detached. */
GW_MUST_CHECK enum gw_err gw__ps_finish(struct gw_ps *ps, uint64_t request,
                                        struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__ps_clock(struct gw_ps *ps, unsigned group,
                                       const struct gw__clock_command *command,
                                       struct gw_ps_work *work,
                                       struct gw_error *why);

/* ---- client_events.c ---- */

void gw__ps_event_sent(struct gw_ps *ps, const struct gw__message_out *letter);
void gw__ps_event_answered(struct gw_ps *ps,
                           const struct gw__message_in *parcel);

/* ---- client_access.c, client_filter.c ---- */

/* Begins it, after waiting for room if there is none. */
GW_MUST_CHECK enum gw_err gw__ps_begin(struct gw_ps *ps,
                                       const struct gw__access *access,
                                       uint64_t *request, struct gw_error *why);
bool gw__ps_filters(const struct gw_ps *ps, unsigned table);
/* Pushes what the filters let through; *request 0: nothing. */
GW_MUST_CHECK enum gw_err gw__ps_push(struct gw_ps *ps,
                                      const struct gw__access *access,
                                      uint64_t *request, struct gw_error *why);
/* Pushes what they have held back, and waits for it. */
GW_MUST_CHECK enum gw_err gw__ps_flush(struct gw_ps *ps, unsigned table,
                                       struct gw_error *why);
/* The request has ended: what was passed on for it is freed. */
void gw__ps_passed(struct gw_ps *ps, uint64_t request);

#endif
