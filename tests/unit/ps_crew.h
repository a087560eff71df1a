/* SPDX-License-Identifier: MIT
 *
 * Workers that come, request units from a clock, finish them, die and come
 * back, by a seed; and the invariants of the clock's commits. Each commit is of
 * a unit that was granted, no unit is committed or dropped twice, and rounds
 * are committed in the order of parts.
 */
#ifndef TESTS_PS_CREW_H
#define TESTS_PS_CREW_H

#include <ps/clock/clock.h>

enum { CREW = 6, EPOCHS = 3, BATCHES = 5, PARTS = 4 };

/* A worker as it sees itself. */
struct hand {
    bool alive, holds, done;
    uint64_t incarnation, number;
    struct gw_ps_work work;
};

struct crew {
    struct gw__clock *clock;
    struct gw_rng rng;
    struct hand hands[CREW];
    uint64_t incarnations;
    /* The units granted to each process, with their work. */
    struct {
        struct gw__work_item item;
        struct gw_ps_work work;
        bool closed, dropped;
    } given[4096];
    unsigned given_count;
    uint64_t looked; /* commits checked so far */
    unsigned times[EPOCHS][BATCHES][CREW];
    unsigned parts[EPOCHS][BATCHES]; /* the number of parts of each batch */
    uint64_t applied, dropped;
    uint64_t order; /* bsp: the newest committed batch, counted across epochs */
};

void ps_crew_command(struct crew *c, const struct gw__clock_command *command);
void ps_crew_tell_alive(struct crew *c);
void ps_crew_come(struct crew *c, unsigned i);
void ps_crew_ask(struct crew *c, unsigned i);
void ps_crew_turn(struct crew *c, unsigned deaths);
void ps_crew_hear(struct crew *c);
bool ps_crew_all_done(const struct crew *c);
void ps_crew_begin(struct crew *c, uint64_t seed, struct gw_ps_mode mode,
                   unsigned workers);
/* With that many parts; 0: one per worker. */
void ps_crew_begin_parts(struct crew *c, uint64_t seed, struct gw_ps_mode mode,
                         unsigned workers, unsigned parts);
/* With a stop rule: the loss of a sample in epoch e is EPOCHS - e. */
void ps_crew_begin_until(struct crew *c, uint64_t seed, struct gw_ps_mode mode,
                         unsigned workers, double until);
/* Runs until all work is done, and returns the clock's status. */
void ps_crew_end_status(struct crew *c, uint64_t seed, unsigned deaths,
                        struct gw_ps_clock_status *status);
void ps_crew_end(struct crew *c, uint64_t seed, unsigned deaths);
void ps_crew_run(struct crew *c, uint64_t seed, struct gw_ps_mode mode,
                 unsigned deaths);

#endif
