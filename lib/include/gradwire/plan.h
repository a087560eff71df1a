/* SPDX-License-Identifier: MIT
 *
 * A collective algorithm is data: a plan. A plan lists, step
 * by step, which rank sends which chunk to whom, and whether the receiver adds
 * (`+`) or replaces (`=`). The same object is verified, priced, printed, parsed
 * from text, run over any wire and watched.
 *
 * Transfers of a step read the values from before the step. A run keeps no
 * lock-step: it follows data dependencies, slice by slice.
 *
 * How chunks map to buffers:
 *   broadcast, reduce, all-reduce     the buffer is cut into `chunks` parts
 *   gather, scatter, all-gather,      `chunks` = ranks x segments; chunk
 *   reduce-scatter                    b*segments + k is part k of block b
 *   all-to-all                        `chunks` = ranks x ranks; chunk
 *                                     i*ranks + j goes from rank i to rank j
 *   barrier                           one chunk of no bytes
 */
#ifndef GRADWIRE_PLAN_H
#define GRADWIRE_PLAN_H

#include <gradwire/base.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gw_collective {
    GW_BROADCAST,
    GW_REDUCE,
    GW_ALLREDUCE,
    GW_GATHER,
    GW_SCATTER,
    GW_ALLGATHER,
    GW_REDUCE_SCATTER,
    GW_ALLTOALL,
    GW_BARRIER,
    GW_COLLECTIVES /* how many there are */
};

/* "allreduce", "reduce_scatter", ...: the names of nccl-tests. */
GW_API const char *gw_collective_name(enum gw_collective collective);
GW_API GW_MUST_CHECK enum gw_err
gw_collective_parse(const char *name, enum gw_collective *collective,
                    struct gw_error *why);
/* True for reduce, all-reduce and reduce-scatter. */
GW_API bool gw_collective_reduces(enum gw_collective collective);
/* True for broadcast, reduce, gather and scatter. */
GW_API bool gw_collective_rooted(enum gw_collective collective);

enum gw_action {
    GW_REPLACE, /* `=`: the receiver's value becomes the sender's */
    GW_ADD,     /* `+`: the receiver reduces the sender's value into its own */
    GW_TOKEN    /* `|`: barrier only: the receiver learns whom the sender met */
};

struct gw_transfer {
    uint16_t src;
    uint16_t dst;
    uint32_t chunk : 30;
    uint32_t action : 2; /* enum gw_action */
};

/* Limits, so that a plan from a file cannot exhaust memory. */
enum {
    GW_RANKS_MAX = 16384,
    GW_CHUNKS_MAX = 1 << 24,
    GW_TRANSFERS_MAX = 1 << 26
};

/* Step s owns transfers[step_begin[s] .. step_begin[s+1]). Within a step the
 * order of a rank's transfers to one peer is the order in which they travel;
 * several chunks to one peer in a step are one message. */
struct gw_plan {
    char algo[40];
    enum gw_collective collective;
    unsigned ranks;
    unsigned chunks;
    unsigned root;  /* rooted collectives; 0 otherwise */
    unsigned ports; /* peers a rank may send to (and hear from) in a step; 0:
                       any number */
    unsigned steps;
    size_t transfer_count;
    size_t *step_begin; /* steps + 1 entries */
    struct gw_transfer *transfers;
};

GW_API void gw_plan_destroy(struct gw_plan **plan);
/* The same for equal plans: collective, shape and every transfer. */
GW_API uint64_t gw_plan_hash(const struct gw_plan *plan);

/* ---- building ---- */

/* Grows by appending. The first error sticks and is returned by `finish`, so
 * algorithms need not check each call. */
struct gw_builder;
GW_API GW_MUST_CHECK enum gw_err gw_builder_new(enum gw_collective collective,
                                                unsigned ranks, unsigned chunks,
                                                unsigned root,
                                                struct gw_builder **builder,
                                                struct gw_error *why);
/* Begins the next step; a step that stays empty is dropped. */
GW_API void gw_builder_step(struct gw_builder *builder);
GW_API void gw_builder_add(struct gw_builder *builder, unsigned src,
                           unsigned dst, unsigned chunk, enum gw_action action);
GW_API void gw_builder_ports(struct gw_builder *builder, unsigned ports);
GW_API void gw_builder_name(struct gw_builder *builder, const char *algo);
/* Consumes the builder in any case. */
GW_API GW_MUST_CHECK enum gw_err gw_builder_finish(struct gw_builder **builder,
                                                   struct gw_plan **plan,
                                                   struct gw_error *why);
GW_API void gw_builder_destroy(struct gw_builder **builder);

/* ---- meaning ---- */

/* Does `rank` hold a value of `chunk` before the first step? */
GW_API bool gw_plan_holds(const struct gw_plan *plan, unsigned rank,
                          unsigned chunk);
/* Must `rank` hold the final value of `chunk` after the last step? */
GW_API bool gw_plan_wants(const struct gw_plan *plan, unsigned rank,
                          unsigned chunk);
/* The block a chunk is part of, and how many chunks a block has (1 block for
 * broadcast, reduce, all-reduce and barrier; ranks for most; ranks² for
 * all-to-all). */
GW_API unsigned gw_plan_block(const struct gw_plan *plan, unsigned chunk);
GW_API unsigned gw_plan_segments(const struct gw_plan *plan);
/* Where chunk lies inside its block of `count` elements of `elem_bytes`, in
 * elements. Boundaries fall on multiples of 64 bytes when parts are large, and
 * the parts differ by at most one such unit. */
GW_API void gw_plan_extent(const struct gw_plan *plan, unsigned chunk,
                           size_t count, size_t elem_bytes, size_t *offset,
                           size_t *length);

/* ---- text form (gradwire-plan(5)) ---- */

/* Parses the text of a `.plan`. `ranks` sets P (0: what the header says).
 * On failure the sentence begins "NAME:LINE:COLUMN: ". */
GW_API GW_MUST_CHECK enum gw_err gw_plan_parse(const char *text, size_t bytes,
                                               const char *name, unsigned ranks,
                                               struct gw_plan **plan,
                                               struct gw_error *why);
GW_API GW_MUST_CHECK enum gw_err gw_plan_load(const char *path, unsigned ranks,
                                              struct gw_plan **plan,
                                              struct gw_error *why);
/* Writes the text form; parsing it back gives an equal plan. */
GW_API GW_MUST_CHECK enum gw_err
gw_plan_print(const struct gw_plan *plan, FILE *file, struct gw_error *why);

/* ---- verifying ---- */

enum gw_fault {
    GW_FAULT_NONE,
    GW_FAULT_ABSENT,     /* sends a chunk that it does not hold */
    GW_FAULT_DOUBLE,     /* `+` of sets that share a rank */
    GW_FAULT_INCOMPLETE, /* a promise is not kept at the end */
    GW_FAULT_PORTS,      /* more peers in a step than ports= allows */
    GW_FAULT_CONFLICT,   /* two transfers of a step replace one chunk, or one
                            replaces and another adds */
    GW_FAULT_DEADLOCK,   /* a cycle of waits */
    GW_FAULT_SHAPE       /* chunks or an action do not fit the collective */
};

/* What is wrong with a plan, and the shortest history of the chunk that shows
 * it, a line a transfer. */
struct gw_verdict {
    enum gw_fault fault;
    unsigned step; /* counted from 1, as in the sentence */
    unsigned src, dst, chunk;
    char sentence[256];
    char history[4096];
};

GW_API const char *gw_fault_name(enum gw_fault fault);

/* Symbolic execution: contributor sets per (rank, chunk); then the game of
 * waits twice: rendezvous (a chunk of several slices, room for one slice a
 * link) and bounded buffers (room for `link_chunks` chunks a link, 0 means 1).
 * GW_OK, or GW_EPLAN with *verdict filled, or GW_ENOMEM. */
GW_API GW_MUST_CHECK enum gw_err gw_plan_verify(const struct gw_plan *plan,
                                                unsigned link_chunks,
                                                struct gw_verdict *verdict,
                                                struct gw_error *why);

/* ---- watching ---- */

/* Who has contributed to what: the contributor sets of every (rank, chunk),
 * moved along a plan transfer by transfer. All transfers of a step read the
 * values from before it; what has been written already is what `count` and
 * `has` show. Where nothing is reduced a set has one member, the owner. The
 * plan must outlive the trace. */
struct gw_plan_trace;
/* GW_ENOMEM also when the matrix would take more than a gigabyte. GW_EINVAL for
 * a plan whose chunks do not fit its collective. */
GW_API GW_MUST_CHECK enum gw_err gw_plan_trace_new(const struct gw_plan *plan,
                                                   struct gw_plan_trace **trace,
                                                   struct gw_error *why);
GW_API void gw_plan_trace_destroy(struct gw_plan_trace **trace);
/* Applies the next transfer and returns it; NULL when there is none left. Does
 * what the plan says, right or wrong: a `+` of sets that meet gives their
 * union. */
GW_API const struct gw_transfer *
gw_plan_trace_next(struct gw_plan_trace *trace);
/* Applies what is left of the step under way, or else the next step; returns
 * its number, counted from 1, or 0 when there is none left. */
GW_API unsigned gw_plan_trace_step(struct gw_plan_trace *trace);
/* How many contributors the value of `chunk` at `rank` has: 0 (no value) to
 * gw_plan_trace_full. */
GW_API unsigned gw_plan_trace_count(const struct gw_plan_trace *trace,
                                    unsigned rank, unsigned chunk);
/* Contributors of a finished value: ranks, or 1 where nothing is reduced. */
GW_API unsigned gw_plan_trace_full(const struct gw_plan_trace *trace);
/* Is `contributor`'s data in the value of `chunk` at `rank`? */
GW_API bool gw_plan_trace_has(const struct gw_plan_trace *trace, unsigned rank,
                              unsigned chunk, unsigned contributor);

/* ---- pricing ---- */

/* alpha-beta-gamma (Hockney 1994, with a reduction term), a wire each. */
struct gw_cost_model {
    double alpha_us;          /* a message */
    double beta_us_per_byte;  /* a byte sent */
    double gamma_us_per_byte; /* a byte reduced */
};

struct gw_price {
    unsigned rounds;   /* steps with at least one transfer */
    uint64_t messages; /* (step, src, dst) triples, all ranks */
    uint64_t bytes;    /* sent, all ranks */
    uint64_t rank_messages_max;
    uint64_t rank_bytes_max;    /* sent by the rank that sends most */
    uint64_t rank_received_max; /* by the rank that receives most */
    uint64_t link_bytes_max;    /* over the busiest directed pair */
    uint64_t rank_reduced_max;
    double predicted_us; /* sum over steps of the slowest rank */
    double bound_us;     /* the lower bound of the collective, same model */
};

/* `count` elements (of a block, or of the buffer; see the top of this page);
 * a barrier moves no bytes whatever `count` is. GW_EINVAL for elements of 0 or
 * more than 64 bytes, and for counts whose bytes do not fit 64 bits. */
GW_API GW_MUST_CHECK enum gw_err
gw_plan_price(const struct gw_plan *plan, size_t count, size_t elem_bytes,
              const struct gw_cost_model *model, struct gw_price *price,
              struct gw_error *why);
/* What one rank sends: messages and bytes to each peer (arrays of `ranks`). */
GW_API void gw_plan_price_rank(const struct gw_plan *plan, size_t count,
                               size_t elem_bytes, unsigned rank,
                               uint64_t *messages, uint64_t *bytes);
/* Lower bound in microseconds, one port, p ranks (Chan et al. 2007): rounds
 * ceil(log2 p), bytes as in gradwire(7). */
GW_API double gw_bound_us(enum gw_collective collective, unsigned ranks,
                          size_t count, size_t elem_bytes,
                          const struct gw_cost_model *model);

/* ---- the algorithms ---- */

struct gw_algo_args {
    unsigned ranks;
    unsigned root;
    unsigned segments; /* pipeline depth k; 0: the algorithm's default */
    unsigned group;    /* ranks a rack, for hierarchical; 0: default */
};

/* An algorithm: its functions are pure, and may run in several threads. `emit`
 * appends the transfers of a plan for args->ranks, for which `valid` is true,
 * among `chunks` chunks; what it must not do (a rank or chunk out of range)
 * comes out of the builder as an error. */
struct gw_algo {
    const char *name; /* "ring" */
    enum gw_collective collective;
    const char *summary; /* one line for `collrun list` */
    const char *formula; /* "2(p-1) rounds, 2(p-1)/p n bytes a rank" */
    const char *source;  /* paper or textbook */
    bool (*valid)(unsigned ranks);
    void (*emit)(struct gw_builder *, const struct gw_algo_args *);
    unsigned (*chunks)(const struct gw_algo_args *); /* of the plan */
    bool direct;   /* every value sent is an input or a finished sum, so that
                    windows can run it in one pass; of one that is added,
                    nobody asks */
    bool baseline; /* what the others are measured against; gw_choose puts it
                      behind all of them, whatever it is predicted to take */
};

/* Those of the library, ordered by collective; *count receives how many. */
GW_API const struct gw_algo *const *gw_algo_list(size_t *count);
/* One of the library or one that was added; NULL: there is none. */
GW_API const struct gw_algo *gw_algo_find(enum gw_collective collective,
                                          const char *name);
/* Adds one to those that gw_algo_find, gw_plan_make and gw_call.algo know by
 * name; nobody chooses it of his own accord. It is not copied: it must stay
 * where it is until gw_algo_remove. All ranks of a run add the same in the same
 * order (before they fork, say), and not while another thread looks up names.
 * GW_EINVAL: a name that is taken for this collective or that is not 1 to 39 of
 * a-z, 0-9 and _, or a function that is NULL; GW_ENOMEM: there are 16.
 * `summary`, `formula` and `source` may be NULL. Plans of it are verified
 * before a communicator runs them. */
GW_API GW_MUST_CHECK enum gw_err gw_algo_add(const struct gw_algo *algo,
                                             struct gw_error *why);
/* No communicator may be using it. Does nothing if it was not added. */
GW_API void gw_algo_remove(const struct gw_algo *algo);
GW_API GW_MUST_CHECK enum gw_err gw_plan_make(enum gw_collective collective,
                                              const char *algo,
                                              const struct gw_algo_args *args,
                                              struct gw_plan **plan,
                                              struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
