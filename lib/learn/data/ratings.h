/* SPDX-License-Identifier: MIT
 *
 * Who rated what, or clicked on it, from a file: a line has a user, an item and
 * a number, apart by blanks, commas or colons, and whatever comes behind them
 * (MovieLens' times) is not read. A first line without numbers is a heading;
 * "#" begins a comment. Users and items have any numbers of 64 bits; here they
 * count from 0, in the order of theirs.
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
    size_t test_begin; /* those from here on are for judging */
    uint32_t users, items;
};

/* Both files; of one without a test a tenth is held out, which follows from the
 * seed. GW_EDATA: "NAME:LINE: ..."; there is nothing in it. */
GW_MUST_CHECK enum gw_err gw__ratings_load(const char *train, const char *test,
                                           uint64_t seed,
                                           struct gw__ratings *ratings,
                                           struct gw_error *why);

#endif
