/* SPDX-License-Identifier: MIT
 *
 * Schedules that only name a chunk, a sender and a receiver (trees, flows,
 * sends): what each rank holds so far, as a flow of values.
 */
#ifndef GW__FORMATS_COPIES_H
#define GW__FORMATS_COPIES_H

#include "flow.h"

struct gw__copies {
    struct gw__flow flow;
    uint32_t *held;  /* rank * chunks + chunk: the newest value, or none */
    uint32_t *links; /* src * ranks + dst: the level of the last message */
    uint32_t *times; /* the same: its time in the schedule */
};

GW_MUST_CHECK enum gw_err gw__copies_init(struct gw__copies *copies,
                                          const struct gw_plan *shape,
                                          struct gw_error *why);
void gw__copies_fini(struct gw__copies *copies);
bool gw__copies_holds(const struct gw__copies *copies, unsigned rank,
                      unsigned chunk);
/* The value that a rank holds now, or GW__NO_VALUE. */
uint32_t gw__copies_value(const struct gw__copies *copies, unsigned rank,
                          unsigned chunk);
/* Sends a value that a rank holds or held, at a `time` in the schedule's own
 * units that does not go back on a link. The receiver adds it if it shares no
 * contributor with its own value, which it otherwise replaces. */
GW_MUST_CHECK enum gw_err gw__copies_send(struct gw__copies *copies,
                                          uint32_t value, unsigned dst,
                                          uint32_t time, struct gw_error *why);
/* The first rank and chunk whose result is missing or incomplete; false: none.
 */
bool gw__copies_missing(struct gw__copies *copies, unsigned *rank,
                        unsigned *chunk);
/* The plan, when nothing is missing. */
GW_MUST_CHECK enum gw_err gw__copies_plan(struct gw__copies *copies,
                                          const char *algo,
                                          struct gw_plan **plan,
                                          struct gw_error *why);

#endif
