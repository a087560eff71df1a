/* SPDX-License-Identifier: MIT
 *
 * All-reduce on a box of prime sides, those within a rack first. A rank's
 * number has a digit for each side: r = x1 + q1 (x2 + q2 (x3 + ...)). Along one
 * side after the other, small rings reduce-scatter the chunks for which their
 * ranks are still responsible. After side i, these are the chunks whose first i
 * digits are the rank's own. Then backwards, with copies. The rounds are 2
 * times the sum of q-1, the bytes are those of a ring, and only a rack's share
 * of the buffer crosses its uplink.
 */
#include <gradwire/gradwire.h>

enum { SIDES_MAX = 32 };

struct box {
    unsigned ranks, sides;
    unsigned side[SIDES_MAX];
};

static void split(struct box *box, unsigned n)
{
    for (unsigned q = 2; n > 1; q++)
        for (; n % q == 0; n /= q)
            box->side[box->sides++] = q;
}

/* Ranks that do not fill whole racks get a box without racks. */
static struct box box_of(const struct gw_algo_args *args)
{
    struct box box = {.ranks = args->ranks};
    bool racks = args->group > 0 && args->ranks % args->group == 0;
    unsigned rack = racks ? args->group : 1;
    split(&box, rack);
    split(&box, args->ranks / rack);
    return box;
}

static bool valid(unsigned ranks)
{
    return ranks > 0;
}

static unsigned chunks(const struct gw_algo_args *args)
{
    return args->ranks;
}

/* One round on all rings along a side of q ranks, which are `below` apart: each
 * rank sends on the chunks whose digit is its own less `lag`. */
static void pass(struct gw_builder *b, unsigned ranks, unsigned below,
                 unsigned q, unsigned lag, enum gw_action action)
{
    gw_builder_step(b);
    for (unsigned r = 0; r < ranks; r++) {
        unsigned x = r / below % q;
        unsigned next = r - x * below + (x + 1) % q * below;
        unsigned chunk = r % below + (x + q - lag) % q * below;
        for (; chunk < ranks; chunk += below * q)
            gw_builder_add(b, r, next, chunk, action);
    }
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct box box = box_of(args);
    unsigned below = 1;
    for (unsigned i = 0; i < box.sides; below *= box.side[i++])
        for (unsigned lag = 1; lag < box.side[i]; lag++)
            pass(b, box.ranks, below, box.side[i], lag, GW_ADD);
    for (unsigned i = box.sides; i-- > 0;) {
        below /= box.side[i];
        for (unsigned lag = 0; lag + 1 < box.side[i]; lag++)
            pass(b, box.ranks, below, box.side[i], lag, GW_REPLACE);
    }
}

static const struct gw_algo mine = {
    .name = "mine",
    .collective = GW_ALLREDUCE,
    .valid = valid,
    .chunks = chunks,
    .emit = emit,
};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLAN,
    .name = "mine",
    .summary = "all-reduce on a box of prime sides, racks first",
    .plan = &mine,
};
