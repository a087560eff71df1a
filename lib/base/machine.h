/* SPDX-License-Identifier: MIT
 *
 * A protocol is a pure state machine: it is given an input and
 * answers with actions. No clock, socket, thread, allocation policy or random
 * number inside: time comes with the input, seeds with the start. A daemon
 * drives it with ZeroMQ; lib/sim drives the same object code with virtual time
 * and a hostile network.
 *
 * Contract of a driver
 *   START comes first, once an incarnation. Inputs come one at a time, with
 *   `now_ns` never falling (a machine's own clock: it may run fast, slow or
 *   with jumps forward against others'). A timer that was set fires once, not
 *   before its time, unless it is set again or cancelled. Messages may be
 *   lost, doubled, delayed and reordered; they are never altered. What PERSIST
 *   wrote before a crash is given to START after it, the newest value of each
 *   key; what was not yet persisted when the driver stopped is not. PERSIST is
 *   done before any action behind it in the same answer leaves. Each `look` is
 *   answered by SEEN or DIED, soon, while the driver lives.
 */
#ifndef GW__MACHINE_H
#define GW__MACHINE_H

#include <gradwire/base.h>

enum { GW__NODES_MAX = 64, GW__MESSAGE_MAX = 65536, GW__TIMERS_MAX = 64 };

enum gw__input_kind {
    GW__START,   /* `incarnation`, `seed`; `from`: our own node; `data`,
                    `bytes`: the configuration, as the driver was given it;
                    persisted values by `load` */
    GW__MESSAGE, /* `from`, `data`, `bytes` */
    GW__TIMER,   /* `timer` */
    GW__DIED,    /* a certain fact: the process of node `from` has ended, with
                    the incarnation that it had */
    GW__ASKED,   /* the application's request: `data`, `bytes` */
    GW__DEDUP    /* what a look at the process of node `from` has shown: `data`
                    is a struct gw__sight */
};

enum gw__sight_state {
    GW__SIGHT_NONE, /* it cannot be looked at: it is on another host, say */
    GW__SIGHT_AWAKE,
    GW__SIGHT_STOPPED
};

struct gw__sight {
    enum gw__sight_state state;
    /* For how long, since the look before, a thread of that process, or of our
     * own, could have run and got no CPU. */
    uint64_t waited_ns;
};

struct gw__input {
    enum gw__input_kind kind;
    uint64_t now_ns; /* this node's clock */
    uint32_t from;
    uint64_t incarnation; /* START: ours; MESSAGE: the sender's; DIED, SEEN:
                             whose */
    uint64_t seed;
    uint32_t timer;
    const void *data;
    size_t bytes;
};

/* Where a machine puts its actions. Every call may fail only by recording that
 * it failed (out of room), which the driver treats as a crash of the node. */
struct gw__actions {
    void *driver;
    void (*send)(void *driver, uint32_t to, const void *data, size_t bytes);
    /* Sets or moves timer `timer` (< GW__TIMERS_MAX) to `at_ns` of this node's
     * clock; 0 cancels. */
    void (*set_timer)(void *driver, uint32_t timer, uint64_t at_ns);
    void (*persist)(void *driver, uint32_t key, const void *data, size_t bytes);
    /* The newest persisted value of `key`; NULL when there is none. Valid
     * during START only. */
    const void *(*load)(void *driver, uint32_t key, size_t *bytes);
    /* To the application: an answer, a decision, a new view. */
    void (*tell)(void *driver, const void *data, size_t bytes);
    /* Asks for a look at the process of this incarnation of `node`. NULL where
     * no process can be looked at. */
    void (*look)(void *driver, uint32_t node, uint64_t incarnation);
};

struct gw__machine_kind {
    const char *name;
    size_t state_bytes; /* the driver owns the memory, zeroed before START */
    void (*step)(void *state, const struct gw__input *input,
                 const struct gw__actions *actions);
};

#endif
