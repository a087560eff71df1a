/* SPDX-License-Identifier: MIT
 *
 * A plan from the view of one rank: its sends and writes, with explicit
 * dependencies between them. Compiled once per plan and rank, and independent
 * of buffers and counts.
 *
 * Every cell goes through versions. Version 0 is the rank's initial
 * value; each write (all transfers of one step into that chunk) makes the next.
 * A send reads a version. A write may overwrite memory only after all sends of
 * the version before it have left.
 */
#ifndef GW__PROGRAM_H
#define GW__PROGRAM_H

#include <gradwire/coll.h>

#define GW__NO_WRITE UINT32_MAX
#define GW__RESULT   UINT32_MAX

/* A chunk that this rank holds, wants, or forwards, in its buffer or in
 * scratch. */
struct gw__cell {
    uint32_t chunk;
    uint32_t scratch; /* 0: its buffer */
    bool holds;       /* has a value before the first step */
    bool wants;       /* must have the final value */
    bool written;     /* some write goes into it */
    /* In window passes that push: others load its initial value; others store
     * its result. */
    bool peers_load, peers_store;
};

struct gw__send {
    uint32_t peer, cell, step; /* peer: may be the rank itself, which is not in
                                  `out`: its write reads the memory */
    uint32_t version; /* the write whose result it reads; GW__NO_WRITE: the
                         initial value */
    bool replaces;    /* `=`, not `+` */
    bool first;       /* of its message: (step, src, dst) */
    bool exchanged;   /* its version is overwritten in the same step: the bytes
                         must leave before both sides can continue */
};

struct gw__program_source {
    uint32_t peer;    /* or the rank itself: a copy or reduction inside it */
    uint32_t send;    /* inside the rank: index into sends */
    uint32_t scratch; /* of the peer */
    bool first;       /* of its message */
};

struct gw__write {
    uint32_t cell, step;
    uint32_t previous; /* the write before it into this cell */
    uint32_t source_begin, source_count; /* ascending ranks */
    uint32_t hazard_begin, hazard_count; /* sends of the version before */
    enum gw_action action; /* of the first source; the others add */
    bool adds_own;         /* `+` into an existing value */
    bool completes;        /* the sum is now complete: time to divide for avg */
};

/* What source `s` of a write does, counted from 0. */
static inline enum gw_action gw__source_action(const struct gw__write *w,
                                               uint32_t s)
{
    return s > 0 && w->action == GW_REPLACE ? GW_ADD : w->action;
}

/* The target of a slice from a peer. */
struct gw__arrival {
    uint32_t write;
    uint32_t source; /* index into sources */
};

/* Both ends of a transfer may run its loop, a half each. */
enum gw__half { GW__NOT_HALVED, GW__FIRST_HALF, GW__SECOND_HALF };

/* One loop of a window pass: reduce the values of `source_begin...` (ranks
 * whose initial value of the chunk is read in place) and store into the results
 * of `dest_begin...`. Both are ranks, this one included. */
struct gw__pass {
    uint32_t chunk;
    uint32_t source_begin, source_count;
    uint32_t dest_begin, dest_count;
    enum gw__half half;
    bool completes;
};

/* A loop of a peer on this rank's memory: it loads the initial value of the
 * cell, or stores into the result. */
struct gw__served {
    uint32_t cell;
    uint16_t peer;
    bool stores;
};

/* A version of a cell in some rank's memory, in window loads. */
struct gw__version {
    uint32_t write; /* of that rank; GW__NO_WRITE: the initial value */
    uint32_t room;  /* in that rank's arena; GW__RESULT: its result */
};

/* A write of some rank. */
struct gw__rank_write {
    uint32_t rank, write;
};

/* The target of a write, or of a copy at the end, and the writes of all ranks
 * that must have read it before. */
struct gw__load_target {
    uint32_t cell, room;
    struct gw__version previous; /* of the cell */
    uint32_t reader_begin, reader_count;
};

/* Window loads: the writes of a program as loads from the peers' memory. */
struct gw__loads {
    struct gw__version *sources;    /* as the program's sources */
    struct gw__load_target *stores; /* of each write, then the copies */
    unsigned copy_count, room_count, reader_count;
    struct gw__rank_write *readers;
};

struct gw__passes {
    unsigned count, rank_count, served_count;
    struct gw__pass *list;
    uint16_t *ranks;
    /* The ranks whose buffers I touch; the ranks that touch mine. Ascending. */
    unsigned touch_count, touched_count;
    uint16_t *touch, *touched;
    struct gw__served *served;
};

struct gw__program {
    unsigned users;       /* pending requests */
    struct gw_plan *plan; /* owned */
    uint64_t hash;        /* of the plan; 0: not computed yet */
    unsigned rank;
    unsigned cell_count, send_count, write_count, source_count, hazard_count;
    struct gw__cell *cells;
    struct gw__send *sends;
    struct gw__write *writes;
    struct gw__program_source *sources;
    uint32_t *hazards;
    /* per peer, in link order: sends[out[out_begin[q] .. out_begin[q+1])] */
    uint32_t *out, *out_begin;
    struct gw__arrival *in;
    uint32_t *in_begin;
    bool direct;   /* `push` is present */
    bool stepwise; /* `loads` are, and the peers in `push` */
    bool eager; /* and `pull`: every value sent is some rank's initial value */
    bool halvable;   /* and `halves` */
    bool overwrites; /* a pass stores over an initial value that others load */
    struct gw__passes push, pull, halves;
    struct gw__loads loads;
};

/* The part of a program that windows run. */
enum gw__window_kind {
    GW__WINDOW_NONE,
    GW__WINDOW_PASSES, /* a direct plan (struct gw_algo), in one pass */
    GW__WINDOW_LOADS   /* any plan, write by write */
};

/* Takes ownership of *plan in any case. */
GW_MUST_CHECK enum gw_err gw__program_new(struct gw_plan **plan, unsigned rank,
                                          enum gw__window_kind kind,
                                          struct gw__program **program,
                                          struct gw_error *why);
void gw__program_destroy(struct gw__program **program);

/* passes.c */
GW_MUST_CHECK enum gw_err gw__passes_make(struct gw__program *program,
                                          struct gw_error *why);
void gw__passes_fini(struct gw__passes *passes);

/* direct.c: can windows run the plan in one pass? GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__plan_is_direct(const struct gw_plan *plan,
                                             bool *direct,
                                             struct gw_error *why);

/* loads.c */
GW_MUST_CHECK enum gw_err gw__loads_make(struct gw__program *program,
                                         struct gw_error *why);
void gw__loads_fini(struct gw__loads *loads);

#endif
