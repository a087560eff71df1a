/* SPDX-License-Identifier: MIT
 *
 * Fault schedules as data, and their text, a fault a line:
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
 * Nodes are numbers joined by commas, or `*` for all; a link is nodes > nodes,
 * or nodes | nodes for both directions. Durations are as gw_parse_duration
 * takes them.
 *
 * What they do
 *   crash    what the node has in memory is lost, what it persisted stays.
 *            With `after K` the crash comes inside the node's first step at
 *            or after that time, when K of the step's actions are done: what a
 *            power failure between two lines of the program does.
 *   restart  a new incarnation; a node that still runs is crashed first.
 *   pause    as by SIGSTOP: what arrives waits, timers are late; then
 *            everything arrives at once. `resume` ends it.
 *   cut      what is sent over the link is lost; what is under way arrives.
 *   drop, dup  each message is lost, or comes twice, with this chance.
 *   delay    each message takes so much longer, drawn anew for each.
 *   clock    the node's clock runs fast or slow by so many millionths.
 *   heal     ends every cut, drop, dup and delay.
 * With `for` a fault ends by itself (a crash: the node starts again). Faults of
 * one kind may overlap: each ends on its own, chances and delays add up.
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
    GW__FAULT_TEXT_MAX = 512,    /* bytes of a line */
    GW__CRASH_AFTER_MAX = 10000, /* actions */
    GW__AT_ONCE = UINT16_MAX     /* `after` of a crash outside of a step */
};
/* No time in a schedule is later or longer: a day. */
#define GW__FAULT_NS_MAX UINT64_C(86400000000000)
#define GW__ALL_NODES    UINT64_MAX

/* Sets of nodes: bit i is node i. */
struct gw__fault {
    uint64_t at_ns;
    uint64_t for_ns;            /* 0: until something else ends it */
    uint64_t nodes;             /* whom it hits; of a link: its senders */
    uint64_t to;                /* of a link: its receivers */
    uint64_t least_ns, most_ns; /* DELAY */
    uint32_t chance;            /* DROP, DUP: in millionths */
    int32_t ppm;                /* CLOCK */
    uint16_t after;             /* CRASH: actions done, or GW__AT_ONCE */
    uint8_t kind;               /* enum gw__fault_kind */
    bool both_ways;
};

struct gw__faults {
    size_t count;
    struct gw__fault items[GW__FAULTS_MAX];
};

/* The set of the nodes 0 to `nodes` - 1. */
uint64_t gw__first_nodes(unsigned nodes);
/* Of a fault of links: is there one among `nodes` nodes? A node has none to
 * itself. */
bool gw__fault_joins(const struct gw__fault *fault, unsigned nodes);

/* ---- text ---- */

enum gw__fault_operand { GW__OF_NONE, GW__OF_NODES, GW__OF_LINK };

/* How a kind is written, for parser and printer. */
struct gw__fault_verb {
    const char *name;
    enum gw__fault_operand operand;
    bool lasts; /* may have `for` */
};
extern const struct gw__fault_verb gw__fault_verbs[GW__FAULT_KINDS];

/* Reads `bytes` bytes of text about a network of `nodes` nodes. `name` is the
 * text's in errors. GW_EDATA with "NAME:LINE:COLUMN: sentence"; then *faults is
 * empty. The text is not trusted. */
GW_MUST_CHECK enum gw_err gw__faults_parse(const char *text, size_t bytes,
                                           const char *name, unsigned nodes,
                                           struct gw__faults *faults,
                                           struct gw_error *why);
/* One fault as a line without its end. What is parsed from it is equal. */
void gw__fault_format(const struct gw__fault *fault,
                      char text[GW__FAULT_TEXT_MAX]);
/* All of them, a line each. GW_ESYS when the file says so. */
GW_MUST_CHECK enum gw_err gw__faults_print(const struct gw__faults *faults,
                                           FILE *file, struct gw_error *why);
/* "1500us", "12ms": whole units only, so that nothing is rounded. */
void gw__format_ns(uint64_t ns, char text[32]);

/* ---- at random ---- */

/* What a random schedule may hold. Zero is none, or never. */
struct gw__fault_profile {
    unsigned nodes;
    uint64_t end_ns; /* faults begin before */
    /* Up to how many of a kind; CRASH, PAUSE, CUT, DROP, DUP, DELAY, CLOCK. */
    unsigned most[GW__FAULT_KINDS];
    uint64_t for_least_ns, for_most_ns; /* how long they last */
    /* Every fault ends by itself by `end_ns`, so that progress can be demanded
     * after it. Otherwise one in four lasts for ever. */
    bool heals;
    uint64_t mortal;    /* the nodes that may crash */
    unsigned down_most; /* of them at a time */
    double chance_most; /* DROP, DUP */
    uint64_t delay_most_ns;
    int32_t ppm_most; /* CLOCK, either way */
};

/* Fills *faults, ordered by time; the same seed and profile give the same. */
void gw__faults_random(uint64_t seed, const struct gw__fault_profile *profile,
                       struct gw__faults *faults);
/* While `crash` (in the schedule or not) lasts: how many nodes the other
 * crashes keep down at a time, at most. */
unsigned gw__faults_down(const struct gw__faults *faults,
                         const struct gw__fault *crash);

#endif
