/* SPDX-License-Identifier: MIT
 *
 * The client's internals.
 *
 * The caller's thread does all the work. Each call runs a turn: it applies
 * membership updates, receives messages, runs the worker's state machine
 * (worker.h), and waits on the messenger if necessary. Between calls the only
 * activity on the data path is that servers read lent memory. Therefore no call
 * leaves messages in a bundle (bundle.h), except those that it began before it
 * failed. Meanwhile the control thread (node.h) keeps the process a member.
 *
 *   client.c           connecting, leaving, turns, waiting
 *   client_aggregate.c the aggregator of the host, if it is used
 *   client_push_pull.c pushes and pulls; client_filter.c: filtered pushes
 *   client_work.c      work items, plans, barriers
 *   client_table.c     tables
 *   client_snapshot.c
 */
#ifndef GW__PS_CLIENT_PARTS_H
#define GW__PS_CLIENT_PARTS_H

#include "filter.h"
#include "ps/aggregate/aggregator.h"
#include "ps/messages/bundle.h"
#include "ps/node/node.h"
#include "worker.h"

struct gw__ps_group {
    bool in_work_item;
    uint64_t finished; /* items; the next NEXT has number finished + in_unit */
    uint64_t clock, closed;
    double sum, weight; /* of the current item */
};

/* A filtered push, kept until its request has ended. */
struct gw__passed {
    struct gw__passed *next;
    uint64_t request;
    size_t count;
    uint64_t *keys;
    float *values;
};

/* The aggregator of this host, from the newest membership update. */
struct gw__aggregate {
    bool wanted;
    unsigned number; /* of an own aggregator, or GW_PS_ANY */
    uint64_t window_ns;
    unsigned node; /* GW__NO_NODE: no aggregator */
    struct gw__id incarnation;
    bool ready; /* it has sent its greeting */
    uint64_t received_ns, avoid_until_ns;
    uint64_t refused;                    /* envelopes, and messages in them */
    struct gw__aggregator *own;          /* NULL: in another process, or none */
    struct gw__aggregator_counts before; /* sums of earlier own aggregators */
};

struct gw_ps {
    struct gw__node *node;
    struct gw__worker *worker;
    struct gw__bundles bundles;
    struct gw__aggregate aggregate;
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
    bool ask_routes,
        is_awaiting_routes; /* ask before each access; an answer is awaited */
    uint64_t routes_requested, routes_ns;
};

/* ---- client.c ---- */

/* Processes all changes and messages that have arrived. */
void gw__ps_turn(struct gw_ps *ps);
/* Sleeps until something may have changed, at most until `until_ns`. */
void gw__ps_sleep(struct gw_ps *ps, uint64_t until_ns);
/* GW_OK, or the reason why no call can succeed any more: GW_ECLOSED,
 * GW_EINTR. */
GW_MUST_CHECK enum gw_err gw__ps_alive(const struct gw_ps *ps,
                                       struct gw_error *why);
/* The deadline of a request that begins now. */
uint64_t gw__ps_deadline(const struct gw_ps *ps);
/* Waits until the request has ended (*ended) and returns its result.
 * GW_ETIMEOUT, GW_EINTR, GW_ECLOSED without *ended: the request is still under
 * way. */
GW_MUST_CHECK enum gw_err gw__ps_await(struct gw_ps *ps, uint64_t request,
                                       uint64_t deadline_ns, bool *ended,
                                       struct gw_error *why);
/* The same, but a request that has not ended is detached. */
GW_MUST_CHECK enum gw_err gw__ps_finish(struct gw_ps *ps, uint64_t request,
                                        struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__ps_clock(struct gw_ps *ps, unsigned group,
                                       const struct gw__clock_command *command,
                                       struct gw_ps_work *work,
                                       struct gw_error *why);

/* ---- client_aggregate.c ---- */

void gw__ps_aggregate_init(struct gw_ps *ps, const struct gw_ps_config *config);
/* Applies a newer membership update, or new reachable nodes. */
void gw__ps_aggregate_update(struct gw_ps *ps);
bool gw__ps_aggregate_ready(const struct gw_ps *ps);
/* False: the message must be sent directly. */
GW_MUST_CHECK bool gw__ps_aggregate_send(struct gw_ps *ps,
                                         const struct gw__message_out *message);
/* The number of messages in a received envelope; 0: it is refused. */
unsigned gw__ps_aggregate_open(struct gw_ps *ps,
                               const struct gw__message_in *envelope);
void gw__ps_aggregate_counts(const struct gw_ps *ps,
                             struct gw_ps_counts *counts);
/* Stops the aggregator of this process, if any. */
void gw__ps_aggregate_end(struct gw_ps *ps, bool politely);

/* ---- client_events.c ---- */

void gw__ps_event_sent(struct gw_ps *ps, const struct gw__message_out *message);
void gw__ps_event_answered(struct gw_ps *ps,
                           const struct gw__message_in *message);

/* ---- client_push_pull.c, client_filter.c ---- */

/* Begins the access. Waits while too many requests are under way. */
GW_MUST_CHECK enum gw_err gw__ps_begin(struct gw_ps *ps,
                                       const struct gw__request_args *args,
                                       uint64_t *request, struct gw_error *why);
bool gw__ps_filters(const struct gw_ps *ps, unsigned table);
/* Pushes the values that pass the filters. *request is 0 if there are none. */
GW_MUST_CHECK enum gw_err gw__ps_push(struct gw_ps *ps,
                                      const struct gw__request_args *args,
                                      uint64_t *request, struct gw_error *why);
/* Pushes all remainders of the table's filter and waits for the result. */
GW_MUST_CHECK enum gw_err gw__ps_flush(struct gw_ps *ps, unsigned table,
                                       struct gw_error *why);
/* Frees the filtered push of a request that has ended. */
void gw__ps_passed(struct gw_ps *ps, uint64_t request);

#endif
