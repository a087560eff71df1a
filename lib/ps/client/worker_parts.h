/* SPDX-License-Identifier: MIT
 *
 * The internals of the worker's state machine.
 *
 *   request --cut--> pieces --window--> partitions --routes--> attempts
 *
 * A job (gw__worker_request) is the worker's record of a request. A cut
 * (gw__partitioning) is a key list in the order of servers and slots; it is
 * divided into pieces (gw__key_range), each of which fits one message. A
 * partition (gw__partition) is a piece under way. It begins as one attempt
 * (gw__attempt) to the piece's server. If slots move meanwhile, it is split
 * into several attempts, one per primary. An attempt sends its message again
 * until it is answered. The partition ends when none of its slots is left.
 *
 * Sequence numbers: each partition with a push gets one when it begins, in
 * order. All numbers up to the low watermark (`floor`) have ended. No number
 * above floor + 64 is given, since a slot remembers no more.
 */
#ifndef GW__PS_WORKER_PARTS_H
#define GW__PS_WORKER_PARTS_H

#include "slot_order.h"
#include "worker.h"

enum {
    GW__PARTITION_MAX = 2 * GW__PUSHES_MAX, /* pushes, and as many pulls */
    GW__PARTITIONINGS_MAX = 32,
    GW__KEY_LIST_LEAST = 16, /* shorter lists are not worth a signature */
    /* of a clock command of a worker, or a directory */
    GW__REQUEST_COMMAND_MAX = 640,
    GW__LEND_LEAST_BYTES = 65536
};

/* ---- cuts ---- */

struct gw__key_range {
    unsigned node;          /* GW__NO_NODE: its slots have no primary */
    uint32_t first, count;  /* in the cut */
    uint32_t first_segment; /* in the cut */
    uint32_t segment_count; /* at most GW_PS_SEGMENTS_MAX */
    bool straight;          /* its rows are contiguous in the caller's memory */
    bool known;             /* the server has the key list */
    uint64_t key_list;      /* 0: too short */
};

struct gw__partitioning {
    uint64_t signature; /* of the caller's list */
    unsigned table;
    size_t count;
    uint64_t placement; /* version of the placement it was made with */
    unsigned refs;      /* requests and the cache */
    uint64_t used;      /* time of last use, for eviction */
    size_t bytes;       /* memory used */
    uint64_t *keys;     /* in the order of pieces */
    uint32_t *order;    /* [i]: the caller's index of key i */
    struct gw__ps_segment *segments;
    unsigned range_count;
    struct gw__key_range *ranges;
};

/* ---- memory for gathered values ---- */

struct gw__slab_allocator;
struct gw__slab_cell {
    struct gw__slab_allocator *slabs;
    struct gw__slab_cell *next; /* in the list of free blocks */
    unsigned char *memory;
    unsigned refs;
};

struct gw__slab {
    void *memory;
    struct gw__slab_cell *cells;
};

enum { GW__SLABS_MAX = 8 };

struct gw__slab_allocator {
    size_t cell_bytes;
    unsigned slab_count;
    struct gw__slab slabs[GW__SLABS_MAX];
    struct gw__slab_cell *free;
};

/* ---- under way ---- */

struct gw__partition;

struct gw__attempt {
    struct gw__attempt *next;
    struct gw__partition *partition;
    uint64_t id;       /* in the head of its messages */
    uint64_t segments; /* of the piece, as bits; a command has bit 0 */
    unsigned node;
    bool bare; /* its last message had only the signature of the key list */
    uint64_t sent_ns; /* first message to this node */
    uint64_t due_ns;  /* next repetition */
    uint64_t pause_ns;
    uint64_t refused_ns; /* pause after the last refusal; 0: not refused */
};

struct gw__partition {
    struct gw__worker_request *request; /* NULL: this entry is free */
    struct gw__key_range *range;        /* NULL: a clock command or SAVE */
    uint64_t sequence;                  /* 0: no push */
    uint64_t todo;                      /* segments not done yet, as bits */
    uint64_t serial;                    /* of the next attempt */
    /* values in the format of the message; NULL: gathered for each message */
    struct gw__slab_cell *cell;
    struct gw__attempt *attempts;
};

struct gw__worker_request {
    uint64_t id; /* 0: this entry is free */
    struct gw__request_args args;
    struct gw__partitioning *partitioning; /* NULL: not an access */
    struct gw__worker_request *next;       /* in the queue */
    struct gw__worker *worker;
    uint32_t width;
    unsigned next_range;   /* the next one to begin */
    unsigned partitions;   /* partitions under way */
    unsigned borrow_count; /* messages that use the caller's memory */
    bool detached;         /* the result is not wanted */
    void *own;             /* detached: a copy of the values */
    uint64_t began_ns;
    struct gw_error failed;  /* code GW_OK: no failure */
    enum gw__ps_kind kind;   /* CLOCK or SAVE, if not an access */
    unsigned group;          /* CLOCK */
    unsigned slot;           /* CLOCK: of the group's clock */
    struct gw_ps_work *work; /* CLOCK; may be NULL */
    unsigned server;         /* SAVE: the receiver; otherwise GW__NO_NODE */
    uint64_t mark;           /* SAVE */
    enum gw_err *result;     /* SAVE */
    size_t command_bytes;
    uint8_t command[GW__REQUEST_COMMAND_MAX];
};

struct gw__worker {
    struct gw__worker_config config;
    uint64_t own_names;       /* mask of gw__attempt_name */
    struct gw__routes routes; /* version 0: none yet */
    uint64_t placement;       /* grows when the primary of a slot changes */
    struct gw__slot_order order;
    uint64_t last_sequence, low_watermark;
    uint64_t ended; /* bit i: sequence number floor + 1 + i */
    uint32_t nans;
    uint64_t generation; /* of the newest request */
    uint64_t used;       /* clock of the cache's evictions */
    size_t partitioning_bytes;
    unsigned partitioning_count;
    struct gw__partitioning *partitionings[GW__PARTITIONINGS_MAX];
    struct gw__slab_allocator slabs;
    /* Scratch memory; each grows to the largest size needed. */
    unsigned char *scratch, *copied, *some_keys;
    size_t scratch_bytes, copied_bytes, some_keys_bytes;
    struct gw__attempt *free_attempts;
    uint64_t busy[GW__PARTITION_MAX / 64]; /* partitions in use, as bits */
    struct gw__partition partitions[GW__PARTITION_MAX];
    unsigned pulls;                          /* partitions without a push */
    struct gw__worker_request *first, *last; /* with pieces left to begin */
    struct gw__worker_request requests[GW__REQUESTS_MAX];
    struct gw_ps_counts counts;
};

static inline uint64_t gw__range_whole(const struct gw__key_range *range)
{
    return UINT64_MAX >> (64 - range->segment_count);
}

/* The slot of a segment of the partition. */
static inline unsigned gw__partition_slot(const struct gw__partition *partition,
                                          unsigned segment)
{
    const struct gw__worker_request *request = partition->request;
    const struct gw__key_range *range = partition->range;
    return range
               ? request->partitioning->segments[range->first_segment + segment]
                     .slot
               : request->slot;
}

static inline bool gw__is_push(const struct gw__worker_request *request)
{
    return request->args.values != NULL;
}

/* The next partition in use from index `*at`; NULL: none. */
struct gw__partition *gw__partition_next(struct gw__worker *worker,
                                         unsigned *at);

/* ---- worker.c ---- */

/* NULL: too many requests are under way. */
struct gw__worker_request *gw__worker_request_new(struct gw__worker *worker,
                                                  uint64_t now_ns);
void gw__worker_request_free(struct gw__worker_request *request);
struct gw__partition *gw__partition_new(struct gw__worker *worker,
                                        struct gw__worker_request *request);

/* Ends a partition that is done or has failed, with its attempts and its
 * sequence number. */
void gw__partition_end(struct gw__worker *worker,
                       struct gw__partition *partition);
/* Records the first failure; pieces that have not begun are dropped. */
void gw__worker_request_fail(struct gw__worker_request *request,
                             enum gw_err code, const char *text);
/* Frees a detached request that has ended. */
void gw__worker_request_reap(struct gw__worker_request *request);
/* Begins pieces as far as the windows allow. */
void gw__worker_pump(struct gw__worker *worker, uint64_t now_ns);

/* ---- worker_partition.c, worker_cache.c ---- */

GW_MUST_CHECK enum gw_err gw__partitioning_make(
    struct gw__worker *worker, const struct gw__request_args *args,
    struct gw__partitioning **partitioning, struct gw_error *why);
/* Returns a reference for the caller. */
GW_MUST_CHECK enum gw_err gw__partitioning_get(
    struct gw__worker *worker, const struct gw__request_args *args,
    struct gw__partitioning **partitioning, struct gw_error *why);
void gw__partitioning_release(struct gw__partitioning *partitioning);
void gw__partitionings_forget(struct gw__worker *worker);

/* ---- worker_attempt.c ---- */

/* Creates the partition's first attempt. GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__attempt_begin(struct gw__worker *worker,
                                            struct gw__partition *partition,
                                            uint64_t now_ns);
/* Sends to the current primaries of its slots; this may split the attempt. */
void gw__attempt_send(struct gw__worker *worker, struct gw__attempt *attempt,
                      uint64_t now_ns);
/* After a refusal: waits a little, twice as long each time. */
void gw__attempt_refused(struct gw__worker *worker, struct gw__attempt *attempt,
                         uint64_t now_ns);
struct gw__attempt *gw__attempt_find(struct gw__worker *worker, uint64_t id);
/* Converts an attempt's id to its number in messages, or back. The numbers of
 * processes that had this node number before are different. Servers reply to
 * the node number, so a reply to an earlier process must not match. */
static inline uint64_t gw__attempt_name(const struct gw__worker *worker,
                                        uint64_t id)
{
    return id ^ worker->own_names;
}
void gw__attempt_end(struct gw__worker *worker, struct gw__attempt *attempt);
/* Does the attempt have all segments of the partition's piece? */
bool gw__attempt_is_whole(const struct gw__attempt *attempt);

/* ---- worker_message.c ---- */

/* GW_ENOMEM: nothing was sent. */
enum gw_err gw__message_out_send(struct gw__worker *worker,
                                 struct gw__attempt *attempt);

/* ---- worker_rows.c: `order` numbers rows of the unordered side ---- */

void gw__rows_gather(float *out, const float *rows, const uint32_t *order,
                     size_t count, uint32_t width);
void gw__rows_scatter(float *rows, const uint32_t *order, size_t count,
                      uint32_t width, const float *in);
/* The index of the first value too large for half precision; `count`: none. */
size_t gw__first_large(const float *values, size_t count);

/* ---- worker_slab.c ---- */

void gw__slabs_init(struct gw__slab_allocator *slabs, size_t cell_bytes);
void gw__slabs_fini(struct gw__slab_allocator *slabs);
/* With one reference. NULL: all blocks are in use, or out of memory. */
struct gw__slab_cell *gw__slabs_acquire(struct gw__slab_allocator *slabs);
void gw__slab_cell_release(struct gw__slab_cell *cell);
/* Makes *memory at least `bytes` large. False: out of memory. */
bool gw__grow(unsigned char **memory, size_t *room, size_t bytes);

#endif
