/* SPDX-License-Identifier: MIT
 *
 * The messenger inside a host. Each node owns one segment, which its peers map:
 *
 *   doorbell, sleeping    how others wake it
 *   links[q]              to node q: the session, a ring of descriptors; from
 *                         node q: the counts of descriptors and loans done
 *
 * Every word but the doorbell has one writing process.
 *
 *   messenger_shm.c        opening, closing, adding and forgetting peers
 *   messenger_shm_out.c    messages to descriptors; the queue for room
 *   messenger_shm_loan.c   lent memory and its return
 *   messenger_shm_in.c     descriptors to messages, and their release
 *   messenger_shm_map.c    peers' memory mapped here
 *   messenger_shm_staging.c memory for parts that the peer cannot map
 *   messenger_shm_wait.c   doorbells
 *
 * A descriptor is copied out of the ring when it is received, so ring slots
 * become free in order, at once. Memory named in it is a loan. The loan has a
 * number, which the receiver writes to a ring of returns when the message is
 * released, in any order and from any thread.
 *
 * A link connects two nonces. `to` is the nonce of the segment that the
 * descriptors are for, `from` that of the segment whose descriptors have been
 * counted. A peer with another nonce ignores the link. Forgetting a peer starts
 * a new `session`, and the peer skips the rest of the old one. Memory lent in
 * an old session to a live peer becomes an orphan: it is returned to the user,
 * but its staging memory and its number are not reused before the peer has
 * returned it.
 */
#ifndef GW__MESSENGER_SHM_H
#define GW__MESSENGER_SHM_H

#include "messenger_parts.h"
#include "wire/memory.h"
#include "wire/process_watch.h"
#include "wire/windows.h"

#include <pthread.h>

enum {
    GW__MESSENGER_SLOTS = 64,
    GW__MESSENGER_LOANS = 1024,
    GW__MESSENGER_NO_LOAN = 0xffff,
    GW__MESSENGER_BODY = 192,
    GW__MESSENGER_MAPPINGS = 32, /* per peer: regions mapped here */
    GW__MESSENGER_LINE_BYTES = 64,
};

/* One message. The body begins with a gw__memory_range for each part passed by
 * place, in order; then come the other parts, each padded to 8 bytes.
 * `sequence` is the number of the message on the link plus one, and publishes
 * the rest. */
struct gw__stream_message {
    _Alignas(GW__MESSENGER_LINE_BYTES) _Atomic uint64_t sequence;
    uint64_t session;
    uint64_t sent_ns;
    uint16_t loan;
    uint8_t part_count;
    uint8_t mapped; /* parts passed by place, as bits */
    bool borrowed;  /* the sender waits for the loan */
    uint8_t zero[3];
    uint64_t bytes[GW__MESSENGER_PARTS];
    unsigned char body[GW__MESSENGER_BODY];
};
_Static_assert(sizeof(struct gw__stream_message) == 256, "four cache lines");

struct gw__messenger_link {
    /* As sender. */
    _Alignas(GW__MESSENGER_LINE_BYTES) _Atomic uint64_t to;
    _Atomic uint64_t session;
    _Atomic uint32_t wants_room;
    struct gw__stream_message ring[GW__MESSENGER_SLOTS];
    /* As receiver. */
    _Alignas(GW__MESSENGER_LINE_BYTES) _Atomic uint64_t from;
    _Atomic uint64_t consumed; /* descriptors */
    _Atomic uint64_t returned; /* loans */
    uint16_t returns[GW__MESSENGER_LOANS];
};

struct gw__messenger_segment {
    uint64_t nonce;
    _Alignas(GW__MESSENGER_LINE_BYTES) _Atomic uint32_t doorbell; /* futex */
    _Atomic uint32_t sleeping;
    struct gw__messenger_link links[GW__MESSENGER_NODES];
};

/* Our segment: messages that outlive the messenger still write returns to it.
 */
struct gw__messenger_home {
    _Atomic unsigned refs;
    unsigned node;
    struct gw__region region;
    struct gw__messenger_segment *segment;
};

/* A peer's segment; it lives as long as the messenger or a message needs it. */
struct gw__messenger_source {
    _Atomic unsigned refs;
    struct gw__messenger_home *home;
    unsigned node;
    struct gw__messenger_segment *segment;
    size_t segment_bytes;
    pthread_mutex_t lock; /* guards the returns and `detached` */
    bool detached;        /* another process has the link now */
};

struct gw__messenger_mapping {
    _Atomic unsigned refs; /* one of the table, and one for each part */
    void *base;
    size_t bytes;
};

struct gw__messenger_mapped {
    uint32_t region; /* 0: free */
    uint64_t used;   /* mapped_clock at the last use, for eviction */
    struct gw__messenger_mapping *mapping;
};

/* ---- staging ---- */

struct gw__messenger_slab;

struct gw__messenger_block {
    struct gw__messenger_block *next; /* while it is free */
    struct gw__messenger_slab *slab;
    size_t offset, bytes;
};

enum { GW__MESSENGER_CLASSES = 12 }; /* 256 bytes to 512 KiB */

struct gw__messenger_staging {
    struct gw__messenger_slab *slabs;
    struct gw__messenger_block *free[GW__MESSENGER_CLASSES];
    struct gw__messenger_block *large; /* free ones, each a slab of its own */
    size_t large_bytes;
};

/* ---- in flight ---- */

enum gw__messenger_loan_state { LOAN_FREE, LOAN_OUT, LOAN_ORPHAN };

struct gw__messenger_loan {
    uint8_t state;
    uint16_t next; /* free: the next free one */
    struct gw__messenger_block *block;
    size_t copied_bytes;
    void (*back)(void *context);
    void *context;
};

/* A message that is ready for the ring, or waits for room there. */
struct gw__messenger_image {
    struct gw__messenger_image *next;
    struct gw__stream_message entry;
    struct gw__messenger_loan loan;
    size_t borrowed_bytes;
};

struct gw__messenger_shm_peer {
    struct gw__messenger_source *source; /* NULL: never known */
    uint64_t nonce;                      /* of its segment */
    int pid;
    struct gw__process_watch process_watch;
    bool ended; /* reported by `watch`, once */
    /* sending */
    uint64_t pushed, consumed_seen, returned_seen;
    struct gw__messenger_image *first, *last; /* messages that wait for room */
    unsigned waiting;
    size_t copied_bytes; /* in staging memory, waiting or out */
    struct gw__messenger_loan *loans;
    uint16_t free_loan;
    unsigned out, orphans;
    /* receiving */
    uint64_t consumed;
    struct gw__messenger_mapped mapped[GW__MESSENGER_MAPPINGS];
    uint64_t mapped_clock;
};

struct gw__messenger_shm {
    struct gw__messenger messenger;
    struct gw__messenger_home *home;
    struct gw__messenger_staging staging;
    struct gw__messenger_shm_peer peers[GW__MESSENGER_NODES];
    struct gw_nodes known;
    struct gw_nodes busy; /* with loans or waiting messages */
    unsigned turn;
};

static inline struct gw__messenger_shm *
gw__messenger_shm_of(struct gw__messenger *messenger)
{
    return (struct gw__messenger_shm *)messenger;
}

static inline struct gw__messenger_link *
gw__messenger_link_to(struct gw__messenger_shm *shm, unsigned node)
{
    return &shm->home->segment->links[node];
}

static inline struct gw__messenger_link *
gw__messenger_link_from(struct gw__messenger_shm *shm, unsigned node)
{
    return &shm->peers[node].source->segment->links[shm->messenger.node];
}

/* ---- messenger_shm_out.c ---- */

enum gw_err gw__messenger_shm_send(struct gw__messenger *messenger,
                                   const struct gw__message_out *message,
                                   size_t *borrowed_bytes);
bool gw__messenger_shm_tend(struct gw__messenger *messenger);
/* Are there returned loans or waiting messages? */
bool gw__messenger_shm_can_serve(struct gw__messenger_shm *shm, unsigned node);
/* Drops the messages that wait for room. */
void gw__messenger_shm_drop_waiting(struct gw__messenger_shm *shm,
                                    unsigned node);

/* ---- messenger_shm_loan.c ---- */

GW_MUST_CHECK enum gw_err
gw__messenger_loans_init(struct gw__messenger_shm_peer *peer,
                         struct gw_error *why);
/* Takes over the contents of *loan; GW__MESSENGER_NO_LOAN: all are out. */
uint16_t gw__messenger_loan_new(struct gw__messenger_shm_peer *peer,
                                const struct gw__messenger_loan *loan);
/* Ends the loans that `node` has returned. True: there were any. */
bool gw__messenger_loans_collect(struct gw__messenger_shm *shm, unsigned node);
/* Returns all lent memory to the user. Loans that the peer still reads become
 * orphans. */
void gw__messenger_loans_recall(struct gw__messenger_shm_peer *peer);
/* Ends all loans of a peer that will return no more, but may still live and
 * read. */
void gw__messenger_loans_forfeit(struct gw__messenger_shm *shm, unsigned node);
/* Releases the memory of one message. */
void gw__messenger_loan_end(struct gw__messenger_shm *shm,
                            struct gw__messenger_shm_peer *peer,
                            struct gw__messenger_loan *loan);

/* ---- messenger_shm_in.c ---- */

struct gw__messenger_message *
gw__messenger_shm_pop(struct gw__messenger *messenger);
/* Is there a descriptor of `node`? */
bool gw__messenger_shm_has(struct gw__messenger_shm *shm, unsigned node);
/* Takes and drops all messages in the ring. */
void gw__messenger_shm_drain(struct gw__messenger_shm *shm, unsigned node);
void gw__messenger_home_release(struct gw__messenger_home *home);
void gw__messenger_source_release(struct gw__messenger_source *source);

/* ---- messenger_shm_map.c ---- */

/* Has the peer's process ended? */
bool gw__messenger_shm_ended(struct gw__messenger_shm_peer *peer);
/* The mapping of the peer's `place` here, with a reference for the caller.
 * NULL: it cannot be mapped. */
struct gw__messenger_mapping *
gw__messenger_map(struct gw__messenger_shm_peer *peer,
                  const struct gw__memory_range *range);
void gw__messenger_mapping_release(struct gw__messenger_mapping *mapping);
void gw__messenger_unmap_all(struct gw__messenger_shm_peer *peer);

/* ---- messenger_shm_staging.c ---- */

/* NULL: no memory. */
struct gw__messenger_block *
gw__messenger_staging_new(struct gw__messenger_staging *staging, size_t bytes);
void gw__messenger_staging_free(struct gw__messenger_staging *staging,
                                struct gw__messenger_block *block);
/* Never reuses the block: a peer that does not report its release may still
 * read it. */
void gw__messenger_staging_abandon(struct gw__messenger_staging *staging,
                                   const struct gw__messenger_block *block);
unsigned char *
gw__messenger_staging_memory(const struct gw__messenger_block *block);
struct gw__memory_range
gw__messenger_staging_place(const struct gw__messenger_block *block);
void gw__messenger_staging_fini(struct gw__messenger_staging *staging);

/* ---- messenger_shm_wait.c ---- */

bool gw__messenger_shm_ready(struct gw__messenger *messenger);
void gw__messenger_shm_sleep(struct gw__messenger *messenger,
                             uint64_t deadline_ns);
void gw__messenger_shm_rouse(struct gw__messenger *messenger);
/* Wakes the owner of `segment` if it sleeps. Orders stores made before the
 * call. */
void gw__messenger_ring(struct gw__messenger_segment *segment);

#endif
