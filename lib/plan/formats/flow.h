/* SPDX-License-Identifier: MIT
 *
 * A schedule as a flow of values, on its way to a plan. A schedule in another
 * format moves data between places of its own. Here only the values matter: each
 * is an input, a value that was moved to another rank, or the sum of two. A copy
 * inside a rank makes no new value. Then each value gets a place in the plan:
 * the rank's buffer, or scratch.
 *
 *   flow.c         values, their contributors, and their levels
 *   flow_rows.c    a row for each value: buffer or scratch
 *   flow_plan.c    levels and rows to steps and transfers
 *
 * A value has a level: one more than the levels of the values that it is made
 * of, or what the schedule demands. Levels become steps.
 */
#ifndef GW__FORMATS_FLOW_H
#define GW__FORMATS_FLOW_H

#include <gradwire/plan.h>

#define GW__NO_VALUE UINT32_MAX

enum { GW__FLOW_VALUES_MAX = 1 << 22 };

struct gw__flow_value {
    uint32_t rank, chunk;
    uint32_t first;  /* moved: the value; a sum: a value of this rank */
    uint32_t second; /* a sum: a value of any rank; otherwise none */
    uint32_t level;  /* 0: an input */
    uint32_t read;   /* the largest level that reads it; at least its own */
    uint32_t row;    /* 0: the buffer; otherwise scratch */
    uint32_t reads;  /* at that level */
    uint32_t into;   /* a sum: the operand that it replaces, or none */
    uint8_t channel;
    bool output;    /* a result of its rank */
    bool continued; /* a sum will replace it in its row */
};

struct gw__flow {
    struct gw_plan shape; /* collective, ranks, chunks, root */
    unsigned words;       /* of a set of contributors; 0: nothing is reduced */
    struct gw__flow_value *values;
    uint64_t *sets; /* value * words */
    size_t count, room;
    uint32_t *inputs;  /* rank * chunks + chunk: value, or none */
    uint32_t *outputs; /* the same of results */
    struct gw_transfer *transfers;
    uint32_t *levels; /* of the transfers, in halves: see flow_plan.c */
    size_t transfer_count, transfer_room;
    /* No row is written in the step of its last read. Needs more scratch. */
    bool strict;
};

/* GW_EDATA: the chunks do not fit the collective, or are too many; GW_ENOMEM.
 */
GW_MUST_CHECK enum gw_err gw__flow_init(struct gw__flow *flow,
                                        const struct gw_plan *shape,
                                        struct gw_error *why);
void gw__flow_fini(struct gw__flow *flow);

/* The input of a rank; GW__NO_VALUE if the collective gives it none. */
uint32_t gw__flow_input(const struct gw__flow *flow, unsigned rank,
                        unsigned chunk);
/* The value at another rank. */
GW_MUST_CHECK enum gw_err gw__flow_move(struct gw__flow *flow, uint32_t value,
                                        unsigned rank, unsigned channel,
                                        uint32_t level, uint32_t *made,
                                        struct gw_error *why);
/* The sum of `first` and `second`, at the rank of `first`. They must be of one
 * chunk and share no contributor. */
GW_MUST_CHECK enum gw_err gw__flow_add(struct gw__flow *flow, uint32_t first,
                                       uint32_t second, unsigned channel,
                                       uint32_t level, uint32_t *made,
                                       struct gw_error *why);
/* The lowest rank that contributes to both, or -1. */
int gw__flow_shared(const struct gw__flow *flow, uint32_t a, uint32_t b);
/* The lowest rank that does not contribute, or -1: complete. Values
 * that are not reduced are complete. */
int gw__flow_lacking(const struct gw__flow *flow, uint32_t value);
/* Names the value the result of its rank and chunk. */
void gw__flow_output(struct gw__flow *flow, uint32_t value);

/* Places the values and makes the plan, which is then verified. The results
 * must all be there. */
GW_MUST_CHECK enum gw_err gw__flow_plan(struct gw__flow *flow, const char *algo,
                                        struct gw_plan **plan,
                                        struct gw_error *why);
/* In flow_rows.c: sets the rows and adds the transfers that make each value. */
GW_MUST_CHECK enum gw_err gw__flow_place(struct gw__flow *flow,
                                         struct gw_error *why);
/* In flow_plan.c. `half`: twice the level, or one less for a copy before it. */
GW_MUST_CHECK enum gw_err gw__flow_transfer(struct gw__flow *flow,
                                            uint32_t half,
                                            const struct gw_transfer *transfer,
                                            struct gw_error *why);

#endif
