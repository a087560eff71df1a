/* SPDX-License-Identifier: MIT
 *
 * A collective algorithm is data: a plan. A plan lists the transfers of each
 * step: which rank sends which chunk to which rank, and whether the receiver
 * adds (`+`) or replaces (`=`). The same object is verified, priced, printed,
 * parsed from text, run over any wire and watched.
 *
 * Transfers of a step read the values from before the step. A run keeps no
 * lock-step: it follows data dependencies, slice by slice.
 *
 * How chunks map to buffers:
 *   broadcast, reduce, all-reduce,    the buffer is cut into `chunks` parts
 *   scan, exclusive scan
 *   gather, scatter, all-gather,      `chunks` = ranks x segments; chunk
 *   reduce-scatter                    b*segments + k is part k of block b
 *   all-to-all                        `chunks` = ranks x ranks; chunk
 *                                     i*ranks + j goes from rank i to rank j
 *   barrier                           one chunk of no bytes
 *   custom                            the buffer is cut into `chunks` parts;
 *                                     the plan itself states which ranks have
 *                                     a chunk before and must have it after
 *
 * Functions here are pure, except gw_plan_load, gw_plan_print, gw_plan_export, gw_algo_add and
 * gw_algo_remove. Several threads may read the same plan.
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
    GW_SCAN,       /* rank r has the sum of ranks 0 to r */
    GW_EXSCAN,     /* rank r has the sum of ranks 0 to r-1, rank 0 nothing */
    GW_CUSTOM,     /* the conditions of the plan; no algorithm of ours */
    GW_COLLECTIVES /* number of collectives */
};

/* Returns the name of a collective, as in nccl-tests: "allreduce",
 * "reduce_scatter". */
GW_API const char *gw_collective_name(enum gw_collective collective);
/* Finds the collective of a name. GW_EINVAL: an unknown name; *collective is
 * unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_collective_parse(const char *name, enum gw_collective *collective,
                    struct gw_error *why);
/* Returns whether a collective reduces: true for reduce, all-reduce,
 * reduce-scatter, scan, exclusive scan and custom. */
GW_API bool gw_collective_reduces(enum gw_collective collective);
/* Returns whether a collective has a root: true for broadcast, reduce, gather
 * and scatter. */
GW_API bool gw_collective_rooted(enum gw_collective collective);

/* The action of a receiver. */
enum gw_action {
    GW_REPLACE, /* `=`: its value becomes the sender's */
    GW_ADD,     /* `+`: it reduces the sender's value into its own */
    GW_TOKEN    /* `|`: barrier only: it learns the sender's contacts */
};

/* One transfer: rank `src` sends `chunk` to rank `dst`.
 *
 * A rank can hold a chunk several times: in its buffer, which is number 0, and
 * in scratch, numbers 1 and up, which is empty before the first step. A transfer
 * names both; src and dst may be the same rank if they differ (a local copy or
 * a local reduction). Transfers of different channels are different messages. */
struct gw_transfer {
    uint16_t src;
    uint16_t dst;
    uint32_t chunk : 24;
    uint32_t channel : 6;
    uint32_t action : 2; /* enum gw_action */
    uint16_t src_scratch;
    uint16_t dst_scratch;
};

/* Limits, so that a plan from a file cannot exhaust memory. */
enum {
    GW_RANKS_MAX = 16384,
    GW_CHUNKS_MAX = 1 << 24,
    GW_CHANNELS_MAX = 64,
    GW_SCRATCH_MAX = 1023, /* the largest number of scratch */
    GW_TRANSFERS_MAX = 1 << 26
};

/* The conditions of a chunk at a rank, in a custom plan. After the last step each
 * rank that wants a chunk must have the sum of the data of all ranks that have
 * it before the first; if only one has it, that rank's data. */
enum { GW_HAS = 1, GW_WANTS = 2 };

/* A plan. Step s owns transfers[step_begin[s] .. step_begin[s+1]). Within a
 * step a rank's transfers to one peer are sent in this order; several chunks to
 * one peer in one step and on one channel are one message. */
struct gw_plan {
    char algo[40];
    enum gw_collective collective;
    unsigned ranks;
    unsigned chunks;
    unsigned root; /* of rooted collectives; otherwise 0 */
    /* The largest number of peers that a rank may send to, and receive
     * from, in one step; 0: no limit. */
    unsigned ports;
    unsigned scratch; /* the largest number of scratch in use; 0: none */
    unsigned steps;
    size_t transfer_count;
    size_t *step_begin; /* steps + 1 entries */
    struct gw_transfer *transfers;
    /* Of a custom plan, at rank * chunks + chunk: GW_HAS, GW_WANTS, or both;
     * NULL: all empty, and in any other plan. */
    unsigned char *conditions;
};

/* Frees a plan and sets the pointer to NULL. */
GW_API void gw_plan_destroy(struct gw_plan **plan);
/* Returns a hash of collective, shape and every transfer, without the name. It
 * is the same for equal plans. */
GW_API uint64_t gw_plan_hash(const struct gw_plan *plan);

/* ---- building ---- */

/* A builder makes a plan by appending. It keeps its first error, which
 * gw_builder_finish returns, so that algorithms need not check each call. */
struct gw_builder;
/* Creates a builder; gw_builder_finish or gw_builder_destroy frees it.
 * GW_EINVAL: ranks, chunks or root out of range; *builder is NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_builder_new(enum gw_collective collective,
                                                unsigned ranks, unsigned chunks,
                                                unsigned root,
                                                struct gw_builder **builder,
                                                struct gw_error *why);
/* Begins the next step. An empty step is dropped. */
GW_API void gw_builder_step(struct gw_builder *builder);
/* Adds a transfer to the current step. */
GW_API void gw_builder_add(struct gw_builder *builder, unsigned src,
                           unsigned dst, unsigned chunk, enum gw_action action);
/* Adds a transfer with all its fields: between scratch, inside a rank, on a
 * channel. */
GW_API void gw_builder_transfer(struct gw_builder *builder,
                                const struct gw_transfer *transfer);
/* Adds conditions, GW_HAS or GW_WANTS or both, to a chunk of a rank of a custom
 * plan. In any other plan this is an error. */
GW_API void gw_builder_condition(struct gw_builder *builder, unsigned rank,
                                 unsigned chunk, unsigned conditions);
/* Sets the number of ports; the verifier checks it. */
GW_API void gw_builder_ports(struct gw_builder *builder, unsigned ports);
/* Sets the name of the plan's algorithm. */
GW_API void gw_builder_name(struct gw_builder *builder, const char *algo);
/* Returns the plan and frees the builder, also on failure. On failure *plan is
 * NULL and the result is the builder's first error. */
GW_API GW_MUST_CHECK enum gw_err gw_builder_finish(struct gw_builder **builder,
                                                   struct gw_plan **plan,
                                                   struct gw_error *why);
/* Frees a builder without a plan. */
GW_API void gw_builder_destroy(struct gw_builder **builder);

/* ---- meaning ---- */

/* Returns whether `rank` has a value of `chunk` before the first step. */
GW_API bool gw_plan_holds(const struct gw_plan *plan, unsigned rank,
                          unsigned chunk);
/* Returns whether `rank` must have the final value of `chunk` after the last
 * step. */
GW_API bool gw_plan_wants(const struct gw_plan *plan, unsigned rank,
                          unsigned chunk);
/* Returns the block of a chunk. A plan has 1 block for broadcast, reduce,
 * all-reduce, barrier and scans, ranks² blocks for all-to-all, otherwise ranks
 * blocks. */
GW_API unsigned gw_plan_block(const struct gw_plan *plan, unsigned chunk);
/* Returns the number of chunks of a block. */
GW_API unsigned gw_plan_segments(const struct gw_plan *plan);
/* Computes the position of a chunk in its block of `count` elements of
 * `elem_bytes` bytes: offset and length in elements. Large parts begin at
 * multiples of 64 bytes, and the parts differ by at most one such unit. */
GW_API void gw_plan_extent(const struct gw_plan *plan, unsigned chunk,
                           size_t count, size_t elem_bytes, size_t *offset,
                           size_t *length);

/* ---- text form (gradwire-plan(5)) ---- */

/* Parses the text of a `.plan`, or a schedule in another format
 * (gradwire-plan(5)): MSCCL's or ForestColl's XML, TE-CCL's or SCCL's JSON, GOAL.
 * `ranks` sets P; 0 takes it from the header. The caller frees *plan. GW_EDATA:
 * the text is wrong, and the sentence begins with "NAME:LINE:COLUMN: ", or in
 * another format with "NAME:LINE: " or "NAME: "; *plan is NULL. A schedule in
 * another format is verified, too. */
GW_API GW_MUST_CHECK enum gw_err gw_plan_parse(const char *text, size_t bytes,
                                               const char *name, unsigned ranks,
                                               struct gw_plan **plan,
                                               struct gw_error *why);
/* Reads a plan from a file, as gw_plan_parse. GW_EDATA also if the file cannot
 * be read. */
GW_API GW_MUST_CHECK enum gw_err gw_plan_load(const char *path, unsigned ranks,
                                              struct gw_plan **plan,
                                              struct gw_error *why);
/* Writes the text form. gw_plan_parse reads it into an equal plan. */
GW_API GW_MUST_CHECK enum gw_err
gw_plan_print(const struct gw_plan *plan, FILE *file, struct gw_error *why);

/* ---- other formats ---- */

/* The formats that a plan can be written in. */
enum gw_format {
    GW_FORMAT_MSCCL,  /* XML for MSCCL and RCCL */
    GW_FORMAT_GOAL,   /* for LogGOPSim and ATLAHS */
    GW_FORMAT_CHAKRA, /* the execution trace of one rank, for ASTRA-sim */
    GW_FORMAT_DOT,    /* a graph for Graphviz */
    GW_FORMATS        /* number of formats */
};
/* Returns the name of a format: "msccl". */
GW_API const char *gw_format_name(enum gw_format format);
/* Finds the format of a name. GW_EINVAL: an unknown name; *format is
 * unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_format_parse(const char *name, enum gw_format *format, struct gw_error *why);

/* The options of an export. */
struct gw_export {
    enum gw_format format;
    size_t count;      /* elements of a block, as in gw_plan_price */
    size_t elem_bytes; /* of an element */
    unsigned rank;     /* Chakra: whose trace; otherwise 0 */
};
/* Writes a plan in another format. gw_plan_parse reads MSCCL and GOAL back into
 * an equal plan. GW_EPLAN: the plan is wrong. GW_ENOTSUP: MSCCL has no such
 * collective. GW_EINVAL: options out of range. */
GW_API GW_MUST_CHECK enum gw_err gw_plan_export(const struct gw_plan *plan,
                                                const struct gw_export *options,
                                                FILE *file,
                                                struct gw_error *why);

/* ---- verifying ---- */

/* The faults of a plan. */
enum gw_fault {
    GW_FAULT_NONE,
    GW_FAULT_ABSENT,     /* a rank sends a chunk that it does not have */
    GW_FAULT_DOUBLE,     /* `+` of sets that share a rank */
    GW_FAULT_INCOMPLETE, /* a final value is missing or incomplete */
    GW_FAULT_PORTS,      /* more peers in a step than ports= allows */
    /* Two transfers of a step replace one chunk, or one replaces and
     * another adds. */
    GW_FAULT_CONFLICT,
    GW_FAULT_DEADLOCK, /* a cycle of waits */
    GW_FAULT_SHAPE     /* chunks or an action do not fit the collective */
};

/* The fault of a plan, and the shortest history of the chunk that shows it, one
 * line per transfer. */
struct gw_verdict {
    enum gw_fault fault;
    unsigned step; /* from 1, as in the sentence */
    unsigned src, dst, chunk;
    char sentence[256];
    char history[4096];
};

/* Returns the name of a fault. */
GW_API const char *gw_fault_name(enum gw_fault fault);

/* Verifies a plan by symbolic execution: it computes the contributor set of
 * each (rank, chunk). Then it checks for deadlocks twice: with rendezvous (a
 * chunk of several slices, room for one slice per link) and with bounded
 * buffers (room for `link_chunks` chunks per link, 0 means 1). GW_EPLAN: the
 * plan is wrong, and *verdict has the fault. GW_ENOMEM. */
GW_API GW_MUST_CHECK enum gw_err gw_plan_verify(const struct gw_plan *plan,
                                                unsigned link_chunks,
                                                struct gw_verdict *verdict,
                                                struct gw_error *why);

/* ---- watching ---- */

/* A trace: the contributor sets of every (rank, chunk), which change along a
 * plan transfer by transfer. All transfers of a step read the values from
 * before the step; gw_plan_trace_count and gw_plan_trace_has show the values
 * after the last transfer. Without a reduction, a set has one member, the
 * owner. The plan must outlive the trace. */
struct gw_plan_trace;
/* Creates a trace; the caller frees it with gw_plan_trace_destroy. GW_ENOMEM:
 * also when the matrix would need more than a gigabyte. GW_EINVAL: the chunks
 * of the plan do not fit its collective. */
GW_API GW_MUST_CHECK enum gw_err gw_plan_trace_new(const struct gw_plan *plan,
                                                   struct gw_plan_trace **trace,
                                                   struct gw_error *why);
/* Frees a trace and sets the pointer to NULL. */
GW_API void gw_plan_trace_destroy(struct gw_plan_trace **trace);
/* Applies the next transfer and returns it; NULL after the last. It follows the
 * plan, even if that is wrong: `+` of sets that overlap makes their union. */
GW_API const struct gw_transfer *
gw_plan_trace_next(struct gw_plan_trace *trace);
/* Applies the rest of the current step, or the next step. Returns its number,
 * from 1, or 0 after the last. */
GW_API unsigned gw_plan_trace_step(struct gw_plan_trace *trace);
/* Returns the number of contributors to the value of `chunk` at `rank`: from 0
 * (no value) to gw_plan_trace_full. */
GW_API unsigned gw_plan_trace_count(const struct gw_plan_trace *trace,
                                    unsigned rank, unsigned chunk);
/* Returns the largest number of contributors to a final value: ranks, or 1
 * without a reduction. */
GW_API unsigned gw_plan_trace_full(const struct gw_plan_trace *trace);
/* Returns whether the value of `chunk` at `rank` contains `contributor`'s
 * data. */
GW_API bool gw_plan_trace_has(const struct gw_plan_trace *trace, unsigned rank,
                              unsigned chunk, unsigned contributor);

/* ---- pricing ---- */

/* The costs of a message on a wire: alpha-beta-gamma (Hockney 1994, with a
 * reduction term). */
struct gw_cost_model {
    double alpha_us;          /* per message */
    double beta_us_per_byte;  /* per byte sent */
    double gamma_us_per_byte; /* per byte reduced */
};
/* Returns the time of `messages` sent one after another, `sent` bytes in all,
 * and of the reduction of `reduced` bytes, in microseconds. */
GW_API double gw_cost_model_us(const struct gw_cost_model *model,
                               double messages, double sent, double reduced);

/* The price of a plan. */
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
    double bound_us;     /* lower bound of the collective, same model */
};

/* Computes the price of a plan for `count` elements of a block, or of the
 * buffer (see the top of this file). A barrier moves no bytes, whatever `count`
 * is. GW_EINVAL: elements of 0 or more than 64 bytes, or a count whose bytes do
 * not fit 64 bits. */
GW_API GW_MUST_CHECK enum gw_err
gw_plan_price(const struct gw_plan *plan, size_t count, size_t elem_bytes,
              const struct gw_cost_model *model, struct gw_price *price,
              struct gw_error *why);
/* Computes the messages and bytes that one rank sends to each peer (arrays of
 * `ranks`). */
GW_API void gw_plan_price_rank(const struct gw_plan *plan, size_t count,
                               size_t elem_bytes, unsigned rank,
                               uint64_t *messages, uint64_t *bytes);
/* Returns the lower bound of a collective's time in microseconds, with one port
 * and p ranks (Chan et al. 2007): ceil(log2 p) rounds, bytes as in
 * gradwire(7). 0 for custom, whose bound depends on the plan: gw_plan_price. */
GW_API double gw_bound_us(enum gw_collective collective, unsigned ranks,
                          size_t count, size_t elem_bytes,
                          const struct gw_cost_model *model);

/* ---- the algorithms ---- */

/* The arguments of an algorithm. */
struct gw_algo_args {
    unsigned ranks;
    unsigned root;
    unsigned segments; /* pipeline depth k; 0: the algorithm's default */
    unsigned group;    /* ranks per rack, of hierarchical; 0: default */
};

/* An algorithm. Its functions are pure and may run in several threads. `emit`
 * appends the transfers of a plan for args->ranks, for which `valid` is true,
 * among `chunks` chunks. A rank or chunk out of range is an error of the
 * builder. */
struct gw_algo {
    const char *name; /* "ring" */
    enum gw_collective collective;
    const char *summary; /* one line for `collrun list` */
    const char *formula; /* "2(p-1) rounds, 2(p-1)/p n bytes per rank" */
    const char *source;  /* paper or textbook */
    bool (*valid)(unsigned ranks);
    void (*emit)(struct gw_builder *, const struct gw_algo_args *);
    unsigned (*chunks)(const struct gw_algo_args *); /* of the plan */
    /* Every value sent is an input or a finished sum, so that windows can
     * run it in one pass. Not used for an added algorithm. */
    bool direct;
    /* For comparison only: gw_choose puts it after all others, whatever
     * its predicted time. */
    bool baseline;
};

/* Returns the algorithms of the library, ordered by collective, and their
 * number in *count. */
GW_API const struct gw_algo *const *gw_algo_list(size_t *count);
/* Finds an algorithm of the library, or an added one, by its name. NULL: an
 * unknown name. */
GW_API const struct gw_algo *gw_algo_find(enum gw_collective collective,
                                          const char *name);
/* Adds an algorithm to those that gw_algo_find, gw_plan_make and gw_call.algo
 * find by name. The library never chooses it by itself. It is not copied: it
 * must stay in place until gw_algo_remove. All ranks of a run must add the same
 * algorithms in the same order (for instance before they fork), while no other
 * thread looks up names. GW_EINVAL: the name is already used for this
 * collective, or is not 1 to 39 of a-z, 0-9 and _, or a function is NULL.
 * GW_ENOMEM: 16 have been added. `summary`, `formula` and `source` may be NULL.
 * A communicator verifies its plans before it runs them. */
GW_API GW_MUST_CHECK enum gw_err gw_algo_add(const struct gw_algo *algo,
                                             struct gw_error *why);
/* Removes an added algorithm; any other one is ignored. No communicator may be
 * using it. */
GW_API void gw_algo_remove(const struct gw_algo *algo);
/* Makes the plan of an algorithm for `args`. The caller frees *plan. GW_EINVAL:
 * an unknown algorithm, or one that is not valid for args->ranks; *plan is
 * NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_plan_make(enum gw_collective collective,
                                              const char *algo,
                                              const struct gw_algo_args *args,
                                              struct gw_plan **plan,
                                              struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
