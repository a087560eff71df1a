/* SPDX-License-Identifier: MIT
 *
 * A plan as one rank sees it: what it sends and what it writes, with the
 * dependencies between them made explicit. Compiled once a plan and rank, and
 * independent of buffers and counts.
 *
 * Every (rank, chunk) goes through versions: version 0 is what the rank holds
 * at first; each write (all transfers of one step into that chunk) makes the
 * next. A send reads a version; a write may overwrite memory only when all
 * sends of the version before it have left.
 */
#ifndef GW__PROGRAM_H
#define GW__PROGRAM_H

#include <gradwire/coll.h>

#define GW__NO_WRITE UINT32_MAX

/* A chunk that this rank holds, wants, or passes on. */
struct gw__cell {
    uint32_t chunk;
    bool holds;   /* has a value before the first step */
    bool wants;   /* must have the final value */
    bool written; /* some write goes into it */
    /* In window passes that push: others load its first value; others store its
     * result. */
    bool lent, given;
};

struct gw__send {
    uint32_t peer, cell, step;
    uint32_t version; /* the write whose result it reads; GW__NO_WRITE: what
                         the rank holds at first */
    bool replaces;    /* `=`, not `+` */
    bool first;       /* of its message: (step, src, dst) */
    bool exchanged;   /* its version is overwritten in the same step: the bytes
                         must leave before both sides can go on */
};

struct gw__program_source {
    uint32_t peer;
    bool first; /* of its message */
};

struct gw__write {
    uint32_t cell, step;
    uint32_t previous; /* the write before it into this cell */
    uint32_t source_begin, source_count; /* ascending ranks */
    uint32_t hazard_begin, hazard_count; /* sends of the version before */
    enum gw_action action;
    bool adds_own;  /* `+` into a value that is there */
    bool completes; /* the sum now has every rank: time to divide for avg */
};

/* Where a slice from a peer goes. */
struct gw__arrival {
    uint32_t write;
    uint32_t source; /* index into sources */
};

/* One loop of a window pass: fold the values of `source_begin...` (ranks whose
 * first value of the chunk is read where it lies), store into the results of
 * `dest_begin...`. Ranks, this one among them. */
struct gw__pass {
    uint32_t chunk;
    uint32_t source_begin, source_count;
    uint32_t dest_begin, dest_count;
    bool completes;
};

/* What a peer does for me in a loop of its own: it loads my first value of the
 * cell, or stores into my result. */
struct gw__served {
    uint32_t cell;
    uint16_t peer;
    bool stores;
};

struct gw__passes {
    unsigned count, rank_count, served_count;
    struct gw__pass *list;
    uint16_t *ranks;
    /* Whose buffers I touch; who touches mine. Ascending. */
    unsigned touch_count, touched_count;
    uint16_t *touch, *touched;
    struct gw__served *served;
};

struct gw__program {
    unsigned users;       /* requests under way */
    struct gw_plan *plan; /* owned */
    uint64_t hash;        /* of the plan; 0: nobody has asked yet */
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
    bool direct; /* `push` is there */
    bool eager;  /* and `pull`: every value sent is some rank's first value */
    bool overwrites; /* a pass stores over a first value that others load */
    struct gw__passes push, pull;
};

/* Takes over *plan in any case. `direct`: the plan is of the one-pass kind
 * (struct gw_algo), so window passes are made too. */
GW_MUST_CHECK enum gw_err gw__program_new(struct gw_plan **plan, unsigned rank,
                                          bool direct,
                                          struct gw__program **program,
                                          struct gw_error *why);
void gw__program_destroy(struct gw__program **program);

/* passes.c */
GW_MUST_CHECK enum gw_err gw__passes_make(struct gw__program *program,
                                          struct gw_error *why);
void gw__passes_fini(struct gw__passes *passes);

#endif
