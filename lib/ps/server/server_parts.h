/* SPDX-License-Identifier: MIT
 *
 * The server's internals.
 *
 *   server.c          messages, ticks, flushes
 *   server_update.c   membership updates
 *   server_status.c
 *   request.c         a worker's request: progress of its slots, reply
 *   serve_push.c, serve_pull.c, serve_clock.c   requests of workers
 *   hogwild.c         concurrent updates by several threads
 *   round_commits.c   round commits between the clock's primary and the slots
 *   buffers.c         memory for replies
 *   slot.h, replicate.h   the slots and their replicas
 */
#ifndef GW__PS_SERVER_PARTS_H
#define GW__PS_SERVER_PARTS_H

#include "base/nodes/nodes.h"
#include "ps/clock/straggler.h"
#include "ps/slot/replicate.h"
#include "ps/store/store_parallel.h"

enum {
    GW__TICK_NS = 5 * 1000 * 1000,
    GW__PROPOSE_NS = 20 * 1000 * 1000,
    GW__WAITING_MAX = 4096, /* pulls and clock requests */
    GW__WAIT_NS = 2000 * 1000 * 1000U,
    GW__ROUND_COMMITS_KEPT = 1024,
    GW__WAITS_PER_ENTRY = 8
};

/* ---- buffers.c ---- */

/* gw_alloc memory for one message. NULL: out of memory. */
struct gw__buffer {
    struct gw__buffer *next, *before;
    struct gw__server *server; /* NULL: the server has been destroyed */
    size_t bytes;
    void *data;
};
struct gw__buffer *gw__buffer_acquire(struct gw__server *server, size_t bytes);
/* The message's `back` callback. */
void gw__buffer_back(void *buffer);
void gw__buffers_fini(struct gw__server *server);

/* ---- requests ---- */

struct gw__request {
    struct gw__request *next, *before; /* in a list of waiting requests */
    struct gw__server *server;
    struct gw__message_in *message; /* referenced */
    const struct gw__ps_head *head;
    const struct gw__ps_segment *segments;
    /* of the segments, referenced; NULL: only in part 1 */
    struct gw__keys **keys;
    unsigned segment_count;
    unsigned pending; /* slots in the log, plus one during the first check */
    uint64_t done, refused; /* segments, as bits */
    uint64_t born_ns;
    struct gw__clock_command *command; /* of a clock request; owned */
    struct gw__wait waits[];
};

/* Adds a reference to the message. NULL: out of memory. */
struct gw__request *gw__request_new(struct gw__server *server, uint64_t now_ns,
                                    struct gw__message_in *message,
                                    const struct gw__ps_head *head,
                                    const struct gw__ps_segment *segments);
void gw__request_free(struct gw__request *request);
/* One segment is done or has been refused; the last one causes the reply.
 * GW_PS_SEGMENTS_MAX: none, but the first check is over. */
void gw__request_finish_segment(struct gw__request *request, uint64_t now_ns,
                                unsigned segment, bool done);
void gw__finish_waits(struct gw__server *server, uint64_t now_ns,
                      struct gw__wait *waits, bool done);

/* Waits for an entry that is already in the log. False: too many
 * requests do. */
GW_MUST_CHECK bool gw__join_waits(struct gw__entry *entry,
                                  struct gw__wait *wait);

struct gw__reply_parts {
    uint64_t done;
    enum gw_err code;
    const char *text;
    unsigned flags;
    const void *values; /* part 2 */
    size_t value_bytes;
    struct gw__buffer *buffer; /* contains the values; NULL: copy them */
};
/* Replies to the sender of the message. */
void gw__reply(struct gw__server *server, const struct gw__message_in *message,
               const struct gw__ps_head *head,
               const struct gw__reply_parts *parts);
/* Refuses the whole request and ends it. With `want_keys` the worker sends it
 * again with its keys. */
void gw__request_refuse(struct gw__request *request, bool want_keys,
                        const struct gw_error *why);

struct gw__waiting {
    struct gw__request *first, *last;
    unsigned count;
};
void gw__waiting_add(struct gw__waiting *list, struct gw__request *request);
void gw__waiting_remove(struct gw__waiting *list, struct gw__request *request);

/* Refused pushes of one worker, because a value was not finite. */
struct gw__nans {
    uint64_t incarnation;
    uint32_t here;     /* by this server */
    uint32_t reported; /* by the worker itself, before sending */
};
/* For the message's sender, in this incarnation; NULL: it is not a member. */
struct gw__nans *gw__nans_of(struct gw__server *server,
                             const struct gw__message_in *message);

/* ---- known round commits ---- */

/* Round commits by number % GW__ROUND_COMMITS_KEPT. The numbers are a separate
 * array, so that the round commits, 8 MB, need no initialisation. */
struct gw__round_commit_ring {
    uint64_t numbers[GW__ROUND_COMMITS_KEPT]; /* 0: none */
    struct gw__round_commit round_commits[GW__ROUND_COMMITS_KEPT];
};

struct gw__round_commits {
    struct gw__round_commit_ring *ring; /* NULL: none received yet */
    /* On the clock's primary: the progress of all slots. */
    /* newest round commit applied in the slot */
    uint64_t applied[GW_PS_SLOTS_MAX];
    bool reported[GW_PS_SLOTS_MAX];
    uint64_t applied_by_all; /* all slots have applied this one */
    uint64_t sent[GW_PS_NODES], sent_ns[GW_PS_NODES];
};

struct gw__server {
    struct gw__server_config config;
    struct gw__routes routes;
    bool member; /* this incarnation is a member */
    uint64_t update_index;
    uint64_t epoch;
    struct {
        bool here;
        uint64_t incarnation; /* the low half */
        bool worker;
    } ps_members[GW_PS_NODES];
    struct gw_nodes here; /* the nodes of these that are there */
    unsigned worker_count;
    struct gw__alive workers[GW_PS_NODES];
    uint64_t lease_until_ns;
    uint64_t now_ns;
    uint64_t tick_ns; /* of the last tick, which messages must not delay */
    struct gw__updater updaters[GW_PS_TABLES_MAX];
    uint8_t *routes_data; /* encoded; NULL: not yet */
    size_t routes_bytes;

    struct gw__slot *slots; /* NULL: the routes are not known yet */
    /* The slots in which this server has a part, in ascending order: the
     * others cost nothing. */
    unsigned held_count;
    uint16_t held[GW_PS_SLOTS_MAX];
    unsigned restore_end; /* the highest slot with such data, plus 1 */
    struct {
        void *data;
        size_t bytes;
    } restore[GW_PS_SLOTS_MAX];
    uint64_t generations;
    uint64_t log_bytes; /* total of all entries kept */
    struct gw__key_cache *cache;
    struct gw__round_commits commits[GW_PS_GROUPS_MAX];
    struct gw__waiting pulls, clocks;
    unsigned clocks_changed; /* groups, as bits */
    /* used with a policy */
    struct gw__straggler_monitor straggler_monitors[GW_PS_GROUPS_MAX];
    /* groups with round commits to append, as bits */
    unsigned round_commits_changed;
    struct gw_error clock_why; /* result of the last clock command */
    bool pulls_due;            /* pulls may have become ready */
    struct gw__buffer *buffers_free, *buffers_out;
    size_t buffers_bytes; /* total of the free ones */
    bool notify_due, ending;
    struct gw__hogwild_update
        *hogwild_updates; /* not finished yet, newest first */
    unsigned hogwild_count;

    /* Scratch memory, which grows as needed. */
    float *floats;
    size_t floats_room;
    float *sums;
    size_t sums_room; /* bytes */
    uint32_t *places;
    size_t places_room;
    uint32_t *marks;   /* by place: 1 + index of its sum; all 0 between calls */
    size_t marks_room; /* bytes */

    struct gw_ps_server_status counts; /* including the counters */
    struct gw__nans nans[GW_PS_NODES];
    char trouble[200];
};

void gw__server_trouble(struct gw__server *server, const char *format, ...)
    GW_PRINTF(2, 3);
void gw__server_send(struct gw__server *server,
                     const struct gw__message_out *l);
/* NULL: out of memory. Valid until the next call of the same function. */
float *gw__server_floats(struct gw__server *server, size_t count);
uint32_t *gw__server_places(struct gw__server *server, size_t count);
/* A message's values as f32: in place, or converted in scratch memory. */
const float *gw__server_values(struct gw__server *server, const void *data,
                               size_t count, bool half);

/* ---- requests of workers ---- */

void gw__serve_push(struct gw__server *server, uint64_t now_ns,
                    struct gw__message_in *message,
                    const struct gw__ps_head *head,
                    const struct gw__ps_segment *segments);
void gw__serve_pull(struct gw__server *server, uint64_t now_ns,
                    struct gw__message_in *message,
                    const struct gw__ps_head *head,
                    const struct gw__ps_segment *segments);
void gw__serve_clock(struct gw__server *server, uint64_t now_ns,
                     struct gw__message_in *message,
                     const struct gw__ps_head *head);
/* Finds the keys of all segments, and references them in request->keys if the
 * list is cached. GW_PENDING: the routes are not new enough. GW_EDATA with
 * *want_keys: the list is unknown. */
GW_MUST_CHECK enum gw_err gw__request_keys(struct gw__request *request,
                                           bool *want_keys,
                                           struct gw_error *why);
const uint64_t *gw__request_segment_keys(const struct gw__request *request,
                                         unsigned segment, size_t before);
void gw__pulls_answer_ready(struct gw__server *server, uint64_t now_ns);
/* Answers the waiting requests that a changed clock has made ready. */
void gw__clocks_answer_ready(struct gw__server *server, uint64_t now_ns,
                             unsigned group);
/* Asks the straggler policy if a round has ended. */
void gw__clocks_request_policy(struct gw__server *server, uint64_t now_ns,
                               unsigned group);
void gw__clock_tick(struct gw__slot *slot, uint64_t now_ns, unsigned group);
/* All slots of the request are done or have refused. */
void gw__request_logged(struct gw__request *request, uint64_t now_ns);
void gw__clock_logged(struct gw__request *request);

/* ---- round_commits.c ---- */

/* NULL: unknown here. */
const struct gw__round_commit *
gw__round_commits_get(const struct gw__server *server, unsigned group,
                      uint64_t number);
/* Resets the progress of all slots for a new leadership of the group's
 * clock. */
void gw__round_commits_leadership(struct gw__server *server, unsigned group);
void gw__on_closed(struct gw__server *server, uint64_t now_ns,
                   const struct gw__message_in *message,
                   const struct gw__ps_head *head);
void gw__on_applied(struct gw__server *server, uint64_t now_ns,
                    const struct gw__message_in *message,
                    const struct gw__ps_head *head);
/* Sends round commits to slots that lack them, and reports applied ones. */
void gw__round_commits_flush(struct gw__server *server, uint64_t now_ns);
/* The newest round commit that all slots have applied. */
uint64_t gw__round_commits_behind_all(struct gw__server *server,
                                      unsigned group);
bool gw__round_commits_busy(struct gw__server *server);

/* ---- server.c: the only user of the registry's commands ---- */

enum gw__proposal { GW__PROPOSE_PROMOTE, GW__PROPOSE_HANDOVER };
void gw__server_propose(struct gw__server *server, enum gw__proposal what,
                        unsigned slot, uint64_t term, unsigned node);

static inline bool gw__server_has_table(const struct gw__server *server,
                                        unsigned table)
{
    return table < server->routes.table_count;
}

#endif
