/* SPDX-License-Identifier: MIT
 *
 * The features of a call that determine its cost, counted from its plan alone,
 * without a clock. cost_model.h turns them into the lines of a cost breakdown,
 * and calibration finds the coefficient of each line.
 */
#ifndef GW__COST_FEATURES_H
#define GW__COST_FEATURES_H

#include "coll/comm.h"

/* The settings of a call that its counts depend on, in addition to its plan. */
struct gw__setting {
    bool windows; /* direct plans run as window passes */
    bool shared;  /* messages name memory that the receiver reads: shm */
    double cores; /* that the ranks share */
};

struct gw__cost_features {
    bool passes;  /* a window pass, without messages */
    bool eager;   /* of those: inputs travel in the control blocks */
    bool waits;   /* in a loop of such calls, ranks wait for each other */
    double turns; /* sequential messages that a call waits for */
    double messages, messages_busiest; /* of all ranks; of one, both ways */
    double slices;                     /* beyond the first of a message */
    double message_bytes;              /* of one message, on average */
    double sent_bytes, path_bytes;     /* of all; in sequence */
    double added_bytes;                /* of all */
    /* Memory: of the busiest rank, or of all divided by the cores, whichever is
     * larger. */
    double moved_bytes; /* loaded and stored */
    double set_bytes;   /* all that the ranks touch */
    bool borrowed;      /* some message is read in place */
    double cores;
};

/* False when memory is short. */
bool gw__cost_features_of(const struct gw_plan *plan, bool direct, size_t count,
                          size_t elem_bytes, const struct gw__setting *setting,
                          struct gw__cost_features *work);

#endif
