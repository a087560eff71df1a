/* SPDX-License-Identifier: MIT
 *
 * The worker's machine from inside.
 *
 *   job --cut--> pieces --window--> errands --routes--> flights --> letters
 *
 * A job is a request as it stands here. A cut is a key list in the order of
 * servers and slots. A piece of it is what one letter can carry; a piece under
 * way is an errand. An errand begins as one flight to the piece's server; when
 * slots move on the way, it becomes several, each with slots that have the same
 * primary now. A flight is repeated until it is answered; the errand ends when
 * no slot is left to do.
 *
 * Sequence numbers: each errand that pushes has one, given when it begins, in
 * order. `floor`: all up to there have ended. No number above floor + 64 is
 * given, since a slot's memory reaches no further.
 */
#ifndef GW__PS_WORKER_PARTS_H
#define GW__PS_WORKER_PARTS_H

#include "worker.h"

enum {
    GW__PARTITION_MAX = 2 * GW__PUSHES_MAX, /* pushes, and as many pulls */
    GW__CUTS_MAX = 32,
    GW__KEY_LIST_LEAST = 16, /* shorter ones are not worth a signature */
    GW__LEND_LEAST_BYTES = 65536
};

/* ---- cuts ---- */

struct gw__piece {
    unsigned node;          /* GW__NO_NODE: its slots have no primary */
    uint32_t first, count;  /* keys of the cut */
    uint32_t first_segment; /* of the cut */
    uint32_t segment_count;
    uint64_t slots;    /* as bits */
    bool straight;     /* its rows lie one behind the other at the caller's */
    bool known;        /* the server has the key list */
    uint64_t key_list; /* 0: too short */
};

struct gw__cut {
    uint64_t signature; /* of the list as the caller has it */
    unsigned table;
    size_t count;
    uint64_t placement; /* that it was made by */
    unsigned refs;      /* requests, and the cache */
    uint64_t used;      /* for eviction */
    size_t bytes;       /* of memory */
    uint64_t *keys;     /* in the order of pieces; */
    uint32_t *order;    /* [i]: their places at the caller's */
    struct gw__ps_segment *segments;
    unsigned piece_count;
    struct gw__piece *pieces;
};

/* ---- memory for gathered values ---- */

struct gw__pool;
struct gw__pool_unit {
    struct gw__pool *pool;
    struct gw__pool_unit *next; /* while it is free */
    unsigned char *memory;
    unsigned refs;
};

struct gw__slab {
    void *memory;
    struct gw__pool_unit *units;
};

enum { GW__SLABS_MAX = 8 };

struct gw__pool {
    size_t unit_bytes;
    unsigned slab_count;
    struct gw__slab slabs[GW__SLABS_MAX];
    struct gw__pool_unit *free;
};

/* ---- what is under way ---- */

struct gw__partition;

struct gw__attempt {
    struct gw__attempt *next;
    struct gw__partition *errand;
    uint64_t id; /* in the head of its letters */
    uint64_t slots;
    unsigned node;
    bool bare;        /* its last letter had the key list's signature alone */
    uint64_t sent_ns; /* first, to this node */
    uint64_t due_ns;  /* again */
    uint64_t pause_ns;
    uint64_t refused_ns; /* pause after the last refusal; 0: it was not */
};

struct gw__partition {
    struct gw__job *request;    /* NULL: this entry is free */
    struct gw__piece *piece;    /* NULL: of a clock command */
    uint64_t sequence;          /* 0: nothing is pushed */
    uint64_t todo;              /* slots */
    uint64_t serial;            /* of the next flight */
    struct gw__pool_unit *unit; /* the values as they travel; NULL: gathered
                              anew for each letter */
    struct gw__attempt *flights;
};

struct gw__job {
    uint64_t id; /* 0: this entry is free */
    struct gw__access access;
    struct gw__cut *cut;  /* NULL: not an access */
    struct gw__job *next; /* in the queue */
    struct gw__worker *worker;
    uint32_t width;
    unsigned next_piece; /* to begin with */
    unsigned errands;    /* under way */
    unsigned lent;       /* letters that lie in the caller's memory */
    bool detached;       /* nobody asks for the result */
    void *own;           /* detached: a copy of the values */
    uint64_t began_ns;
    struct gw_error failed;  /* code GW_OK: not */
    enum gw__ps_kind kind;   /* not an access: CLOCK or SAVE */
    unsigned group;          /* CLOCK */
    struct gw_ps_work *work; /* CLOCK; may be NULL */
    unsigned server;         /* SAVE: which; else GW__NO_NODE */
    uint64_t mark;           /* SAVE */
    enum gw_err *said;       /* SAVE */
    size_t command_bytes;
    uint8_t command[GW__CLOCK_COMMAND_MAX];
};

struct gw__worker {
    struct gw__worker_config config;
    uint64_t own_names;       /* of gw__attempt_name */
    struct gw__routes routes; /* version 0: none yet */
    uint64_t placement;       /* grows when a slot has another primary */
    uint64_t last_sequence, floor;
    uint64_t ended; /* bit i: of sequence floor + 1 + i */
    uint32_t nans;
    uint64_t generation; /* of the last request */
    uint64_t used;       /* of cuts */
    size_t cut_bytes;
    unsigned cut_count;
    struct gw__cut *cuts[GW__CUTS_MAX];
    struct gw__pool pool;
    /* Each grows to the largest that was needed. */
    unsigned char *scratch, *copied, *some_keys;
    size_t scratch_bytes, copied_bytes, some_keys_bytes;
    struct gw__attempt *free_flights;
    uint64_t busy[GW__PARTITION_MAX / 64]; /* errands in use, as bits */
    struct gw__partition errands[GW__PARTITION_MAX];
    unsigned pulls;               /* errands that push nothing */
    struct gw__job *first, *last; /* with pieces to begin */
    struct gw__job requests[GW__REQUESTS_MAX];
    struct gw_ps_counts counts;
};

static inline bool gw__is_push(const struct gw__job *request)
{
    return request->access.values != NULL;
}

/* The next errand in use from `*at` on; NULL: no more. */
struct gw__partition *gw__partition_next(struct gw__worker *worker,
                                         unsigned *at);

/* ---- worker.c ---- */

/* NULL: too many are under way. */
struct gw__job *gw__job_new(struct gw__worker *worker, uint64_t now_ns);
void gw__job_free(struct gw__job *request);
struct gw__partition *gw__partition_new(struct gw__worker *worker,
                                        struct gw__job *request);

/* No slot is left to do, or it has failed: flights and number are given back.
 */
void gw__partition_end(struct gw__worker *worker, struct gw__partition *errand);
/* The first failure counts; pieces that were not begun are dropped. */
void gw__job_fail(struct gw__job *request, enum gw_err code, const char *text);
/* Frees a detached request that has ended. */
void gw__job_settle(struct gw__job *request);
/* Begins pieces as far as the windows allow. */
void gw__worker_pump(struct gw__worker *worker, uint64_t now_ns);

/* ---- worker_cut.c, worker_cache.c ---- */

uint64_t gw__keys_signature(const uint64_t *keys, size_t count, uint64_t seed);
GW_MUST_CHECK enum gw_err gw__cut_make(struct gw__worker *worker,
                                       const struct gw__access *access,
                                       struct gw__cut **cut,
                                       struct gw_error *why);
/* With a hold for the caller. */
GW_MUST_CHECK enum gw_err gw__cut_get(struct gw__worker *worker,
                                      const struct gw__access *access,
                                      struct gw__cut **cut,
                                      struct gw_error *why);
void gw__cut_release(struct gw__cut *cut);
void gw__cuts_forget(struct gw__worker *worker);

/* ---- worker_attempt.c ---- */

/* The first flight of an errand; GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__attempt_begin(struct gw__worker *worker,
                                            struct gw__partition *errand,
                                            uint64_t now_ns);
/* Goes by the routes of now: to the primaries of its slots, which may take
 * several. */
void gw__attempt_send(struct gw__worker *worker, struct gw__attempt *flight,
                      uint64_t now_ns);
/* After a refusal: a little later, each time twice as much. */
void gw__attempt_refused(struct gw__worker *worker, struct gw__attempt *flight,
                         uint64_t now_ns);
struct gw__attempt *gw__attempt_find(struct gw__worker *worker, uint64_t id);
/* What a flight is called in messages, and back: no other process that had this
 * node's number before calls its own so. A server answers to a node; what was
 * asked by a process that is no more must not answer us. */
static inline uint64_t gw__attempt_name(const struct gw__worker *worker,
                                        uint64_t id)
{
    return id ^ worker->own_names;
}
void gw__attempt_end(struct gw__worker *worker, struct gw__attempt *flight);
/* Is `slots` all of the errand's piece? */
bool gw__attempt_is_whole(const struct gw__attempt *flight);

/* ---- worker_message.c ---- */

/* GW_ENOMEM: it was not sent. */
enum gw_err gw__message_out_send(struct gw__worker *worker,
                                 struct gw__attempt *flight);

/* ---- worker_rows.c: `order` says which row of the other side ---- */

void gw__rows_gather(float *out, const float *rows, const uint32_t *order,
                     size_t count, uint32_t width);
void gw__rows_scatter(float *rows, const uint32_t *order, size_t count,
                      uint32_t width, const float *in);
/* The first value that half precision cannot hold; `count`: none. */
size_t gw__first_large(const float *values, size_t count);

/* ---- worker_pool.c ---- */

void gw__pool_init(struct gw__pool *pool, size_t unit_bytes);
void gw__pool_fini(struct gw__pool *pool);
/* With one reference; NULL: all are out, or there is no memory. */
struct gw__pool_unit *gw__pool_take(struct gw__pool *pool);
void gw__unit_release(struct gw__pool_unit *unit);
/* Makes *memory at least `bytes` large; false: no memory. */
bool gw__grow(unsigned char **memory, size_t *room, size_t bytes);

#endif
