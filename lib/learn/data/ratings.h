/* SPDX-License-Identifier: MIT
 *
 * Ratings or clicks from a file. A line has a user, an item and a number,
 * separated by blanks, commas or colons; the rest of the line (MovieLens'
 * times) is ignored. A first line without numbers is a heading; "#" begins a
 * comment. Users and items have arbitrary 64-bit ids; here they are numbered
 * from 0, in the order of their ids.
 */
#ifndef GW__RATINGS_H
#define GW__RATINGS_H

#include <gradwire/base.h>

struct gw__rating {
    uint32_t user, item;
    float value;
};

struct gw__ratings {
    struct gw__rating *rating;
    size_t count;
    size_t test_begin; /* ratings from here on are the test set */
    uint32_t users, items;
};

/* Loads both files. Without `test` a tenth is held out, selected by the seed.
 * GW_EDATA: "NAME:LINE: ..."; *ratings is empty. */
GW_MUST_CHECK enum gw_err gw__ratings_load(const char *train, const char *test,
                                           uint64_t seed,
                                           struct gw__ratings *ratings,
                                           struct gw_error *why);

#endif
