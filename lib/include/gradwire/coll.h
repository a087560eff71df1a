/* SPDX-License-Identifier: MIT
 *
 * Communicators and collectives. A communicator is a group of ranks joined by
 * one wire; all its ranks start the same calls in the same order.
 *
 * A call that differs between ranks, a lost peer, a timeout: each is an error
 * on every rank, within a second of the fact, with a sentence that names the
 * rank, the op, the chunk and whom it waits for. After an error the
 * communicator refuses further calls; `gw_comm_destroy` never hangs. Input
 * buffers (other than GW_IN_PLACE ones) are never written.
 *
 * A communicator is used by one thread at a time. Progress is made inside the
 * calls; libzmq's own threads move bytes in between.
 */
#ifndef GRADWIRE_COLL_H
#define GRADWIRE_COLL_H

#include <gradwire/base.h>
#include <gradwire/event.h>
#include <gradwire/plan.h>
#include <gradwire/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, text, bytes */
#define GW_DTYPES(X)                                                           \
    X(GW_I8, "i8", 1)                                                          \
    X(GW_I16, "i16", 2)                                                        \
    X(GW_I32, "i32", 4)                                                        \
    X(GW_I64, "i64", 8)                                                        \
    X(GW_U8, "u8", 1)                                                          \
    X(GW_U16, "u16", 2)                                                        \
    X(GW_U32, "u32", 4)                                                        \
    X(GW_U64, "u64", 8)                                                        \
    X(GW_F16, "f16", 2)                                                        \
    X(GW_BF16, "bf16", 2)                                                      \
    X(GW_F32, "f32", 4)                                                        \
    X(GW_F64, "f64", 8)

enum gw_dtype {
#define X(name, text, bytes) name,
    GW_DTYPES(X)
#undef X
        GW_DTYPE_COUNT
};

/* Logical and bitwise reductions are for integers. avg is sum / ranks (integers
 * truncate toward zero, after the sum has wrapped). f16 and bf16 accumulate in
 * f32 within a pass. Integer sums and products wrap. */
#define GW_REDOPS(X)                                                           \
    X(GW_SUM, "sum")                                                           \
    X(GW_PROD, "prod")                                                         \
    X(GW_MIN, "min")                                                           \
    X(GW_MAX, "max")                                                           \
    X(GW_AVG, "avg")                                                           \
    X(GW_LAND, "land")                                                         \
    X(GW_LOR, "lor")                                                           \
    X(GW_BAND, "band")                                                         \
    X(GW_BOR, "bor")

enum gw_redop {
#define X(name, text) name,
    GW_REDOPS(X)
#undef X
        GW_REDOP_COUNT
};

GW_API size_t gw_dtype_size(enum gw_dtype type);
GW_API const char *gw_dtype_name(enum gw_dtype type);
GW_API const char *gw_redop_name(enum gw_redop op);
GW_API GW_MUST_CHECK enum gw_err
gw_dtype_parse(const char *name, enum gw_dtype *type, struct gw_error *why);
GW_API GW_MUST_CHECK enum gw_err
gw_redop_parse(const char *name, enum gw_redop *op, struct gw_error *why);
/* False for land, lor, band, bor on f16, bf16, f32, f64. */
GW_API bool gw_redop_allowed(enum gw_redop op, enum gw_dtype type);

/* ---- communicators ---- */

struct gw_comm;

GW_API GW_MUST_CHECK enum gw_err
gw_comm_create(const struct gw_comm_config *config, struct gw_comm **comm,
               struct gw_error *why);
/* Collective: ranks with the same `color` form a new communicator, ordered by
 * `key`, then by rank. color < 0: this rank takes part and gets NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_comm_split(struct gw_comm *comm, int color,
                                               int key, struct gw_comm **sub,
                                               struct gw_error *why);
/* Says goodbye to the peers and frees everything; unfinished requests of this
 * communicator become invalid. Never waits for a peer. */
GW_API void gw_comm_destroy(struct gw_comm **comm);

GW_API unsigned gw_comm_rank(const struct gw_comm *comm);
GW_API unsigned gw_comm_size(const struct gw_comm *comm);
GW_API const char *gw_comm_wire(const struct gw_comm *comm);
/* The last error of this communicator, with its sentence. */
GW_API const struct gw_error *gw_comm_error(const struct gw_comm *comm);
/* Marks the communicator as failed on every rank: all waits end with `code`. */
GW_API void gw_comm_abort(struct gw_comm *comm, enum gw_err code,
                          const char *sentence);

/* While a call waits on one of the two, calls under way on the other move too,
 * and an error of either is one of both: for a thread that has several
 * communicators, in which ranks wait for each other crosswise. Either may be
 * destroyed first. GW_EINVAL: more than 8 for one communicator. */
GW_API GW_MUST_CHECK enum gw_err gw_comm_beside(struct gw_comm *comm,
                                                struct gw_comm *other);

/* What this rank sent to and received from `peer`: the numbers that
 * gw_plan_price_rank predicts. Slices are counted as the wire takes them and
 * hands them over. In windows of shared memory the rank that loads or stores
 * counts the bytes of the loops that it has run; its peer, which does nothing
 * and sees nothing, counts the same transfer by the plan. So of each transfer one of
 * bytes_sent at its source and bytes_received at its end is measured, and the
 * two are equal. Windows have no messages: those are the plan's. */
struct gw_counters {
    uint64_t messages_sent, messages_received;
    uint64_t bytes_sent, bytes_received;
};
GW_API void gw_comm_counters(const struct gw_comm *comm, unsigned peer,
                             struct gw_counters *counters);
GW_API void gw_comm_counters_reset(struct gw_comm *comm);

/* ---- calls ---- */

/* As `in`: the input already lies where it belongs in `out` (all-gather,
 * gather: this rank's block; reduce-scatter, scatter at the root: see
 * gradwire-coll(3)). */
#define GW_IN_PLACE ((const void *)-1)

/* One collective call. `count` is in elements: of the whole buffer for
 * broadcast, reduce and all-reduce; of one block for gather, scatter,
 * all-gather, reduce-scatter and all-to-all. Broadcast: the root's data is in
 * `in` (or in `out` with GW_IN_PLACE), the others' `in` is ignored.
 *
 * The v-variants: `counts`/`displs` hold `ranks` entries, in elements, and are
 * the same on every rank for gatherv, scatterv and allgatherv. For alltoallv
 * they describe what this rank sends, `recv_counts`/`recv_displs` what it
 * receives. displs NULL: blocks lie one after the other. */
struct gw_call {
    enum gw_collective collective;
    const void *in;
    void *out;
    size_t count;
    enum gw_dtype type;
    enum gw_redop op;
    unsigned root;
    const size_t *counts, *displs;
    const size_t *recv_counts, *recv_displs;
    const char *algo;           /* NULL: choose; see gw_choose */
    unsigned segments, group;   /* for the algorithm; 0: default */
    const struct gw_plan *plan; /* run this plan instead; borrowed */
};

struct gw_request;

/* Checks the call and begins it. Buffers belong to the call until the request
 * is done. Several may be under way; they end in any order. */
GW_API GW_MUST_CHECK enum gw_err gw_start(struct gw_comm *comm,
                                          const struct gw_call *call,
                                          struct gw_request **request);
/* Makes progress. GW_OK: done, *request is freed and NULL. GW_PENDING: under
 * way. Anything else: failed, *request is freed; see gw_comm_error. */
GW_API GW_MUST_CHECK enum gw_err gw_test(struct gw_request **request);
GW_API GW_MUST_CHECK enum gw_err gw_wait(struct gw_request **request);
/* Waits for all; NULL entries are skipped. The first error is returned. */
GW_API GW_MUST_CHECK enum gw_err gw_wait_all(size_t count,
                                             struct gw_request **requests);
/* gw_start and gw_wait. */
GW_API GW_MUST_CHECK enum gw_err gw_run(struct gw_comm *comm,
                                        const struct gw_call *call);

GW_API GW_MUST_CHECK enum gw_err gw_broadcast(struct gw_comm *comm,
                                              const void *in, void *out,
                                              size_t count, enum gw_dtype type,
                                              unsigned root);
GW_API GW_MUST_CHECK enum gw_err gw_reduce(struct gw_comm *comm, const void *in,
                                           void *out, size_t count,
                                           enum gw_dtype type, enum gw_redop op,
                                           unsigned root);
GW_API GW_MUST_CHECK enum gw_err gw_allreduce(struct gw_comm *comm,
                                              const void *in, void *out,
                                              size_t count, enum gw_dtype type,
                                              enum gw_redop op);
GW_API GW_MUST_CHECK enum gw_err gw_gather(struct gw_comm *comm, const void *in,
                                           void *out, size_t count,
                                           enum gw_dtype type, unsigned root);
GW_API GW_MUST_CHECK enum gw_err gw_scatter(struct gw_comm *comm,
                                            const void *in, void *out,
                                            size_t count, enum gw_dtype type,
                                            unsigned root);
GW_API GW_MUST_CHECK enum gw_err gw_allgather(struct gw_comm *comm,
                                              const void *in, void *out,
                                              size_t count, enum gw_dtype type);
GW_API GW_MUST_CHECK enum gw_err
gw_reduce_scatter(struct gw_comm *comm, const void *in, void *out, size_t count,
                  enum gw_dtype type, enum gw_redop op);
GW_API GW_MUST_CHECK enum gw_err gw_alltoall(struct gw_comm *comm,
                                             const void *in, void *out,
                                             size_t count, enum gw_dtype type);
GW_API GW_MUST_CHECK enum gw_err gw_barrier(struct gw_comm *comm);
GW_API GW_MUST_CHECK enum gw_err gw_gatherv(struct gw_comm *comm,
                                            const void *in, void *out,
                                            const size_t *counts,
                                            const size_t *displs,
                                            enum gw_dtype type, unsigned root);
GW_API GW_MUST_CHECK enum gw_err
gw_scatterv(struct gw_comm *comm, const void *in, const size_t *counts,
            const size_t *displs, void *out, enum gw_dtype type, unsigned root);
GW_API GW_MUST_CHECK enum gw_err
gw_allgatherv(struct gw_comm *comm, const void *in, void *out,
              const size_t *counts, const size_t *displs, enum gw_dtype type);
GW_API GW_MUST_CHECK enum gw_err
gw_alltoallv(struct gw_comm *comm, const void *in, const size_t *counts,
             const size_t *displs, void *out, const size_t *recv_counts,
             const size_t *recv_displs, enum gw_dtype type);

/* Point to point. A send is matched by the peer's next recv from this rank;
 * counts and types must agree. Ordered with the collectives of the pair. */
GW_API GW_MUST_CHECK enum gw_err
gw_send_start(struct gw_comm *comm, const void *data, size_t count,
              enum gw_dtype type, unsigned peer, struct gw_request **request);
GW_API GW_MUST_CHECK enum gw_err gw_recv_start(struct gw_comm *comm, void *data,
                                               size_t count, enum gw_dtype type,
                                               unsigned peer,
                                               struct gw_request **request);
GW_API GW_MUST_CHECK enum gw_err gw_send(struct gw_comm *comm, const void *data,
                                         size_t count, enum gw_dtype type,
                                         unsigned peer);
GW_API GW_MUST_CHECK enum gw_err gw_recv(struct gw_comm *comm, void *data,
                                         size_t count, enum gw_dtype type,
                                         unsigned peer);

/* ---- choosing an algorithm ---- */

enum { GW_FIGURES_MAX = 40 };

/* What calibration measures, a wire each (kept as JSON, gradwire-rules(5)). */
struct gw_wire_costs {
    struct gw_cost_model model; /* a message of the wire */
    double sync_us;             /* shm: entering and leaving a window pass */
    double memory_us_per_byte;  /* one core, read or write, from memory */
    double cached_us_per_byte;  /* the same while it fits the caches */
    double cores;               /* that share the work */
    /* What each line of a call's bill costs among so many ranks (gw_figure_name
     * names them); 0 ranks: not known, predictions rest on the above. */
    unsigned fitted_ranks;
    double figures[GW_FIGURES_MAX];
};

/* "turn_us", and what it is, in a few words; NULL beyond the last. */
GW_API const char *gw_figure_name(unsigned figure, const char **what);

/* The costs in force for `wire`: measured ones when the calibration file can
 * be read ($GRADWIRE_CALIBRATION, else $XDG_CACHE_HOME/gradwire/costs.json),
 * else built-in ones; *measured says which. */
GW_API void gw_costs(const char *wire, struct gw_wire_costs *costs,
                     bool *measured);
/* The same with the figures for so many ranks: those that were measured, or
 * those of the nearest numbers of ranks. */
GW_API void gw_costs_among(const char *wire, unsigned ranks,
                           struct gw_wire_costs *costs, bool *measured);
/* Collective: measures alpha, beta, gamma and memory bandwidth over this
 * communicator, then runs all algorithms at a few sizes and fits the figures to
 * their times; the same numbers on every rank. */
GW_API GW_MUST_CHECK enum gw_err gw_calibrate(struct gw_comm *comm,
                                              struct gw_wire_costs *costs);
/* The same in pieces, for who measures something else in between, so that both
 * meet the same machine: begin measures alpha to memory; a round runs all
 * algorithms at the sizes once, smallest first, as a whole (part 0 of 1) or in
 * so many parts, one after another; the end fits to the medians of the rounds,
 * of which the first 25 count. All three are collective. Destroy after a
 * failure, too; NULL is fine. */
struct gw_calibration;
GW_API GW_MUST_CHECK enum gw_err
gw_calibration_begin(struct gw_comm *comm, struct gw_calibration **calibration);
GW_API GW_MUST_CHECK enum gw_err
gw_calibration_round(struct gw_calibration *calibration, unsigned part,
                     unsigned parts);
GW_API GW_MUST_CHECK enum gw_err
gw_calibration_end(struct gw_calibration *calibration,
                   struct gw_wire_costs *costs);
GW_API void gw_calibration_destroy(struct gw_calibration **calibration);
/* Puts the costs of `wire` into the calibration file, the figures beside those
 * of other numbers of ranks. */
GW_API GW_MUST_CHECK enum gw_err
gw_costs_store(const char *wire, const struct gw_wire_costs *costs,
               struct gw_error *why);

struct gw_candidate {
    const struct gw_algo *algo;
    double predicted_us;
};
/* Predicts every algorithm that is valid for the call, cheapest first, but
 * baselines last, and before all the one that a rule of the calibration file
 * names; fills
 * out[0..capacity) and returns how many there are. out[0] is what a call with
 * algo == NULL runs. */
GW_API size_t gw_choose(const char *wire, enum gw_collective collective,
                        unsigned ranks, size_t count, size_t elem_bytes,
                        struct gw_candidate *out, size_t capacity);

/* What `algo` would take at these costs instead, which are those of so many
 * ranks; negative when it does not serve, or memory is short. */
GW_API double gw_predict_us(const char *wire, const struct gw_wire_costs *costs,
                            const struct gw_algo *algo, unsigned ranks,
                            size_t count, size_t elem_bytes);

/* One line of a bill: so much of something at so much each. */
struct gw_bill_line {
    unsigned figure; /* of gw_figure_name */
    double amount, us;
};
/* Why `algo` is predicted to take what it is: fills lines[0..GW_FIGURES_MAX)
 * and returns how many there are; 0 when no figures are known, or memory is
 * short. Their sum is predicted_us. */
GW_API size_t gw_bill(const char *wire, const struct gw_algo *algo,
                      unsigned ranks, size_t count, size_t elem_bytes,
                      struct gw_bill_line *lines);

/* What `collrun tune` found: from `from_bytes` to `to_bytes` of a rank's whole
 * buffer (all blocks of it; 0 for a barrier) `algo` is faster than the one
 * predicted to be the fastest. Measured at `bytes`: `us` against `instead_us`
 * of `instead`. */
struct gw_rule {
    enum gw_collective collective;
    unsigned ranks;
    uint64_t from_bytes, to_bytes;
    const struct gw_algo *algo;
    uint64_t bytes;
    double us, instead_us;         /* 0: the file does not say */
    const struct gw_algo *instead; /* NULL: likewise */
    char date[24];                 /* of the tuning; "" likewise */
};
/* Where rules come from. */
struct gw_tuning {
    char date[24]; /* names it: "2026-11-22T04:30:00Z" */
    char cpu[80];  /* the model */
    char versions[80];
    unsigned cores, runs; /* runs: least of any algorithm at any size */
    uint64_t seed;
};
/* The rule in force for a call of a communicator that begins now; false: none,
 * the prediction decides. */
GW_API bool gw_rule_find(const char *wire, enum gw_collective collective,
                         unsigned ranks, size_t count, size_t elem_bytes,
                         struct gw_rule *rule);
/* Puts rules of `wire` into the calibration file, instead of what it says of
 * the same collectives, ranks and sizes; a rule without `algo` only takes the
 * old ones away. On failure the file is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_rules_store(const char *wire, const struct gw_tuning *tuning,
               const struct gw_rule *rules, size_t count, struct gw_error *why);

/* The least time the collective can take on `wire` under the costs in force:
 * gw_bound_us, and on shm the memory traffic of loading each input once and
 * storing each output once, spread over the cores. */
GW_API double gw_wire_bound_us(const char *wire, enum gw_collective collective,
                               unsigned ranks, size_t count, size_t elem_bytes);

/* ---- kernels ---- */

enum { GW_SOURCES_MAX = 64, GW_DESTS_MAX = 64 };

/* The one data-path loop: folds `source_count` arrays of `count` elements, in
 * the order given, and stores the result into `dest_count` arrays. A source may
 * be a destination (same start) but must not overlap one otherwise. avg: when
 * `scale_ranks` > 1 the result is divided by it, once; else avg adds like sum.
 * `stream`: store past the caches. With one source it copies. Any alignment.
 *
 * The same bits on every CPU: f16 and bf16 are folded in f32 and rounded once;
 * a NaN result (but of a copy) is always the same quiet NaN; min and max of
 * floats are NaN if either is, and -0 < +0. Nothing happens when the type does
 * not allow the op or there are too many sources or destinations. */
struct gw_fold {
    const void *const *sources;
    void *const *dests;
    unsigned source_count, dest_count;
    size_t count;
    enum gw_dtype type;
    enum gw_redop op;
    unsigned scale_ranks;
    bool stream;
};
GW_API void gw_fold(const struct gw_fold *fold);
/* "avx512", "avx2", "neon", "scalar": what gw_fold runs on this CPU;
 * $GRADWIRE_CPU forces a lower one. */
GW_API const char *gw_fold_isa(void);

#ifdef __cplusplus
}
#endif
#endif
