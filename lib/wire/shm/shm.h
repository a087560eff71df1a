/* SPDX-License-Identifier: MIT
 *
 * The segment through which a rank communicates with its peers on the same
 * host, and the local state of the wire. shm.c describes the whole.
 */
#ifndef GW__SHM_H
#define GW__SHM_H

#include "wire/crowd.h"
#include "wire/memory.h"
#include "wire/process_watch.h"
#include "wire/windows.h"
#include "wire/wire.h"

#include <stdatomic.h>

enum {
    LINE_BYTES = 64,
    RING_SLOTS = 8,
    INLINE_BYTES = 152,
    MAPPINGS_MAX = 32, /* per peer: regions mapped here */
};

/* OPEN: made. JOINED: has mapped every peer. CLOSED: has left. */
enum { SHM_OPEN = 1, SHM_JOINED = 2, SHM_CLOSED = 3 };

/* The descriptor of one slice: small slices are inside, large ones named by
 * place. `sequence` is the slice's number on the link plus one, and publishes
 * the rest. */
struct gw__shm_entry {
    _Alignas(LINE_BYTES) _Atomic uint64_t sequence;
    struct gw__memory_range range; /* fd < 0: the bytes are here */
    bool borrowed;                 /* they are in the caller's memory */
    struct gw__header header;
    unsigned char bytes[INLINE_BYTES];
};
_Static_assert(sizeof(struct gw__shm_entry) == 256, "four cache lines");

/* From `owner` to one peer: the ring of slices, and the number of slices that
 * the owner has released of the peer's ring. */
struct gw__shm_link {
    _Alignas(LINE_BYTES) _Atomic uint64_t released;
    struct gw__shm_entry ring[RING_SLOTS];
};

/* Only its owner writes it, except for `doorbell`. */
struct gw__shm_segment {
    uint64_t nonce;
    _Alignas(LINE_BYTES) _Atomic uint32_t doorbell; /* futex */
    _Atomic uint32_t sleeping;
    /* The first peer whose private memory the owner may not copy, and the
     * error number; 0: it may copy all. Published by SHM_JOINED. */
    uint32_t refused_rank;
    int32_t refused_errno;
    _Alignas(LINE_BYTES) _Atomic uint32_t state;
    _Atomic int32_t abort_code; /* publishes abort_text */
    char abort_text[sizeof(((struct gw_error *)0)->text)];
    _Alignas(LINE_BYTES) unsigned char control_block[GW__CONTROL_BLOCK_BYTES];
    struct gw__shm_link links[]; /* one per rank */
};

struct gw__shm_mapping {
    uint32_t region; /* 0: free */
    uint64_t used;   /* mapping_clock at the last use, for eviction */
    void *base;
    size_t bytes;
};

struct gw__shm_peer {
    struct gw__shm_segment *segment; /* the peer's, mapped here */
    size_t segment_bytes;
    int pid;
    bool lost;
    uint64_t pushed;        /* slices sent to it */
    uint64_t released_seen; /* of them, released at the last look */
    /* The newest slice that is in the caller's memory, plus one. */
    uint64_t borrowed;
    uint64_t consumed;         /* slices released from it */
    struct gw__region staging; /* for bytes that the peer cannot map */
    struct gw__shm_mapping mappings[MAPPINGS_MAX];
    uint64_t mapping_clock;
};

struct gw__shm {
    struct gw__wire wire;
    struct gw__region region; /* holds `segment` */
    struct gw__shm_segment *segment;
    struct gw__shm_peer *peers;
    struct gw__process_watch process_watch;
    struct gw_error error; /* found while moving data; `check` returns it */
    size_t slice_bytes;
    bool no_windows;
    int refusing_rank; /* a rank that may not copy private memory; -1: none */
    /* waiting */
    unsigned spins, spin_limit, yields, yield_limit;
    unsigned haste; /* halves the two limits so often */
    struct gw__crowd crowd;
    bool armed, is_fenced;
    uint32_t doorbell_seen;
    bool registered; /* see fence.h */
    /* the last result of gw__region_find */
    struct gw__region shown;
    uint64_t shown_generation;
};

static inline struct gw__shm *gw__shm_of(struct gw__wire *wire)
{
    return (struct gw__shm *)wire;
}

/* shm_link.c */
enum gw_err gw__shm_send(struct gw__wire *, unsigned peer,
                         const struct gw__header *, const void *data,
                         bool copy);
uint64_t gw__shm_sends_done(struct gw__wire *, unsigned peer);
enum gw_err gw__shm_peek(struct gw__wire *, unsigned peer,
                         struct gw__slice_view *view);
void gw__shm_release(struct gw__wire *, unsigned peer);

/* Has the peer released everything that was sent to it? */
bool gw__shm_all_released(struct gw__shm *shm, unsigned rank);

/* shm_map.c */
struct gw__windows *gw__shm_windows(struct gw__wire *);
struct gw__memory_range gw__shm_show(struct gw__wire *, const void *memory,
                                     size_t bytes);
void *gw__shm_reach(struct gw__wire *, unsigned rank,
                    const struct gw__memory_range *range);
void gw__shm_forget_mappings(struct gw__shm_peer *peer);
/* Accessing the memory of `rank` has failed for this reason: the wire fails. */
void gw__shm_lose(struct gw__shm *shm, unsigned rank,
                  const struct gw_error *why);

/* shm_copy.c */
/* May this rank copy the private memory of `rank`? `at` is the address of the
 * segment there. Publishes a refusal. */
void gw__shm_probe(struct gw__shm *shm, unsigned rank, uint64_t at);
/* After all have joined: looks for a rank that was refused. */
void gw__shm_agree_on_copies(struct gw__shm *shm);
bool gw__shm_can_copy(struct gw__wire *, struct gw_error *why);
bool gw__shm_load(struct gw__wire *, unsigned rank, uint64_t from, void *to,
                  size_t bytes);
bool gw__shm_store(struct gw__wire *, unsigned rank, uint64_t to,
                   const void *from, size_t bytes);

/* shm_wait.c */
bool gw__shm_gone(struct gw__wire *, unsigned rank);
bool gw__shm_lost(struct gw__wire *, unsigned rank);
bool gw__shm_relax(struct gw__wire *);
void gw__shm_wait(struct gw__wire *, uint64_t ns);
void gw__shm_wake(struct gw__wire *, unsigned peer);
void gw__shm_wake_all(struct gw__wire *);
void gw__shm_moved(struct gw__wire *);
enum gw_err gw__shm_check(struct gw__wire *, struct gw_error *why);
void gw__shm_abort(struct gw__wire *, const struct gw_error *error);

#endif
