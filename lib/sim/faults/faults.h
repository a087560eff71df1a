/* SPDX-License-Identifier: MIT
 *
 * Fault schedules as data and as text, one fault per line:
 *
 *     at 12ms crash 2                      # until it is restarted
 *     at 12ms crash 2 after 1 for 8ms      # inside a step, see below
 *     at 15ms restart 2
 *     at 20ms cut 0>1 for 50ms             # one way
 *     at 30ms cut 0,1|2,3                  # both ways, until healed
 *     at 40ms heal
 *     at 50ms pause 3 for 80ms
 *     drop 0>* 0.1 for 100ms               # at 0: from the beginning
 *     dup *|* 0.05
 *     delay 0>1 5ms..20ms                  # so that messages overtake
 *     clock 2 +2000ppm
 *
 *     at op 3 crash 2                      # in lockstep, see below
 *     at op 3 chunk 1 transfer 2 crash 2
 *
 * Nodes are numbers or ranges (8-15) separated by commas, or `*` for all. A link is nodes >
 * nodes, or nodes | nodes for both directions. gw_parse_duration defines
 * durations.
 *
 * Effects
 *   crash    the node's memory is lost, its persisted data stay. With
 *            `after K` the crash happens inside the node's first step at or
 *            after that time, after K of the step's actions: like a power
 *            failure between two lines of the program.
 *   restart  a new incarnation; a running node is crashed first.
 *   pause    like SIGSTOP: arriving messages wait and timers are late, then
 *            all are delivered at once. `resume` ends it.
 *   cut      new messages on the link are lost; earlier ones arrive.
 *   drop, dup  each message is lost, or duplicated, with this probability.
 *   delay    each message takes longer by a random time in this range.
 *   clock    the node's clock is fast or slow by this many ppm.
 *   heal     ends all cuts, drops, dups and delays.
 * A place in the work instead of a time is for runs in lockstep: before transfer
 * number `transfer` (from 0; default 0), among those of the chunk, or all, in
 * the order of the op's plan. The simulator has times alone.
 *
 * With `for` a fault ends by itself (a crash: the node starts again). Faults of
 * one kind may overlap: each ends on its own, probabilities and delays add up.
 */
#ifndef GW__SIM_FAULTS_H
#define GW__SIM_FAULTS_H

#include <base/machine.h>

#include <stdio.h>

enum gw__fault_kind {
    GW__CRASH,
    GW__RESTART,
    GW__PAUSE,
    GW__RESUME,
    GW__CUT,
    GW__DROP,
    GW__DUP,
    GW__DELAY,
    GW__CLOCK,
    GW__HEAL,
    GW__FAULT_KINDS
};

enum {
    GW__FAULTS_MAX = 256,        /* in one schedule */
    GW__FAULT_TEXT_MAX = 4096,   /* bytes of a line */
    GW__CRASH_AFTER_MAX = 10000, /* actions */
    GW__FAULT_OP_MAX = 1000000000,
    GW__AT_ONCE = UINT16_MAX /* `after` of a crash outside a step */
};
/* The maximum of all times and durations in a schedule: one day. */
#define GW__FAULT_NS_MAX UINT64_C(86400000000000)
#define GW__ALL_NODES    gw__nodes_first(GW__NODES_MAX)
#define GW__ANY_CHUNK    UINT32_MAX

struct gw__fault {
    uint64_t at_ns;
    uint64_t for_ns;            /* 0: until another fault ends it */
    struct gw_nodes nodes;      /* nodes affected; of a link: its senders */
    struct gw_nodes to;         /* of a link: its receivers */
    uint64_t least_ns, most_ns; /* DELAY */
    uint32_t chance;            /* DROP, DUP: in millionths */
    int32_t ppm;                /* CLOCK */
    uint16_t after;             /* CRASH: actions before it, or GW__AT_ONCE */
    uint8_t kind;               /* enum gw__fault_kind */
    bool both_ways;
    bool by_op;     /* at these instead of `at_ns`: */
    uint32_t op;    /* of the ring */
    uint32_t chunk; /* or GW__ANY_CHUNK */
    uint32_t transfer;
};

struct gw__faults {
    size_t count;
    struct gw__fault items[GW__FAULTS_MAX];
};

/* Does this link fault affect any link among `nodes` nodes? A node has no link
 * to itself. */
bool gw__fault_joins(const struct gw__fault *fault, unsigned nodes);

/* ---- text ---- */

enum gw__fault_operand { GW__OF_NONE, GW__OF_NODES, GW__OF_LINK };

/* The text form of a kind, for parser and printer. */
struct gw__fault_verb {
    const char *name;
    enum gw__fault_operand operand;
    bool lasts; /* may have `for` */
};
extern const struct gw__fault_verb gw__fault_verbs[GW__FAULT_KINDS];

/* Parses `bytes` bytes of text for a network of `nodes` nodes. `name` is the
 * text's name in errors. GW_EDATA with "NAME:LINE:COLUMN: message"; *faults is
 * then empty. The text may be arbitrary. */
GW_MUST_CHECK enum gw_err gw__faults_parse(const char *text, size_t bytes,
                                           const char *name, unsigned nodes,
                                           struct gw__faults *faults,
                                           struct gw_error *why);
/* Writes one fault as a line without newline. Parsing it gives an equal
 * fault. */
void gw__fault_format(const struct gw__fault *fault,
                      char text[GW__FAULT_TEXT_MAX]);
/* Prints all faults, one per line. GW_ESYS: an error of the file. */
GW_MUST_CHECK enum gw_err gw__faults_print(const struct gw__faults *faults,
                                           FILE *file, struct gw_error *why);
/* Writes "1500us" or "12ms": always an integer, so that nothing is rounded. */
void gw__format_ns(uint64_t ns, char text[32]);

/* ---- random schedules ---- */

/* The limits of a random schedule. Zero means none or never. */
struct gw__fault_profile {
    unsigned nodes;
    uint64_t end_ns; /* all faults begin earlier */
    /* Maximum number per kind: CRASH, PAUSE, CUT, DROP, DUP, DELAY, CLOCK. */
    unsigned most[GW__FAULT_KINDS];
    uint64_t for_least_ns, for_most_ns; /* range of durations */
    /* All faults end by `end_ns`, so that progress can be required afterwards.
     * Otherwise one in four is permanent. */
    bool heals;
    struct gw_nodes mortal; /* nodes that may crash */
    unsigned down_most;     /* how many of them at a time */
    double chance_most;     /* DROP, DUP */
    uint64_t delay_most_ns;
    int32_t ppm_most; /* CLOCK, in both directions */
};

/* Fills *faults, sorted by time; deterministic for a seed and a profile. */
void gw__faults_random(uint64_t seed, const struct gw__fault_profile *profile,
                       struct gw__faults *faults);
/* While `crash` (in the schedule or not) lasts: the maximum number of nodes
 * down at a time by other crashes. */
unsigned gw__faults_down(const struct gw__faults *faults,
                         const struct gw__fault *crash);

#endif
