/* SPDX-License-Identifier: MIT
 *
 * For tests of the service machine: two controllers, nodes 20 and 21, and a log
 * between them that the test drives. Commands that a controller reports are
 * proposed; `fronts_commit` appends them to the log, and both controllers apply
 * them.
 */
#ifndef TESTS_FRONTS_H
#define TESTS_FRONTS_H

#include "mail.h"

#include <cluster/controller/service.h>

enum { FRONT_NODE = 20, FRONTS = 2 };

struct front {
    void *state;
    struct mail mail;
    struct gw__actions act;
};

struct fronts {
    struct front front[FRONTS];
    uint64_t now_ns; /* of both */
    uint64_t next_index;
    unsigned down; /* bits: fronts without committed commands */
};
extern struct fronts fronts;

static const uint64_t MS = 1000000;

void fronts_setup(void);
void fronts_teardown(void);
const struct gw__registry *fronts_registry(unsigned front);
/* Advances the time in steps of the machines' timers. */
void fronts_wait(uint64_t ns);
/* Advances the time without any timer, as if the process had not run. */
void fronts_sleep(uint64_t ns);

/* Notifies both of the leader: a front, or FRONTS for none. Drops the leader's
 * proposals at once unless `keep`. */
void fronts_lead(unsigned front, bool keep);
/* Commits all proposals in order; returns their number. */
unsigned fronts_commit(void);
/* Appends this command without a proposal by a controller. */
void fronts_append(const struct gw__command *command);
void fronts_input(unsigned front, struct gw__input input);

struct gw__process fronts_process(unsigned node, unsigned life);
/* Request `sequence` of the client of node `node`. */
void fronts_request(unsigned front, unsigned node, uint64_t sequence,
                    struct gw__command command);
/* The answer or redirect to the request; false: there is none. */
bool fronts_reply(unsigned front, unsigned node, struct gw__reply *reply,
                  struct gw__answer *answer);
void fronts_hello(unsigned front, struct gw__process who, uint64_t index,
                  uint64_t reports);
/* False: there is none for this node. */
bool fronts_update(unsigned front, unsigned node,
                   struct gw__membership_update *update);
/* Registers workers 0 .. count-1, admits them to the ring, and drops the
 * membership updates about it. */
void fronts_ring_of(unsigned count);
void fronts_suspect(unsigned by, unsigned node);
void fronts_report(unsigned node, uint64_t op);
void fronts_clear(void);

#endif
