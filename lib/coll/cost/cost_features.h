/* SPDX-License-Identifier: MIT
 *
 * What a call makes its ranks do, in numbers that a price can be put on:
 * counted from its plan alone, without a clock. cost_model.h turns them into the
 * lines of a bill, and calibration finds what each line costs.
 */
#ifndef GW__COST_FEATURES_H
#define GW__COST_FEATURES_H

#include "coll/comm.h"

/* How a call runs: what the counts depend on beside its plan. */
struct gw__setting {
    bool windows; /* direct plans run as window passes */
    bool shared;  /* messages name memory that the receiver reads: shm */
    double cores; /* that the ranks share */
};

struct gw__cost_features {
    bool passes;  /* a window pass, no messages */
    bool eager;   /* of those: inputs travel on the cards */
    bool waits;   /* in a loop of such calls, ranks wait for each other */
    double turns; /* messages, one after another, that a call waits for */
    double messages, messages_busiest; /* of all ranks; of one, both ways */
    double slices;                     /* beyond the first of a message */
    double message_bytes;              /* of a message, on average */
    double sent_bytes, path_bytes;     /* of all; one after another */
    double added_bytes;                /* of all */
    /* Memory: of the busiest rank, or of all spread over the cores, whichever
     * is more. */
    double moved_bytes; /* loaded and stored */
    double set_bytes;   /* all that the ranks touch */
    bool lent;          /* some message is read where it lies */
    double cores;
};

/* False when memory is short. */
bool gw__cost_features_of(const struct gw_plan *plan, bool direct, size_t count,
                          size_t elem_bytes, const struct gw__setting *setting,
                          struct gw__cost_features *work);

#endif
