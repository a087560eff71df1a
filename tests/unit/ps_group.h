/* SPDX-License-Identifier: MIT
 *
 * Workers that come, request items from a clock, finish them, die and come
 * back, by a seed; and the invariants of the clock's commits. Each commit is of
 * an item that was granted, no item is committed or dropped twice, and rounds
 * are committed in the order of parts.
 */
#ifndef TESTS_PS_GROUP_H
#define TESTS_PS_GROUP_H

#include <ps/clock/clock.h>

enum { GROUP = 6, EPOCHS = 3, BATCHES = 5, PARTS = 4 };

/* A worker as it sees itself. */
struct hand {
    bool alive, holds, done;
    uint64_t incarnation, number;
    struct gw_ps_work work;
};

struct ps_group {
    struct gw__clock *clock;
    struct gw_rng rng;
    struct hand hands[GROUP];
    uint64_t incarnations;
    /* The items granted to each process, with their work. */
    struct {
        struct gw__work_item item;
        struct gw_ps_work work;
        bool closed, dropped;
    } grants[4096];
    unsigned grant_count;
    uint64_t checked; /* commits checked so far */
    unsigned times[EPOCHS][BATCHES][GROUP];
    unsigned parts[EPOCHS][BATCHES]; /* the number of parts of each batch */
    uint64_t applied, dropped;
    uint64_t order; /* bsp: the newest committed batch, counted across epochs */
};

void ps_group_command(struct ps_group *c,
                      const struct gw__clock_command *command);
void ps_group_send_alive(struct ps_group *c);
void ps_group_add(struct ps_group *c, unsigned i);
void ps_group_request(struct ps_group *c, unsigned i);
void ps_group_step(struct ps_group *c, unsigned deaths);
void ps_group_receive(struct ps_group *c);
bool ps_group_is_done(const struct ps_group *c);
void ps_group_begin(struct ps_group *c, uint64_t seed, struct gw_ps_mode mode,
                    unsigned workers);
/* With that many parts; 0: one per worker. */
void ps_group_begin_parts(struct ps_group *c, uint64_t seed,
                          struct gw_ps_mode mode, unsigned workers,
                          unsigned parts);
/* With a stop rule: the loss of a sample in epoch e is EPOCHS - e. */
void ps_group_begin_until(struct ps_group *c, uint64_t seed,
                          struct gw_ps_mode mode, unsigned workers,
                          double until);
/* Runs until all work is done, and returns the clock's status. */
void ps_group_end_status(struct ps_group *c, uint64_t seed, unsigned deaths,
                         struct gw_ps_clock_status *status);
void ps_group_end(struct ps_group *c, uint64_t seed, unsigned deaths);
void ps_group_run(struct ps_group *c, uint64_t seed, struct gw_ps_mode mode,
                  unsigned deaths);

#endif
