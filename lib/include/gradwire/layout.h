/* SPDX-License-Identifier: MIT
 *
 * How a network lies on a mesh of ranks. A network is a chain of operators, some
 * of which add what an earlier one yields; a mesh has three axes, D x T x P:
 *
 *   data    D   each has its share of the rows of a batch; parameters and
 *               optimiser state are replicated or sharded along it
 *   tensor  T   an operator is split: by columns, by rows, or by batch
 *   pipe    P   a stage each
 *
 * The rank of coordinates (d, t, p) is (p * D + d) * T + t: those that speak
 * most are neighbours.
 *
 * Along the tensor axis an activation (and its gradient) lies in one of four
 * ways, enum gw_sharding. An operator takes one and yields one. Where what it
 * takes is not what the one before yields, the collective that converts it is
 * inserted; so it is backward, with the gradients. One table says all of it:
 *
 *     from \ to   replicated   by row          by feature
 *     replicated  -            slice           slice
 *     by row      all-gather   -               all-to-all
 *     by feature  all-gather   all-to-all      -
 *     partial     all-reduce   reduce-scatter  reduce-scatter
 *
 * (Megatron-LM's column-parallel and row-parallel layers, Shoeybi et al. 2019,
 * fall out of it: R -> columns -> by feature -> rows -> partial -> R.)
 *
 * Everything on this page is pure: shapes, counts and bytes. What runs a layout
 * is gradwire/parallel.h.
 */
#ifndef GRADWIRE_LAYOUT_H
#define GRADWIRE_LAYOUT_H

#include <gradwire/base.h>
#include <gradwire/plan.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- networks ---- */

enum gw_operator_kind {
    GW_OP_EMBEDDING, /* rows of a table, added up with the row's values: takes
                        sparse input; only as the first operator */
    GW_OP_DENSE,     /* x W + b */
    GW_OP_RELU,      /* element by element */
    GW_OP_TANH,
    GW_OP_CONV,    /* of images, stride 1, as large as what comes in */
    GW_OP_MAXPOOL, /* the largest of each window of each channel */
    GW_OP_FLATTEN, /* an image as features */
    GW_OP_ADD,     /* and what an earlier operator yields: a residual branch */
    GW_OP_SOFTMAX  /* cross entropy of the softmax: the loss; the last one */
};

/* How an operator is split along the tensor axis. */
enum gw_split {
    GW_SPLIT_AUTO,    /* as the layout finds best; see gw_layout_new */
    GW_SPLIT_NONE,    /* every rank does all of it */
    GW_SPLIT_COLUMNS, /* the output features are shared out (dense, embedding),
                         the filters (conv) */
    GW_SPLIT_ROWS,    /* the input features are (dense), the input channels
                         (conv); the vocabulary is (embedding) */
    GW_SPLIT_BATCH    /* the rows of the micro-batch are */
};

enum {
    GW_OPERATORS_MAX = 256,
    GW_WIDTH_MAX = 1 << 20 /* features of a tensor */
};

/* A row as an image: feature (channel * height + y) * width + x. channels 0: it
 * is none. */
struct gw_image {
    unsigned channels, height, width;
};

struct gw_operator {
    enum gw_operator_kind kind;
    enum gw_split split;
    unsigned in, out; /* features of a row; softmax: in = classes, out = 0 */
    bool cut;         /* a stage begins here */
    unsigned line;    /* of the file */
    struct gw_image image_in,
        image_out; /* `in` and `out`, if they are images */
    unsigned kernel_height, kernel_width; /* conv, odd; maxpool: its window */
    unsigned source; /* add: the operator before it whose output is added */
    char name[16];   /* of what it yields, for `add`; or "" */
};

struct gw_network {
    char name[40];
    unsigned inputs;       /* features of a row */
    struct gw_image image; /* of a row, if it is one */
    unsigned classes;      /* what softmax takes */
    unsigned operator_count;
    struct gw_operator *operators;
};

/* "embedding", "dense", ...; "auto", "none", "columns", ... */
GW_API const char *gw_operator_name(enum gw_operator_kind kind);
GW_API const char *gw_split_name(enum gw_split split);
/* Parameters of the whole operator: weights and, of dense and conv, biases. */
GW_API size_t gw_operator_parameters(const struct gw_operator *op);

/* Multiplications that one row takes forward, and as many again for each of
 * the two gradients. Element-wise operators take none. */
GW_API uint64_t gw_operator_work(const struct gw_operator *op);

/* Text form (gradwire-network(5)). On failure the sentence begins
 * "NAME:LINE:COLUMN: ": words that are none, a network without a loss at its
 * end, a loss or an embedding in its middle, widths beyond the limit. */
GW_API GW_MUST_CHECK enum gw_err
gw_network_parse(const char *text, size_t bytes, const char *name,
                 struct gw_network **network, struct gw_error *why);
GW_API GW_MUST_CHECK enum gw_err gw_network_load(const char *path,
                                                 struct gw_network **network,
                                                 struct gw_error *why);
GW_API GW_MUST_CHECK enum gw_err
gw_network_print(const struct gw_network *network, FILE *file,
                 struct gw_error *why);
GW_API void gw_network_destroy(struct gw_network **network);
GW_API size_t gw_network_parameters(const struct gw_network *network);

/* ---- meshes ---- */

struct gw_mesh {
    unsigned data, tensor, pipe;
};

/* "2x2x1"; "4" is 4x1x1. GW_EINVAL with what it may be. */
GW_API GW_MUST_CHECK enum gw_err
gw_mesh_parse(const char *text, struct gw_mesh *mesh, struct gw_error *why);
static inline unsigned gw_mesh_size(const struct gw_mesh *mesh)
{
    return mesh->data * mesh->tensor * mesh->pipe;
}
static inline unsigned gw_mesh_rank(const struct gw_mesh *mesh, unsigned d,
                                    unsigned t, unsigned p)
{
    return (p * mesh->data + d) * mesh->tensor + t;
}

/* ---- layouts ---- */

/* How a tensor of rows x features lies along the tensor axis. */
enum gw_sharding {
    GW_REPLICATED, /* each has all of it */
    GW_BY_ROW,     /* each has its share of the rows, */
    GW_BY_FEATURE, /* of the features */
    GW_PARTIAL     /* each has a summand of it */
};

GW_API const char *gw_sharding_name(enum gw_sharding sharding);

/* How parameters, gradients and optimiser state lie along the data axis. */
enum gw_data_mode {
    GW_DATA_REPLICATED, /* as they are: gradients are all-reduced */
    GW_DATA_ZERO1,      /* the optimiser's state is sharded: gradients are
                           reduce-scattered, parameters all-gathered */
    GW_DATA_SHARDED     /* all are (FSDP, ZeRO-3): parameters are all-gathered
                           before each forward and each backward of an
                           operator and dropped after it, gradients reduce-
                           scattered once a step */
};

GW_API const char *gw_data_mode_name(enum gw_data_mode mode); /* "replicated",
                                                       "zero1", "sharded" */
GW_API GW_MUST_CHECK enum gw_err gw_data_mode_parse(const char *name,
                                                    enum gw_data_mode *mode,
                                                    struct gw_error *why);

struct gw_layout_options {
    struct gw_mesh mesh;
    enum gw_data_mode mode;
    unsigned shard_group; /* zero1, sharded: ranks of the data axis that share
                             one copy; the groups are replicas of each other
                             (HSDP). 0: all of them */
    unsigned batch;       /* rows a step, all ranks together */
    unsigned micros;      /* micro-batches a step; 0: 1 */
    unsigned chunks;      /* pieces of the network a stage holds; 0: 1 */
    unsigned optimiser_words; /* f32 a parameter: 1 momentum, 2 Adam, 0 SGD */
};

/* One change of sharding. `needed` false: they are the same. `collective` is
 * GW_COLLECTIVES for a slice, which moves nothing. */
struct gw_conversion {
    bool needed;
    enum gw_sharding from, to;
    enum gw_collective collective;
    uint64_t bytes; /* sent by a rank, a micro-batch: 2(T-1)/T S for
                       all-reduce, (T-1)/T S for the others, S the bytes of the
                       whole tensor (all-to-all: of what the rank holds, that
                       is S/T) */
};

/* What becomes of one operator. */
struct gw_placed {
    unsigned index; /* in the network */
    unsigned piece; /* virtual stage: chunk * P + stage (gradwire/pipe.h) */
    enum gw_split split;                /* never AUTO */
    enum gw_sharding in, out;           /* forward: what it takes and yields */
    enum gw_sharding grad_out, grad_in; /* backward: likewise */
    unsigned local_in, local_out; /* of its weights on one rank. Biases of a
                                     dense by rows are on all ranks, and added
                                     by rank 0 of the axis */
    size_t parameters;            /* of the whole operator */
    size_t parameters_local;      /* after the split, before sharding along D */
    bool weights_partial; /* weight gradients are summands along T, too: the
                             padded array is all-reduced there once a step */
    /* forward: before the operator; backward: of its input's gradient, after
     * it (never for the first operator: nobody wants that gradient). Between
     * stages a conversion is made before sending, by the stage that yields. */
    struct gw_conversion forward, backward;
};

struct gw_layout {
    const struct gw_network *network; /* not owned */
    struct gw_layout_options options; /* with the defaults filled in */
    unsigned rows; /* of a micro-batch on one data coordinate */
    unsigned operator_count;
    struct gw_placed *placed;
    unsigned pieces;       /* P * chunks */
    unsigned *piece_begin; /* pieces + 1 entries: operators of a piece */
};

/* Cuts, splits and converts. With T = 1 every split is NONE. AUTO becomes: by
 * BATCH where the input lies by row; else dense and embedding by columns when
 * their input lies replicated or partial, by rows when it lies by feature;
 * element-wise operators as their input lies (COLUMNS: by feature); add as what
 * it adds lies; softmax NONE. A conv is like a dense, by channel. Pieces: where `stage` lines say so (there must be pieces - 1 of them;
 * one piece needs none and ignores them), else such that the largest piece has
 * as few multiplications as can be. No cut separates an add from its source.
 *
 * Options come back in layout->options with micros, chunks and shard_group
 * filled in (replicated: 1).
 *
 * GW_EINVAL, with the operator and its line: the mesh has fewer operators than
 * pieces; a width or the channels of an image do not divide by T; an add's
 * source is partial, or a cut separates them; the batch does not divide by D x
 * micros (x T, with rows split by batch); a shard group does not divide D; a
 * split that the operator does not take; what an operator takes is not what the
 * one before yields. */
GW_API GW_MUST_CHECK enum gw_err
gw_layout_new(const struct gw_network *network,
              const struct gw_layout_options *options,
              struct gw_layout **layout, struct gw_error *why);
GW_API void gw_layout_destroy(struct gw_layout **layout);

/* What one step moves and what a rank holds, by formula; bytes are those that
 * the rank sends, of f32. Ranks of one stage are alike. */
struct gw_layout_price {
    uint64_t tensor_forward_bytes, tensor_backward_bytes; /* conversions */
    uint64_t tensor_weight_bytes; /* gradients of weights that T ranks share */
    uint64_t data_bytes;          /* gradients and parameters along D */
    uint64_t pipe_bytes;          /* activations and gradients between stages */
    unsigned tensor_collectives;  /* a micro-batch: forward and backward */
    uint64_t parameter_bytes;     /* held between steps */
    uint64_t gradient_bytes;      /* sharded: of the blocks; while it adds up,
                                     an operator's gradient is whole */
    uint64_t optimiser_bytes;
    uint64_t gathered_bytes; /* the most that is gathered at once */
};
GW_API void gw_layout_price(const struct gw_layout *layout, unsigned stage,
                            struct gw_layout_price *price);

/* What a rank keeps of one micro-batch between its forward and its backward
 * pass through a piece: inputs where they were converted, outputs, and the
 * gradients of those. */
GW_API uint64_t gw_layout_activation_bytes(const struct gw_layout *layout,
                                           unsigned piece);

/* The parameters of an operator on a rank (parameters_local) as one flat array,
 * cut along the data axis: each of shard_group ranks has so many elements. The
 * array is padded at its end with zeros to a multiple of D x T, in every mode,
 * so that every cut is even; replicated, the block is all of it. */
GW_API size_t gw_layout_block(const struct gw_layout *layout,
                              size_t parameters);

/* ---- a layout in time ---- */

struct gw_topology; /* gradwire/topology.h */
struct gw_schedule; /* gradwire/pipe.h */

/* How the ranks of a mesh follow each other on a topology. A run has a third
 * order, gw_mesh_rank; with one stage it is GW_MESH_MODEL. */
enum gw_mesh_order {
    GW_MESH_MODEL, /* (d P + p) T + t: all slices of one model together */
    GW_MESH_DATA   /* (p T + t) D + d: all copies of one slice together */
};
GW_API const char *gw_mesh_order_name(enum gw_mesh_order order); /* "model",
                                                                    "data" */
GW_API unsigned gw_mesh_position(const struct gw_mesh *mesh,
                                 enum gw_mesh_order order, unsigned d,
                                 unsigned t, unsigned p);

/* The most bytes of activations that a rank of `stage` keeps at once in a step
 * of this schedule, which has the layout's stages, micros and chunks. */
GW_API uint64_t gw_layout_peak_bytes(const struct gw_layout *layout,
                                     const struct gw_schedule *schedule,
                                     unsigned stage);

struct gw_layout_costs {
    double work_per_us; /* multiplications of a rank; 0: they take no time */
    double message_us;  /* as of a gw_topology_job */
    double reduce_us_per_byte;
};

/* A collective that is inserted, or a message to another stage. */
struct gw_layout_call {
    const char *kind; /* "forward", "backward", "gather", "weights",
                          "gradients", "across", "parameters", "activation" or
                          "gradient" */
    const char *what; /* the collective, or "send" */
    const char *algo; /* the faster of two; "" of a message */
    char axis;        /* 'T', 'D' or 'P' */
    unsigned stage;   /* GW_NONE: all stages at once, at the step's end */
    unsigned index;   /* the operator that takes it, or whose parameters are
                         gathered; GW_NONE: of all operators */
    uint64_t bytes;   /* sent by a rank, one call; of all stages the mean */
    unsigned calls;   /* a step */
    double time_us;   /* of one call */
};

/* Of the stage that works longest: step = compute + tensor + data + idle. */
struct gw_layout_time {
    double step_us;
    double compute_us;
    double tensor_us; /* collectives along T */
    double data_us;   /* along D: gathered parameters, and the step's end */
    double idle_us;   /* it waits for other stages: bubble and messages */
    unsigned stage;
    uint64_t held_bytes; /* of the rank that holds most: parameters, gradients,
                            optimiser state, gathered parameters, activations */
    unsigned held_stage;
    unsigned call_count;
    struct gw_layout_call *calls;
    unsigned links;
    uint64_t *link_bytes; /* of each link of the topology, in a step */
};

/* Times layouts on a topology, whose first ranks are those of the mesh. It
 * remembers each collective that it has simulated, so that many layouts cost
 * little more than one. */
struct gw_layout_timer;
/* The topology must outlive the timer and keep its order. GW_EINVAL: costs
 * below zero. */
GW_API GW_MUST_CHECK enum gw_err
gw_layout_timer_new(const struct gw_topology *topology,
                    const struct gw_layout_costs *costs,
                    struct gw_layout_timer **timer, struct gw_error *why);
GW_API void gw_layout_timer_destroy(struct gw_layout_timer **timer);

/* One step in virtual time:
 *
 *   a collective   gw_topology_simulate: by a ring or by the algorithm with the
 *                  fewest rounds (all-to-all: pairwise or Bruck), whichever is
 *                  faster; those of a stage's ranks run at once and share links
 *   a pass         forward, gradient of the input and gradient of the weights
 *                  take a multiplication for each weight and row, and the
 *                  collectives along T (and gathers along D) that it needs
 *   the passes     gw_pipe_simulate; messages between stages overlap with work
 *   the end        when all passes are done, what is reduced or gathered once
 *                  a step, of all stages at once: as a run without overlap
 *
 * The collectives of different stages slow each other down only at the end.
 * GW_EINVAL: the topology has fewer ranks than the mesh, or the schedule is not
 * the layout's. */
GW_API GW_MUST_CHECK enum gw_err
gw_layout_simulate(struct gw_layout_timer *timer,
                   const struct gw_layout *layout,
                   const struct gw_schedule *schedule, enum gw_mesh_order order,
                   struct gw_layout_time **time, struct gw_error *why);
GW_API void gw_layout_time_destroy(struct gw_layout_time **time);

#ifdef __cplusplus
}
#endif
#endif
