/* SPDX-License-Identifier: MIT
 *
 * The server from inside.
 *
 *   server.c          parcels in, ticks, flushes
 *   server_news.c     what the controllers say
 *   server_status.c
 *   request.c         a worker's request: how its slots get on, the reply
 *   serve_push.c, serve_pull.c, serve_clock.c   what workers ask for
 *   hogwild.c             pushes that several threads apply at once
 *   closings.c        closings between the clock's primary and the others
 *   buffers.c         memory for replies
 *   slot.h, replicate.h   the slots, and their replicas
 */
#ifndef GW__PS_SERVER_PARTS_H
#define GW__PS_SERVER_PARTS_H

#include "ps/clock/straggler.h"
#include "ps/slot/replicate.h"
#include "ps/store/store_pool.h"

enum {
    GW__TICK_NS = 5 * 1000 * 1000,
    GW__PROPOSE_NS = 20 * 1000 * 1000,
    GW__WAITING_MAX = 4096, /* pulls and clock requests that wait */
    GW__WAIT_NS = 2000 * 1000 * 1000U,
    GW__ROUND_COMMITS_KEPT = 1024,
    GW__WAITS_PER_ENTRY = 8
};

/* ---- buffers.c ---- */

/* gw_alloc memory for one letter; NULL: none. */
struct gw__buffer {
    struct gw__buffer *next, *before;
    struct gw__server *server; /* NULL: it has ended meanwhile */
    size_t bytes;
    void *data;
};
struct gw__buffer *gw__buffer_take(struct gw__server *server, size_t bytes);
/* `back` of the letter. */
void gw__buffer_back(void *buffer);
void gw__buffers_fini(struct gw__server *server);

/* ---- requests ---- */

struct gw__request {
    struct gw__request *next, *before; /* of the list it waits in */
    struct gw__server *server;
    struct gw__message_in *parcel; /* held */
    const struct gw__ps_head *head;
    const struct gw__ps_segment *segments;
    struct gw__keys **keys; /* of the segments, held; NULL: only in part 1 */
    unsigned segment_count;
    unsigned pending; /* slots in the log, and one while it is looked at */
    uint64_t done, refused;
    uint64_t born_ns;
    struct gw__clock_command *command; /* of a clock request; owned */
    struct gw__wait waits[];
};

/* One hold on the parcel more. NULL: no memory. */
struct gw__request *gw__request_new(struct gw__server *server, uint64_t now_ns,
                                    struct gw__message_in *parcel,
                                    const struct gw__ps_head *head,
                                    const struct gw__ps_segment *segments);
void gw__request_free(struct gw__request *request);
/* One slot less to wait for; with the last one it goes on to the reply. */
void gw__request_settle(struct gw__request *request, uint64_t now_ns,
                        unsigned slot, bool done);
void gw__settle_waits(struct gw__server *server, uint64_t now_ns,
                      struct gw__wait *waits, bool done);

/* The entry is in the log already: waits for it too. False: enough do. */
GW_MUST_CHECK bool gw__join_waits(struct gw__entry *entry,
                                  struct gw__wait *wait);

struct gw__reply_parts {
    uint64_t done;
    enum gw_err code;
    const char *text;
    unsigned flags;
    const void *values; /* part 2 */
    size_t value_bytes;
    struct gw__buffer *buffer; /* that has the values; NULL: copy them */
};
/* To the sender of the request's parcel. */
void gw__reply(struct gw__server *server, const struct gw__message_in *parcel,
               const struct gw__ps_head *head,
               const struct gw__reply_parts *parts);
/* As a whole, and ends it; with `want_keys` it is to come again with its list of
 * keys. */
void gw__request_refuse(struct gw__request *request, bool want_keys,
                        const struct gw_error *why);

struct gw__waiting {
    struct gw__request *first, *last;
    unsigned count;
};
void gw__waiting_add(struct gw__waiting *list, struct gw__request *request);
void gw__waiting_take(struct gw__waiting *list, struct gw__request *request);

/* Pushes of one worker that were refused for values that are not finite. */
struct gw__nans {
    uint64_t incarnation;
    uint32_t here; /* by this server */
    uint32_t told; /* by the worker itself: nothing of them was sent */
};
/* Of the sender of that parcel, in this life of it; NULL: it is none of the
 * crew. */
struct gw__nans *gw__nans_of(struct gw__server *server,
                             const struct gw__message_in *parcel);

/* ---- closings that this server knows ---- */

/* Closings by number % GW__ROUND_COMMITS_KEPT. The numbers of what has come stand
 * apart, so that the closings, 1.6 MB, need not be written before. */
struct gw__round_commit_ring {
    uint64_t numbers[GW__ROUND_COMMITS_KEPT]; /* 0: none */
    struct gw__round_commit closings[GW__ROUND_COMMITS_KEPT];
};

struct gw__round_commits {
    struct gw__round_commit_ring *ring; /* NULL: none has come */
    /* Of the clock's primary: who has what. */
    uint64_t seen[GW_PS_SLOTS_MAX]; /* applied in the slot */
    uint64_t heard;                 /* slots, as bits, that have said so */
    uint64_t settled;               /* all have seen through this one */
    uint64_t sent[GW_PS_NODES], sent_ns[GW_PS_NODES];
};

struct gw__server {
    struct gw__server_config config;
    struct gw__routes routes;
    bool member; /* this incarnation is one, by the news */
    uint64_t news_index;
    uint64_t epoch;
    struct {
        bool here;
        uint64_t incarnation; /* the low half */
        bool worker;
    } crew[GW_PS_NODES];
    unsigned worker_count;
    struct gw__alive workers[GW_PS_NODES];
    uint64_t lease_until_ns;
    uint64_t now_ns;
    uint64_t tick_ns; /* of the last tick: traffic must not put off the next */
    struct gw__updater updaters[GW_PS_TABLES_MAX];
    uint8_t *routes_data; /* encoded; NULL: not yet */
    size_t routes_bytes;

    struct gw__slot slots[GW_PS_SLOTS_MAX];
    struct {
        void *data;
        size_t bytes;
    } restore[GW_PS_SLOTS_MAX];
    uint64_t generations;
    uint64_t log_bytes; /* of all entries kept */
    struct gw__key_cache *cache;
    struct gw__round_commits closings[GW_PS_GROUPS_MAX];
    struct gw__waiting pulls, clocks;
    unsigned clocks_changed;                              /* groups, as bits */
    struct gw__straggler_watch watches[GW_PS_GROUPS_MAX]; /* with a policy */
    unsigned closings_changed; /* likewise: there are new ones to append */
    struct gw_error clock_why; /* of the clock command applied last */
    bool look_at_pulls;        /* something that they wait for may have come */
    struct gw__buffer *buffers_free, *buffers_out;
    size_t buffers_bytes; /* of the free ones */
    bool notes_due, ending;
    struct gw__hogwild_job *hog_jobs; /* not taken back yet, newest first */
    unsigned hog_count;

    /* Scratch, grown as needed. */
    float *floats;
    size_t floats_room;
    float *sums;
    size_t sums_room; /* bytes */
    uint32_t *places;
    size_t places_room;
    uint32_t *marks; /* by place: 1 + number of its sum; all 0 between calls */
    size_t marks_room; /* bytes */

    struct gw_ps_server_status counts; /* the counters among them */
    struct gw__nans nans[GW_PS_NODES];
    char trouble[200];
};

void gw__server_trouble(struct gw__server *server, const char *format, ...)
    GW_PRINTF(2, 3);
void gw__server_send(struct gw__server *server,
                     const struct gw__message_out *l);
/* NULL: no memory. Valid until the next call for the same. */
float *gw__server_floats(struct gw__server *server, size_t count);
uint32_t *gw__server_places(struct gw__server *server, size_t count);
/* f32 values of a message: as they lie, or converted in scratch memory. */
const float *gw__server_values(struct gw__server *server, const void *data,
                               size_t count, bool half);

/* ---- what workers ask for ---- */

void gw__serve_push(struct gw__server *server, uint64_t now_ns,
                    struct gw__message_in *parcel,
                    const struct gw__ps_head *head,
                    const struct gw__ps_segment *segments);
void gw__serve_pull(struct gw__server *server, uint64_t now_ns,
                    struct gw__message_in *parcel,
                    const struct gw__ps_head *head,
                    const struct gw__ps_segment *segments);
void gw__serve_clock(struct gw__server *server, uint64_t now_ns,
                     struct gw__message_in *parcel,
                     const struct gw__ps_head *head);
/* The table, and the keys of all segments (held in request->keys when the list
 * is cached). GW_PENDING: routes are not new enough; GW_EDATA with
 * *want_keys: the list is not known. */
GW_MUST_CHECK enum gw_err gw__request_keys(struct gw__request *request,
                                           bool *want_keys,
                                           struct gw_error *why);
const uint64_t *gw__request_segment_keys(const struct gw__request *request,
                                         unsigned segment, size_t before);
/* Answers a pull whose slots are ready, or lets it wait. Ends it or keeps it.
 */
void gw__pull_answer(struct gw__request *request, uint64_t now_ns);
void gw__pulls_look(struct gw__server *server, uint64_t now_ns);
/* After the clock has changed: who can be answered now? */
void gw__clocks_look(struct gw__server *server, uint64_t now_ns,
                     unsigned group);
/* And has a round ended, after which the policy for stragglers is asked? */
void gw__clocks_ask_policy(struct gw__server *server, uint64_t now_ns,
                           unsigned group);
void gw__clock_tick(struct gw__slot *slot, uint64_t now_ns, unsigned group);
/* Its slots are done or have refused. */
void gw__request_logged(struct gw__request *request, uint64_t now_ns);
void gw__clock_logged(struct gw__request *request);

/* ---- closings.c ---- */

/* NULL: not known here. */
const struct gw__round_commit *
gw__round_commits_get(const struct gw__server *server, unsigned group,
                      uint64_t number);
/* A new reign of the group's clock. */
void gw__round_commits_reign(struct gw__server *server, unsigned group);
void gw__on_closed(struct gw__server *server, uint64_t now_ns,
                   const struct gw__message_in *parcel,
                   const struct gw__ps_head *head);
void gw__on_seen(struct gw__server *server, uint64_t now_ns,
                 const struct gw__message_in *parcel,
                 const struct gw__ps_head *head);
/* Sends closings to who has not seen them, and reports of what was seen. */
void gw__round_commits_flush(struct gw__server *server, uint64_t now_ns);
/* All slots have applied the closings through this one. */
uint64_t gw__round_commits_behind_all(struct gw__server *server,
                                      unsigned group);
bool gw__round_commits_busy(struct gw__server *server);

/* ---- server.c: the one place that knows the registry's commands ---- */

enum gw__proposal { GW__PROPOSE_PROMOTE, GW__PROPOSE_HANDOVER };
void gw__server_propose(struct gw__server *server, enum gw__proposal what,
                        unsigned slot, uint64_t term, unsigned node);

static inline bool gw__server_has_table(const struct gw__server *server,
                                        unsigned table)
{
    return table < server->routes.table_count;
}

#endif
