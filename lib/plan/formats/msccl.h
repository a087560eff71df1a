/* SPDX-License-Identifier: MIT
 *
 * MSCCL's XML: thread blocks of GPUs that send, receive, reduce and copy chunks
 * of three buffers, in the words of its runtime.
 *
 *   msccl_read.c    the elements and attributes
 *   msccl_places.c  the buffers: where inputs and results are
 *   msccl_link.c    dependencies, and which send goes to which receive
 *   msccl_order.c   an order of all steps, and what must happen before what
 *   msccl_custom.c  the chunks of a custom algorithm
 *   msccl_run.c     runs the steps on symbols, into a flow of values
 *   msccl_plan.c    the plan that our own files keep
 *
 * An error names the line, gpu, thread block and step.
 */
#ifndef GW__FORMATS_MSCCL_H
#define GW__FORMATS_MSCCL_H

#include "flow.h"
#include "xml.h"

#define GW__MSCCL_NONE UINT32_MAX

enum gw__msccl_buffer {
    GW__MSCCL_INPUT,
    GW__MSCCL_OUTPUT,
    GW__MSCCL_SCRATCH,
    GW__MSCCL_BUFFERS
};

enum gw__msccl_type {
    GW__MSCCL_NOP,
    GW__MSCCL_SEND,
    GW__MSCCL_RECV,
    GW__MSCCL_RECV_COPY_SEND,
    GW__MSCCL_RECV_REDUCE_SEND,
    GW__MSCCL_RECV_REDUCE_COPY,
    GW__MSCCL_RECV_REDUCE_COPY_SEND,
    GW__MSCCL_COPY,
    GW__MSCCL_REDUCE,
    GW__MSCCL_TYPES
};

/* The effect of each type. */
struct gw__msccl_action {
    const char *name;
    bool sends, receives;
    bool loads;  /* from srcbuf */
    bool stores; /* to dstbuf */
};
extern const struct gw__msccl_action gw__msccl_actions[GW__MSCCL_TYPES];

struct gw__msccl_range {
    enum gw__msccl_buffer buffer;
    unsigned offset;
};

struct gw__msccl_step {
    unsigned line, number; /* `s` */
    enum gw__msccl_type type;
    uint32_t block;
    struct gw__msccl_range src, dst;
    unsigned count;
    int dep_block, dep_step; /* ids, or -1 */
    bool signals;            /* hasdep */
    const char *plan;        /* our own attribute, or NULL: msccl_plan.c */
    uint32_t dependency;     /* step, or none */
    uint32_t signal;         /* the first step from here on that signals */
    uint32_t peer;           /* received: the step that sends it, or none */
    uint32_t payload;        /* sent: its first value, in the run */
    size_t clock;            /* its first tick; msccl_order.c */
    uint32_t clock_length;
};

/* Part of a vector clock: so many steps of a block are done. */
struct gw__msccl_tick {
    uint32_t block, done;
};

struct gw__msccl_block {
    unsigned line;
    uint32_t gpu, id;
    int send, recv; /* gpus, or -1 */
    unsigned channel;
    uint32_t step_begin, step_count;
};

struct gw__msccl_gpu {
    unsigned line;
    bool present;
    unsigned chunks[GW__MSCCL_BUFFERS];
    uint32_t block_begin, block_count;
    uint32_t place_begin; /* msccl_places.c */
};

struct gw__msccl {
    const struct gw__xml *xml;
    char name[sizeof((struct gw_plan *)0)->algo];
    struct gw_plan shape;
    unsigned chunks_per_loop, channels;
    bool in_place, out_of_place; /* how it may be called */
    bool one_buffer;             /* custom: input and output are the same */
    /* Custom: gpu * chunks_per_loop + offset in the input: its chunk of the
     * plan, or none. */
    uint32_t *custom_chunks;
    struct gw__msccl_gpu *gpus; /* by id */
    struct gw__msccl_block *blocks;
    struct gw__msccl_step *steps;
    uint32_t block_count, step_count;
    uint32_t *order; /* all steps; msccl_order.c */
    struct gw__msccl_tick
        *ticks; /* the clocks of all steps, one after another */
    size_t tick_count;
};

/* Reads the attributes; the caller frees *msccl with gw__msccl_fini, also after
 * an error. `xml` must outlive it. */
GW_MUST_CHECK enum gw_err gw__msccl_read(const struct gw__xml *xml,
                                         struct gw__msccl *msccl,
                                         struct gw_error *why);
void gw__msccl_fini(struct gw__msccl *msccl);
GW_MUST_CHECK enum gw_err gw__msccl_link(struct gw__msccl *msccl,
                                         struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__msccl_order(struct gw__msccl *msccl,
                                          struct gw_error *why);
/* Custom: sets the chunks and the inputs of each gpu (msccl_custom.c). */
GW_MUST_CHECK enum gw_err gw__msccl_custom(struct gw__msccl *msccl,
                                           struct gw_error *why);
/* Numbers the places of all gpus, and counts them and the chunks that all steps
 * move. GW_EDATA: they are too many. */
GW_MUST_CHECK enum gw_err gw__msccl_count(struct gw__msccl *msccl,
                                          uint32_t *places, uint64_t *payload,
                                          struct gw_error *why);
/* Does step a happen before step b in every run? */
bool gw__msccl_before(const struct gw__msccl *msccl, uint32_t a, uint32_t b);
/* Runs the steps, with input and output in one buffer or in two. */
GW_MUST_CHECK enum gw_err gw__msccl_run(struct gw__msccl *msccl, bool in_place,
                                        struct gw__flow *flow,
                                        struct gw_error *why);

/* The plan that a file of ours keeps in its attributes, if they agree with its
 * steps; otherwise NULL. GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__msccl_recall(const struct gw__msccl *msccl,
                                           struct gw_plan **plan,
                                           struct gw_error *why);

/* "NAME:LINE: gpu 0, tb 1, step 2: reason"; GW_EDATA. */
GW_PRINTF(4, 5)
enum gw_err gw__msccl_refuse(const struct gw__msccl *msccl, uint32_t step,
                             struct gw_error *why, const char *format, ...);

/* ---- places ---- */

/* The chunks that a buffer really has: those of its collective. */
unsigned gw__msccl_size(const struct gw__msccl *msccl, unsigned gpu,
                        enum gw__msccl_buffer buffer);
/* The place of a chunk of a buffer among those of its gpu. In place, input and
 * output share places. */
uint32_t gw__msccl_place(const struct gw__msccl *msccl, bool in_place,
                         unsigned gpu, struct gw__msccl_range range);
/* The number of places of a gpu. */
uint32_t gw__msccl_places(const struct gw__msccl *msccl, unsigned gpu);
/* The chunk of the plan at a place of the input or output. */
unsigned gw__msccl_chunk(const struct gw__msccl *msccl, unsigned gpu,
                         struct gw__msccl_range range);
char gw__msccl_sign(enum gw__msccl_buffer buffer);

#endif
