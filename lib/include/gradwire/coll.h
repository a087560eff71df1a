/* SPDX-License-Identifier: MIT
 *
 * Communicators and collectives. A communicator is a group of ranks joined by
 * one wire. All its ranks start the same calls in the same order.
 *
 * A call that differs between ranks, a lost peer or a timeout is an error on
 * every rank, at most one second later. The sentence names the rank, the op,
 * the chunk and the peer that it waits for. After an error the communicator
 * refuses further calls. Input buffers are never written, except with
 * GW_IN_PLACE.
 *
 * A communicator is used by one thread at a time. Calls make the progress.
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

/* Logical and bitwise reductions are for integers. avg is sum / ranks; integers
 * truncate toward zero, after the sum has wrapped. f16 and bf16 accumulate in
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

/* Returns the bytes of one element. */
GW_API size_t gw_dtype_size(enum gw_dtype type);
/* Returns the name of a type: "f32". */
GW_API const char *gw_dtype_name(enum gw_dtype type);
/* Returns the name of a reduction: "sum". */
GW_API const char *gw_redop_name(enum gw_redop op);
/* Finds the type of a name. GW_EINVAL: an unknown name; *type is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_dtype_parse(const char *name, enum gw_dtype *type, struct gw_error *why);
/* Finds the reduction of a name. GW_EINVAL: unknown; *op is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_redop_parse(const char *name, enum gw_redop *op, struct gw_error *why);
/* Returns whether the type allows the reduction: false for land, lor, band and
 * bor on f16, bf16, f32 and f64. */
GW_API bool gw_redop_allowed(enum gw_redop op, enum gw_dtype type);

/* ---- communicators ---- */

struct gw_comm;

/* Creates a communicator: connects this process with the other ranks of
 * *config. All ranks must call it. The caller frees *comm with gw_comm_destroy.
 * On failure *comm is NULL. GW_EINVAL: the configuration is wrong; GW_EUNREACH:
 * some ranks are missing, and the sentence names them. */
GW_API GW_MUST_CHECK enum gw_err
gw_comm_create(const struct gw_comm_config *config, struct gw_comm **comm,
               struct gw_error *why);
/* Splits a communicator; a collective call. Ranks with the same `color` form a
 * new communicator, ordered by `key`, then by rank. A rank with a negative
 * color takes part and receives NULL. gw_comm_destroy frees *sub. */
GW_API GW_MUST_CHECK enum gw_err gw_comm_split(struct gw_comm *comm, int color,
                                               int key, struct gw_comm **sub,
                                               struct gw_error *why);
/* Closes the communicator, notifies its peers and frees it. Its unfinished
 * requests become invalid. Waits for live peers that must still read data of
 * this rank, at most as long as a call without progress; not after an error. */
GW_API void gw_comm_destroy(struct gw_comm **comm);

/* Returns the rank of this process. */
GW_API unsigned gw_comm_rank(const struct gw_comm *comm);
/* Returns the number of ranks. */
GW_API unsigned gw_comm_size(const struct gw_comm *comm);
/* Returns the name of the wire: "shm". */
GW_API const char *gw_comm_wire(const struct gw_comm *comm);
/* Returns the last error of this communicator, with its sentence. It is valid
 * until gw_comm_destroy. */
GW_API const struct gw_error *gw_comm_error(const struct gw_comm *comm);
/* Marks the communicator as failed on every rank: all waits end with `code`. */
GW_API void gw_comm_abort(struct gw_comm *comm, enum gw_err code,
                          const char *sentence);

/* Makes two communicators progress together: while a call waits on one of them,
 * calls in progress on the other advance too, and an error of one is an error
 * of both. It is needed when one thread has several communicators, in which
 * ranks wait for each other in different orders. Either may be destroyed first.
 * GW_EINVAL: `other` is `comm`, or one of them already has 8 others. */
GW_API GW_MUST_CHECK enum gw_err gw_comm_progress_with(struct gw_comm *comm,
                                                       struct gw_comm *other);

/* The traffic between this rank and one peer, which gw_plan_price_rank
 * predicts. Slices are counted when the wire accepts or delivers them. In
 * windows of shared memory the rank that loads or stores counts the bytes that
 * it has moved; its peer is passive and counts the same transfer by the plan.
 * So for each transfer either bytes_sent at its source or bytes_received at its
 * destination is measured, and the two are equal. Windows have no messages:
 * those counts come from the plan. */
struct gw_counters {
    uint64_t messages_sent, messages_received;
    uint64_t bytes_sent, bytes_received;
};
/* Reads the counters for one peer. */
GW_API void gw_comm_counters(const struct gw_comm *comm, unsigned peer,
                             struct gw_counters *counters);
/* Sets all counters to 0. */
GW_API void gw_comm_counters_reset(struct gw_comm *comm);

/* ---- calls ---- */

/* As `in`: the input is already in `out`; gradwire-coll(3) has the places. */
#define GW_IN_PLACE ((const void *)-1)

/* One collective call. `count` is in elements: of the whole buffer for
 * broadcast, reduce, all-reduce and scans; of one block for gather, scatter,
 * all-gather, reduce-scatter and all-to-all. In a broadcast the root's data is
 * in `in` (in `out` with GW_IN_PLACE), and `in` of the other ranks is ignored.
 *
 * The v-variants: `counts` and `displs` hold one entry per rank, in elements.
 * They are the same on every rank for gatherv, scatterv and allgatherv. For
 * alltoallv they describe the blocks that this rank sends; `recv_counts` and
 * `recv_displs` describe the blocks that it receives. With displs NULL the
 * blocks follow each other without gaps. */
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
    const char *algo;         /* NULL: the first one of gw_choose */
    unsigned segments, group; /* of the algorithm; 0: its default */
    /* A plan to run instead; the caller keeps it until the call is done. */
    const struct gw_plan *plan;
};

struct gw_request;

/* Checks a call and starts it. The buffers belong to the call until the request
 * is done. Several calls may be in progress; they end in any order. GW_EINVAL:
 * the call is wrong (unknown algorithm, no such root, overlapping buffers, a
 * reduction that the type does not allow), which is an error on every rank. */
GW_API GW_MUST_CHECK enum gw_err gw_start(struct gw_comm *comm,
                                          const struct gw_call *call,
                                          struct gw_request **request);
/* Makes progress. GW_OK: the call is done, *request is freed and NULL.
 * GW_PENDING: it is in progress. Any other result: it failed, *request is freed
 * and NULL; see gw_comm_error. */
GW_API GW_MUST_CHECK enum gw_err gw_test(struct gw_request **request);
/* Waits until a call is done. Results as in gw_test, without GW_PENDING. */
GW_API GW_MUST_CHECK enum gw_err gw_wait(struct gw_request **request);
/* Waits for `count` calls, without NULL entries; returns the first error. */
GW_API GW_MUST_CHECK enum gw_err gw_wait_all(size_t count,
                                             struct gw_request **requests);
/* Runs a call: gw_start and gw_wait. */
GW_API GW_MUST_CHECK enum gw_err gw_run(struct gw_comm *comm,
                                        const struct gw_call *call);

/* Each of these functions runs one collective by gw_run; struct gw_call
 * describes the arguments, gradwire-coll(3) the sizes of the buffers. */

/* Copies `count` elements of the root to all ranks. */
GW_API GW_MUST_CHECK enum gw_err gw_broadcast(struct gw_comm *comm,
                                              const void *in, void *out,
                                              size_t count, enum gw_dtype type,
                                              unsigned root);
/* Reduces `count` elements of all ranks to the root. */
GW_API GW_MUST_CHECK enum gw_err gw_reduce(struct gw_comm *comm, const void *in,
                                           void *out, size_t count,
                                           enum gw_dtype type, enum gw_redop op,
                                           unsigned root);
/* Reduces `count` elements of all ranks to all ranks. */
GW_API GW_MUST_CHECK enum gw_err gw_allreduce(struct gw_comm *comm,
                                              const void *in, void *out,
                                              size_t count, enum gw_dtype type,
                                              enum gw_redop op);
/* Collects one block of `count` elements from each rank at the root. */
GW_API GW_MUST_CHECK enum gw_err gw_gather(struct gw_comm *comm, const void *in,
                                           void *out, size_t count,
                                           enum gw_dtype type, unsigned root);
/* Sends one block of `count` elements from the root to each rank. */
GW_API GW_MUST_CHECK enum gw_err gw_scatter(struct gw_comm *comm,
                                            const void *in, void *out,
                                            size_t count, enum gw_dtype type,
                                            unsigned root);
/* Collects one block of `count` elements from each rank at all ranks. */
GW_API GW_MUST_CHECK enum gw_err gw_allgather(struct gw_comm *comm,
                                              const void *in, void *out,
                                              size_t count, enum gw_dtype type);
/* Reduces one block of `count` elements for each rank to that rank. */
GW_API GW_MUST_CHECK enum gw_err
gw_reduce_scatter(struct gw_comm *comm, const void *in, void *out, size_t count,
                  enum gw_dtype type, enum gw_redop op);
/* Sends one block of `count` elements from each rank to each rank. */
GW_API GW_MUST_CHECK enum gw_err gw_alltoall(struct gw_comm *comm,
                                             const void *in, void *out,
                                             size_t count, enum gw_dtype type);
/* Returns when all ranks have called it. */
GW_API GW_MUST_CHECK enum gw_err gw_barrier(struct gw_comm *comm);
/* Collects blocks of different lengths at the root, as gw_gather. */
GW_API GW_MUST_CHECK enum gw_err gw_gatherv(struct gw_comm *comm,
                                            const void *in, void *out,
                                            const size_t *counts,
                                            const size_t *displs,
                                            enum gw_dtype type, unsigned root);
/* Sends blocks of different lengths from the root, as gw_scatter. */
GW_API GW_MUST_CHECK enum gw_err
gw_scatterv(struct gw_comm *comm, const void *in, const size_t *counts,
            const size_t *displs, void *out, enum gw_dtype type, unsigned root);
/* Collects blocks of different lengths at all ranks, as gw_allgather. */
GW_API GW_MUST_CHECK enum gw_err
gw_allgatherv(struct gw_comm *comm, const void *in, void *out,
              const size_t *counts, const size_t *displs, enum gw_dtype type);
/* Sends blocks of different lengths to each rank, as gw_alltoall. */
GW_API GW_MUST_CHECK enum gw_err
gw_alltoallv(struct gw_comm *comm, const void *in, const size_t *counts,
             const size_t *displs, void *out, const size_t *recv_counts,
             const size_t *recv_displs, enum gw_dtype type);

/* ---- point to point: a send is matched by the peer's next receive from this
 * rank, with equal counts and types, in order with the collectives ---- */

/* Starts a send of `count` elements, which must not change until it is done. */
GW_API GW_MUST_CHECK enum gw_err
gw_send_start(struct gw_comm *comm, const void *data, size_t count,
              enum gw_dtype type, unsigned peer, struct gw_request **request);
/* Starts a receive of `count` elements from `peer`, likewise. */
GW_API GW_MUST_CHECK enum gw_err gw_recv_start(struct gw_comm *comm, void *data,
                                               size_t count, enum gw_dtype type,
                                               unsigned peer,
                                               struct gw_request **request);
/* Sends `count` elements to `peer` and waits. */
GW_API GW_MUST_CHECK enum gw_err gw_send(struct gw_comm *comm, const void *data,
                                         size_t count, enum gw_dtype type,
                                         unsigned peer);
/* Receives `count` elements from `peer` and waits. */
GW_API GW_MUST_CHECK enum gw_err gw_recv(struct gw_comm *comm, void *data,
                                         size_t count, enum gw_dtype type,
                                         unsigned peer);

/* ---- choosing an algorithm ---- */

enum { GW_COEFFICIENTS_MAX = 40 };

/* The measured costs of a wire; gradwire-tuning(5) describes the file. */
struct gw_wire_costs {
    struct gw_cost_model model; /* a message of the wire */
    double sync_us;             /* shm: begin and end of a window pass */
    double memory_us_per_byte;  /* one core, read or write, from memory */
    double cached_us_per_byte;  /* the same from the caches */
    double cores;               /* that share the work */
    /* The coefficients of the cost model for `fitted_ranks` ranks, by the
     * numbers of gw_coefficient_name. fitted_ranks 0: not measured, predictions
     * use the costs above. */
    unsigned fitted_ranks;
    double coefficients[GW_COEFFICIENTS_MAX];
};

/* Returns the name of a coefficient ("turn_us") and sets *what (may be NULL) to
 * a short description. Returns NULL beyond the last one. */
GW_API const char *gw_coefficient_name(unsigned figure, const char **what);

/* Reads the costs in use for `wire`: those of the calibration file if it can be
 * read ($GRADWIRE_CALIBRATION, else $XDG_CACHE_HOME/gradwire/costs.json),
 * otherwise built-in ones. *measured is true for those of the file. */
GW_API void gw_costs(const char *wire, struct gw_wire_costs *costs,
                     bool *measured);
/* Reads the costs as gw_costs does, with the coefficients for `ranks` ranks:
 * the measured ones, or an estimate from the nearest numbers of ranks. */
GW_API void gw_costs_among(const char *wire, unsigned ranks,
                           struct gw_wire_costs *costs, bool *measured);
/* Measures the costs of the communicator's wire; a collective call. It measures
 * alpha, beta, gamma and the memory bandwidth, then runs all algorithms at a
 * few sizes and fits the coefficients to their times. All ranks receive the
 * same costs. */
GW_API GW_MUST_CHECK enum gw_err gw_calibrate(struct gw_comm *comm,
                                              struct gw_wire_costs *costs);
/* A calibration in parts, for a program that measures something else in
 * between. The functions begin, round and end are collective calls. */
struct gw_calibration;
/* Starts a calibration: measures alpha, beta, gamma and the memory bandwidth.
 * The caller frees it with gw_calibration_destroy, also after a failure. */
GW_API GW_MUST_CHECK enum gw_err
gw_calibration_begin(struct gw_comm *comm, struct gw_calibration **calibration);
/* Runs all algorithms once at a few sizes, smallest first: as a whole (part 0
 * of 1), or one of `parts` parts. The first 25 rounds count. */
GW_API GW_MUST_CHECK enum gw_err
gw_calibration_round(struct gw_calibration *calibration, unsigned part,
                     unsigned parts);
/* Fits the coefficients to the medians of the rounds. */
GW_API GW_MUST_CHECK enum gw_err
gw_calibration_end(struct gw_calibration *calibration,
                   struct gw_wire_costs *costs);
/* Frees a calibration; NULL is allowed. */
GW_API void gw_calibration_destroy(struct gw_calibration **calibration);
/* Writes the costs of `wire` to the file; those of other ranks stay. */
GW_API GW_MUST_CHECK enum gw_err
gw_costs_store(const char *wire, const struct gw_wire_costs *costs,
               struct gw_error *why);

/* An algorithm and its predicted time. */
struct gw_candidate {
    const struct gw_algo *algo;
    double predicted_us;
};
/* Predicts the time of each algorithm that is valid for a call and sorts them:
 * first the algorithm that a rule of the calibration file names, then by rising
 * time, then the baselines. out[0] is the algorithm of a call whose algo is
 * NULL. Fills out[0..capacity) and returns the number of all candidates. */
GW_API size_t gw_choose(const char *wire, enum gw_collective collective,
                        unsigned ranks, size_t count, size_t elem_bytes,
                        struct gw_candidate *out, size_t capacity);

/* Predicts the time of `algo` in microseconds under other costs, which are
 * those for `ranks` ranks. Negative: the algorithm is not valid for the call,
 * or out of memory. */
GW_API double gw_predict_us(const char *wire, const struct gw_wire_costs *costs,
                            const struct gw_algo *algo, unsigned ranks,
                            size_t count, size_t elem_bytes);

/* One line of a predicted time: an amount and its time. */
struct gw_cost_line {
    unsigned coefficient; /* of gw_coefficient_name */
    double amount, us;
};
/* Breaks a predicted time down: the times of the lines add up to predicted_us.
 * Fills lines[0..GW_COEFFICIENTS_MAX) and returns their number; 0: no
 * coefficients are known, or out of memory. */
GW_API size_t gw_cost_breakdown(const char *wire, const struct gw_algo *algo,
                                unsigned ranks, size_t count, size_t elem_bytes,
                                struct gw_cost_line *lines);

/* A rule of the calibration file, written by `collrun tune`: for a whole buffer
 * of `from_bytes` to `to_bytes` bytes per rank (all its blocks; 0 for a
 * barrier) `algo` is faster than `instead`, the algorithm with the shortest
 * predicted time. */
struct gw_tuning_rule {
    enum gw_collective collective;
    unsigned ranks;
    uint64_t from_bytes, to_bytes;
    const struct gw_algo *algo;
    uint64_t bytes;                /* size of the measurement */
    double us, instead_us;         /* measured times; 0: not in the file */
    const struct gw_algo *instead; /* NULL: not in the file */
    char date[24];                 /* of the tuning; "": not in the file */
};
/* The origin of rules. */
struct gw_tuning {
    char date[24]; /* its name: "2026-11-22T04:30:00Z" */
    char cpu[80];  /* the model */
    char versions[80];
    unsigned cores;
    unsigned runs; /* the fewest of any algorithm at any size */
    uint64_t seed;
};
/* Finds the rule for a call of a new communicator. False: there is no rule, the
 * prediction decides; *rule is then undefined. */
GW_API bool gw_tuning_rule_find(const char *wire, enum gw_collective collective,
                                unsigned ranks, size_t count, size_t elem_bytes,
                                struct gw_tuning_rule *rule);
/* Writes rules of `wire` to the calibration file. They replace its rules for
 * the same collectives, ranks and sizes. A rule without `algo` only removes
 * those. On failure the file is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_tuning_rules_store(const char *wire, const struct gw_tuning *tuning,
                      const struct gw_tuning_rule *rules, size_t count,
                      struct gw_error *why);

/* Returns the lower bound of a collective's time on `wire` under the costs in
 * use, in microseconds: gw_bound_us; on shm the memory traffic of loading each
 * input once and storing each output once, spread over the cores. */
GW_API double gw_wire_bound_us(const char *wire, enum gw_collective collective,
                               unsigned ranks, size_t count, size_t elem_bytes);

/* ---- kernels ---- */

enum { GW_SOURCES_MAX = 64, GW_DESTS_MAX = 64 };

/* The arguments of the reduction kernel. `count` is in elements; sources and
 * destinations may have any alignment. A source may be a destination (same
 * start) but must not overlap one otherwise. */
struct gw_reduce_local {
    const void *const *sources;
    void *const *dests;
    unsigned source_count, dest_count;
    size_t count;
    enum gw_dtype type;
    enum gw_redop op;
    /* avg: above 1 the result is divided by it, once; otherwise avg adds
     * like sum. */
    unsigned scale_ranks;
    bool stream; /* store past the caches */
};
/* Reduces `source_count` arrays in the order given and stores the result into
 * `dest_count` arrays. All reductions of the data path use it. With one source
 * it copies, whatever the operation.
 *
 * The result has the same bits on every CPU: f16 and bf16 are reduced in f32
 * and rounded once. A NaN result (except of a copy) is always the same quiet
 * NaN. min and max of floats are NaN if either is, and -0 < +0. Nothing happens
 * if the type does not allow the reduction, or with too many sources or
 * destinations. */
GW_API void gw_reduce_local(const struct gw_reduce_local *reduce);
/* Returns the instruction set of gw_reduce_local on this CPU: "avx512", "avx2",
 * "neon" or "scalar". $GRADWIRE_CPU forces a lower one. */
GW_API const char *gw_reduce_isa(void);

#ifdef __cplusplus
}
#endif
#endif
