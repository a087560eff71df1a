/* SPDX-License-Identifier: MIT
 *
 * log(1 + e^z) and its slope from a table, since exponentials are too slow for
 * the inner loop of word2vec. As in word2vec.c the table is limited in |z|,
 * here to 8 with steps of 1/256. Its error is 2e-3 in the loss and 5e-4 in the
 * slope. Beyond the limit the slope is 0 or 1. A NaN stays a NaN.
 */
#ifndef GW__LOGISTIC_TABLE_H
#define GW__LOGISTIC_TABLE_H

#include <stddef.h>

enum { GW__TABLE_REACH = 8, GW__TABLE_STEPS = 256 };

struct gw__logistic_entry {
    float loss, slope;
};

struct gw__logistic_table {
    struct gw__logistic_entry entry[2 * GW__TABLE_REACH * GW__TABLE_STEPS + 1];
};

/* Created once; thread-safe. */
const struct gw__logistic_table *gw__logistic_table(void);

static inline struct gw__logistic_entry
gw__logistic_lookup(const struct gw__logistic_table *table, float z)
{
    if (!(z > -GW__TABLE_REACH)) {
        float nothing = z == z ? 0 : z;
        return (struct gw__logistic_entry){nothing, nothing};
    }
    if (!(z < GW__TABLE_REACH))
        return (struct gw__logistic_entry){z, 1};
    float place = (z + (float)GW__TABLE_REACH) * (float)GW__TABLE_STEPS;
    return table->entry[(size_t)(place + 0.5f)];
}

#endif
