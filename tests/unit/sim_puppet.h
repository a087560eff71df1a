/* SPDX-License-Identifier: MIT
 *
 * A network of puppets for the tests of lib/sim: machines that only carry out
 * requests, and a log of every input that the network delivers.
 */
#ifndef SIM_PUPPET_H
#define SIM_PUPPET_H

#include <sim/sim.h>

#define MS UINT64_C(1000000)

/* The orders of a request. */
enum puppet_verb {
    PUPPET_SEND,      /* `value` to node `which` */
    PUPPET_TIMER,     /* `which` in `value` ns from now; 0 cancels */
    PUPPET_TIMER_AT,  /* `which` at `value` of its clock */
    PUPPET_PERSIST,   /* `value` under key `which` */
    PUPPET_NOTIFY,    /* `value` */
    PUPPET_LOAD,      /* which a machine must not do at that time */
    PUPPET_SEND_BYTES /* `value` zero bytes to node `which` */
};

struct puppet_command {
    enum puppet_verb verb;
    uint32_t which;
    uint64_t value;
};

extern const struct gw__machine_kind puppet_kind;

/* One delivered input. `value` is the one persisted under key 1, or 0, for
 * START, and the one sent for a message. */
struct sim_input {
    uint64_t time_ns;
    uint64_t clock_ns;
    uint64_t incarnation;
    uint64_t value;
    uint32_t node;
    uint32_t from;
    uint32_t timer;
    enum gw__input_kind kind;
};

enum { INPUTS_MOST = 16384, PUPPET_NODES_MOST = 8 };

struct sim_stage {
    struct gw__sim *sim;
    size_t count;
    struct sim_input log[INPUTS_MOST];
    size_t notified_count;
    uint64_t notified[INPUTS_MOST];
    unsigned lives[GW__FAULT_KINDS]; /* count of faults by kind */
};

/* A new network of puppets. The hooks of `options` are overwritten; NULL:
 * messages take 1 ms, and there are no other faults. */
struct sim_stage *stage_new(unsigned nodes,
                            const struct gw__sim_options *options);
void stage_destroy(struct sim_stage **stage);
/* Adds a schedule in text form. */
void stage_faults(struct sim_stage *stage, const char *text);
/* Requests with one order each, at `at_ns`. */
void stage_command(struct sim_stage *stage, uint64_t at_ns, uint32_t node,
                   enum puppet_verb verb, uint32_t which, uint64_t value);
void stage_commands(struct sim_stage *stage, uint64_t at_ns, uint32_t node,
                    const struct puppet_command *commands, size_t count);
/* Runs to `limit_ns` without a failure. */
void stage_run(struct sim_stage *stage, uint64_t limit_ns);
/* How many inputs of a kind `node` got. */
size_t stage_count(const struct sim_stage *stage, uint32_t node,
                   enum gw__input_kind kind);
/* The n-th of them, from 0; the test fails if there is none. */
const struct sim_input *stage_input(const struct sim_stage *stage,
                                    uint32_t node, enum gw__input_kind kind,
                                    size_t n);

#endif
