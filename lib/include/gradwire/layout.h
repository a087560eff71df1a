/* SPDX-License-Identifier: MIT
 *
 * The layout of a network on a mesh of ranks. A network is a chain of
 * operators, some of which add the output of an earlier one. A mesh has three
 * axes, D x T x P:
 *
 *   data    D   each rank has its share of the rows of a batch; parameters and
 *               optimiser state are replicated or sharded along it
 *   tensor  T   an operator is split: by columns, by rows, or by batch
 *   pipe    P   one stage per rank
 *
 * The rank of coordinates (d, t, p) is (p * D + d) * T + t: ranks that
 * communicate most are neighbours.
 *
 * Along the tensor axis an activation (and its gradient) has one of four
 * shardings, enum gw_sharding. An operator needs one for its input and yields
 * one. If the input of an operator needs another sharding than the preceding
 * operator yields, a collective that converts it is inserted; likewise
 * backward, for the gradients. One table has all conversions:
 *
 *     from \ to   replicated   by row          by feature
 *     replicated  -            slice           slice
 *     by row      all-gather   -               all-to-all
 *     by feature  all-gather   all-to-all      -
 *     partial     all-reduce   reduce-scatter  reduce-scatter
 *
 * (Megatron-LM's column-parallel and row-parallel layers, Shoeybi et al. 2019,
 * follow from it: R -> columns -> by feature -> rows -> partial -> R.)
 *
 * All functions here are pure: they compute shapes, counts and bytes.
 * gradwire/parallel.h runs a layout.
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

/* The kinds of operators. */
enum gw_operator_kind {
    /* The sum of table rows, weighted by the row's values. Its input is
     * sparse, and it is only allowed as the first operator. */
    GW_OP_EMBEDDING,
    GW_OP_DENSE, /* x W + b */
    GW_OP_RELU,  /* element by element */
    GW_OP_TANH,
    GW_OP_CONV,    /* of images, stride 1, output as large as input */
    GW_OP_MAXPOOL, /* the largest of each window of each channel */
    GW_OP_FLATTEN, /* an image as features */
    GW_OP_ADD,     /* adds an earlier operator's output: residual branch */
    GW_OP_SOFTMAX  /* cross entropy of the softmax, the loss; last */
};

/* The split of an operator along the tensor axis. */
enum gw_split {
    GW_SPLIT_AUTO, /* chosen by the layout; see gw_layout_new */
    GW_SPLIT_NONE, /* every rank computes the whole operator */
    /* By output features (dense, embedding) or filters (conv). */
    GW_SPLIT_COLUMNS,
    /* By input features (dense), input channels (conv) or vocabulary
     * (embedding). */
    GW_SPLIT_ROWS,
    GW_SPLIT_BATCH /* by rows of the micro-batch */
};

enum {
    GW_OPERATORS_MAX = 256,
    GW_WIDTH_MAX = 1 << 20 /* features of a tensor */
};

/* A row as an image: feature (channel * height + y) * width + x. channels 0:
 * the row is not an image. */
struct gw_image {
    unsigned channels, height, width;
};

/* An operator of a network. */
struct gw_operator {
    enum gw_operator_kind kind;
    enum gw_split split;
    /* Features of a row; softmax: in = classes, out = 0. */
    unsigned in, out;
    bool begins_stage; /* a stage begins here */
    unsigned line;     /* of the file */
    /* `in` and `out`, if they are images. */
    struct gw_image image_in, image_out;
    unsigned kernel_height, kernel_width; /* conv: odd; maxpool: window */
    unsigned source; /* add: the operator whose output is added */
    char name[16];   /* of its output, for `add`; or "" */
};

/* A network. */
struct gw_network {
    char name[40];
    unsigned inputs;       /* features of a row */
    struct gw_image image; /* of a row, if it is one */
    unsigned classes;      /* inputs of softmax */
    unsigned operator_count;
    struct gw_operator *operators;
};

/* Returns the name of a kind: "embedding", "dense". */
GW_API const char *gw_operator_name(enum gw_operator_kind kind);
/* Returns the name of a split: "auto", "none", "columns". */
GW_API const char *gw_split_name(enum gw_split split);
/* Returns the number of parameters of the whole operator: weights and, for
 * dense and conv, biases. */
GW_API size_t gw_operator_parameters(const struct gw_operator *op);

/* Returns the multiplications per row of a forward pass; each of the two
 * gradients needs the same number. Element-wise operators need none. */
GW_API uint64_t gw_operator_work(const struct gw_operator *op);

/* Parses the text form (gradwire-network(5)). The caller frees *network with
 * gw_network_destroy. GW_EDATA: an unknown word, a network without a loss at
 * its end, a loss or an embedding in its middle, or a width beyond the limit.
 * The sentence begins with "NAME:LINE:COLUMN: ", and *network is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_network_parse(const char *text, size_t bytes, const char *name,
                 struct gw_network **network, struct gw_error *why);
/* Reads a network from a file, as gw_network_parse. GW_EDATA also if the file
 * cannot be read. */
GW_API GW_MUST_CHECK enum gw_err gw_network_load(const char *path,
                                                 struct gw_network **network,
                                                 struct gw_error *why);
/* Writes the text form. gw_network_parse reads it into an equal network. */
GW_API GW_MUST_CHECK enum gw_err
gw_network_print(const struct gw_network *network, FILE *file,
                 struct gw_error *why);
/* Frees a network and sets the pointer to NULL. */
GW_API void gw_network_destroy(struct gw_network **network);
/* Returns the number of parameters of a network. */
GW_API size_t gw_network_parameters(const struct gw_network *network);

/* ---- meshes ---- */

/* The sizes of a mesh's axes. */
struct gw_mesh {
    unsigned data, tensor, pipe;
};

/* Reads a mesh: "2x2x1"; "4" is 4x1x1. GW_EINVAL: another form; the sentence
 * shows the right one, and *mesh is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_mesh_parse(const char *text, struct gw_mesh *mesh, struct gw_error *why);
/* Returns the number of ranks of a mesh. */
static inline unsigned gw_mesh_size(const struct gw_mesh *mesh)
{
    return mesh->data * mesh->tensor * mesh->pipe;
}
/* Returns the rank of coordinates (d, t, p). */
static inline unsigned gw_mesh_rank(const struct gw_mesh *mesh, unsigned d,
                                    unsigned t, unsigned p)
{
    return (p * mesh->data + d) * mesh->tensor + t;
}

/* ---- layouts ---- */

/* The sharding of a tensor of rows x features along the tensor axis. */
enum gw_sharding {
    GW_REPLICATED, /* each rank has the whole tensor */
    GW_BY_ROW,     /* each has its share of the rows */
    GW_BY_FEATURE, /* each has its share of the features */
    GW_PARTIAL     /* each has a summand of the tensor */
};

/* Returns the name of a sharding. */
GW_API const char *gw_sharding_name(enum gw_sharding sharding);

/* The placement of parameters, gradients and optimiser state along the data
 * axis. */
enum gw_data_mode {
    GW_DATA_REPLICATED, /* all replicated: gradients are all-reduced */
    /* The optimiser's state is sharded: gradients are reduce-scattered,
     * parameters all-gathered. */
    GW_DATA_ZERO1,
    /* All are sharded (FSDP, ZeRO-3): parameters are all-gathered before
     * each forward and each backward of an operator and dropped after it;
     * gradients are reduce-scattered once per step. */
    GW_DATA_SHARDED
};

/* Returns the name of a mode: "replicated", "zero1", "sharded". */
GW_API const char *gw_data_mode_name(enum gw_data_mode mode);
/* Finds the mode of a name. GW_EINVAL: an unknown name; *mode is unchanged. */
GW_API GW_MUST_CHECK enum gw_err gw_data_mode_parse(const char *name,
                                                    enum gw_data_mode *mode,
                                                    struct gw_error *why);

/* The options of a layout. */
struct gw_layout_options {
    struct gw_mesh mesh;
    enum gw_data_mode mode;
    /* zero1, sharded: the number of ranks along the data axis that share
     * one copy; the groups are replicas of each other (HSDP). 0: all
     * ranks. */
    unsigned shard_group;
    unsigned batch;  /* rows per step, all ranks together */
    unsigned micros; /* micro-batches per step; 0: 1 */
    unsigned chunks; /* virtual stages per stage; 0: 1 */
    /* f32 per parameter: 1 momentum, 2 Adam, 0 SGD */
    unsigned optimiser_words;
};

/* A change of sharding. `needed` false: the shardings are equal. `collective`
 * is GW_COLLECTIVES for a slice, which moves no data. */
struct gw_conversion {
    bool needed;
    enum gw_sharding from, to;
    enum gw_collective collective;
    /* Sent by a rank per micro-batch: 2(T-1)/T S for all-reduce, (T-1)/T S
     * for the others, where S is the bytes of the whole tensor
     * (all-to-all: of the rank's part, which is S/T). */
    uint64_t bytes;
};

/* The placement of one operator. */
struct gw_operator_layout {
    unsigned index;                     /* in the network */
    unsigned virtual_stage;             /* virtual stage: chunk * P + stage */
    enum gw_split split;                /* never AUTO */
    enum gw_sharding in, out;           /* forward: of input and output */
    enum gw_sharding grad_out, grad_in; /* backward: likewise */
    /* Of its weights on one rank. The biases of a dense by rows are on all
     * ranks, and rank 0 of the axis adds them. */
    unsigned local_in, local_out;
    size_t parameters;       /* of the whole operator */
    size_t parameters_local; /* after the split, before sharding along D */
    /* Weight gradients are summands along T, too: the padded array is
     * all-reduced there once per step. */
    bool weights_partial;
    /* forward: before the operator. backward: of its input's gradient,
     * after it (never for the first operator, whose input needs no
     * gradient). Between stages the sender converts before it sends. */
    struct gw_conversion forward, backward;
};

/* A layout. */
struct gw_layout {
    const struct gw_network *network; /* belongs to the caller */
    struct gw_layout_options options; /* with the defaults filled in */
    unsigned rows; /* of a micro-batch on one data coordinate */
    unsigned operator_count;
    struct gw_operator_layout *op_layouts;
    unsigned virtual_stages; /* P * chunks */
    unsigned *virtual_begin; /* virtual_stages + 1: the first ops */
};

/* Makes a layout: divides the network into virtual stages, splits the operators
 * and inserts the conversions. With T = 1 every split is NONE. AUTO becomes:
 *   by BATCH             if the input is by row; otherwise
 *   dense, embedding     by columns if the input is replicated or partial, by
 *                        rows if it is by feature
 *   element-wise         the sharding of the input (COLUMNS: by feature)
 *   add                  the sharding of its source
 *   softmax              NONE
 *   conv                 as dense, by channel
 *
 * Virtual stages begin at the `stage` lines (there must be one fewer of them; a
 * single virtual stage needs none and ignores them). Without such lines the
 * largest virtual stage has as few multiplications as possible. An add is never
 * separated from its source.
 *
 * layout->options has micros, chunks and shard_group filled in (replicated: 1).
 * The network must outlive the layout. The caller frees *layout with
 * gw_layout_destroy.
 *
 * GW_EINVAL, with the operator and its line. The network has fewer operators
 * than virtual stages. A width or the channels of an image do not divide by T.
 * An add's source is partial, or in another stage. The batch does not divide by
 * D x micros (x T, with rows split by batch), or a shard group does not divide
 * D. An operator does not support its split, or its input does not fit the
 * output of the preceding one. On failure *layout is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_layout_new(const struct gw_network *network,
              const struct gw_layout_options *options,
              struct gw_layout **layout, struct gw_error *why);
/* Frees a layout and sets the pointer to NULL. */
GW_API void gw_layout_destroy(struct gw_layout **layout);

/* The traffic of one step and the memory of a rank, by formula; bytes are those
 * that the rank sends, of f32. Ranks of one stage are alike. */
struct gw_layout_price {
    uint64_t tensor_forward_bytes, tensor_backward_bytes; /* conversions */
    uint64_t tensor_weight_bytes; /* gradients of weights shared by T */
    uint64_t data_bytes;          /* gradients and parameters along D */
    uint64_t pipe_bytes;          /* activations, gradients between stages */
    unsigned tensor_collectives;  /* per micro-batch: forward, backward */
    uint64_t parameter_bytes;     /* held between steps */
    /* sharded: of the blocks; during its computation an operator's
     * gradient is whole. */
    uint64_t gradient_bytes;
    uint64_t optimiser_bytes;
    uint64_t gathered_bytes; /* the largest gather */
};
/* Computes the price of a layout for the ranks of a stage. */
GW_API void gw_layout_price(const struct gw_layout *layout, unsigned stage,
                            struct gw_layout_price *price);

/* Returns the bytes that a rank keeps of one micro-batch between its forward
 * and its backward pass through a piece: converted inputs, outputs, and their
 * gradients. */
GW_API uint64_t gw_layout_activation_bytes(const struct gw_layout *layout,
                                           unsigned virtual_stage);

/* Returns the block size of an operator's parameters on a rank
 * (parameters_local), as one flat array that is divided along the data axis:
 * the elements on each of shard_group ranks. The array is padded with zeros to
 * a multiple of D x T, in every mode, so that all blocks are equal; replicated,
 * the block is the whole array. */
GW_API size_t gw_layout_block(const struct gw_layout *layout,
                              size_t parameters);

/* ---- a layout in time ---- */

struct gw_topology; /* gradwire/topology.h */
struct gw_schedule; /* gradwire/pipe.h */

/* The order of a mesh's ranks on a topology. A run has a third order,
 * gw_mesh_rank; with one stage it is GW_MESH_MODEL. */
enum gw_mesh_order {
    GW_MESH_MODEL, /* (d P + p) T + t: all slices of one model together */
    GW_MESH_DATA   /* (p T + t) D + d: all copies of one slice together */
};
/* Returns the name of an order: "model", "data". */
GW_API const char *gw_mesh_order_name(enum gw_mesh_order order);
/* Returns the rank of coordinates (d, t, p) on the topology. */
GW_API unsigned gw_mesh_position(const struct gw_mesh *mesh,
                                 enum gw_mesh_order order, unsigned d,
                                 unsigned t, unsigned p);

/* Returns the largest number of bytes of activations on a rank of `stage` at
 * once, in a step of this schedule, which has the layout's stages, micros and
 * chunks. */
GW_API uint64_t gw_layout_peak_bytes(const struct gw_layout *layout,
                                     const struct gw_schedule *schedule,
                                     unsigned stage);

/* The costs of a step. */
struct gw_layout_costs {
    double work_per_us; /* multiplications of a rank; 0: take no time */
    double message_us;  /* as in gw_topology_run */
    double reduce_us_per_byte;
    /* The algorithm of all-reduces, for the numbers of ranks that it supports;
     * NULL: the faster of two. */
    const char *allreduce;
};

/* An inserted collective, or a message to another stage. */
struct gw_layout_call {
    /* "forward", "backward", "gather", "weights", "gradients", "across",
     * "parameters", "activation" or "gradient" */
    const char *kind;
    const char *what; /* the collective, or "send" */
    const char *algo; /* the faster of two; "" for a message */
    char axis;        /* 'T', 'D' or 'P' */
    unsigned stage;   /* GW_NONE: all stages, at the end of the step */
    /* The operator that receives it, or whose parameters are gathered;
     * GW_NONE: all operators. */
    unsigned index;
    uint64_t bytes; /* sent by a rank per call; of all stages the mean */
    unsigned calls; /* per step */
    double time_us; /* per call */
};

/* The times of the stage that works longest: step = compute + tensor + data +
 * idle. */
struct gw_layout_time {
    double step_us;
    double compute_us;
    double tensor_us; /* collectives along T */
    double data_us;   /* along D: gathers, and the end of the step */
    double idle_us;   /* waits for other stages: bubble and messages */
    unsigned stage;
    /* Memory of the fullest rank: parameters, gradients, optimiser state,
     * gathered parameters, activations. */
    uint64_t held_bytes;
    unsigned held_stage;
    unsigned call_count;
    struct gw_layout_call *calls;
    unsigned links;
    uint64_t *link_bytes; /* of each link of the topology, per step */
};

/* A timer simulates layouts on a topology, whose first ranks are those of the
 * mesh. It remembers each simulated collective, so that many layouts take
 * little more time than one. */
struct gw_layout_timer;
/* Creates a timer; gw_layout_timer_destroy frees it. The topology must outlive
 * it and keep its order. GW_EINVAL: negative costs, or an unknown algorithm. */
GW_API GW_MUST_CHECK enum gw_err
gw_layout_timer_new(const struct gw_topology *topology,
                    const struct gw_layout_costs *costs,
                    struct gw_layout_timer **timer, struct gw_error *why);
/* Frees a timer and sets the pointer to NULL. */
GW_API void gw_layout_timer_destroy(struct gw_layout_timer **timer);

/* Simulates one step in virtual time:
 *
 *   a collective   gw_topology_simulate: by a ring or by the algorithm with the
 *                  fewest rounds (all-to-all: pairwise or Bruck), whichever is
 *                  faster. Those of a stage's ranks run at the same time and
 *                  share links
 *   a pass         forward, gradient of the input and gradient of the weights
 *                  take one multiplication per weight and row, and their
 *                  collectives along T (and gathers along D)
 *   the passes     gw_pipe_simulate; messages between stages overlap with work
 *   the end        after all passes, the reductions and gathers once per step,
 *                  of all stages at the same time: as a run without overlap
 *
 * The collectives of different stages slow each other down only at the end. The
 * caller frees *time with gw_layout_time_destroy. GW_EINVAL: the topology has
 * fewer ranks than the mesh, or the schedule is not the layout's. */
GW_API GW_MUST_CHECK enum gw_err
gw_layout_simulate(struct gw_layout_timer *timer,
                   const struct gw_layout *layout,
                   const struct gw_schedule *schedule, enum gw_mesh_order order,
                   struct gw_layout_time **time, struct gw_error *why);
/* Frees the times and sets the pointer to NULL. */
GW_API void gw_layout_time_destroy(struct gw_layout_time **time);

#ifdef __cplusplus
}
#endif
#endif
