/* SPDX-License-Identifier: MIT
 *
 * The cost model. A prediction is the sum of a cost breakdown:
 *
 *     T = sum over lines of  amount * coefficient
 *
 * Messages (ipc, tcp, and shm if a plan is not direct):
 *
 *     call    + turns * turn         waiting rounds (cost_features.c)
 *             + messages * post      of all ranks, divided by the cores
 *             + messages * wake      again, if ranks wait: the receiver sleeps
 *                                    or waits for another rank's core
 *             + slices * slice       after the first of a message
 *     ipc, tcp, by the size of a message, 1K to 1M:
 *             + bytes * carry        of all ranks, divided by the cores
 *             + bytes * path         in sequence
 *             + bytes * memory       loaded and stored, of a set of 8M and more
 *             + bytes * add          that are reduced
 *     shm:    + messages * lend      that are read in place
 *             + bytes * move         loaded and stored, by the set's size
 *
 * A window pass (shm):
 *
 *     pass    + meet  (ranks wait for each other)  + leave  (not eager)
 *             + messages * look      of the busiest rank
 *             + messages * pass_post of all, divided by the cores
 *             + bytes * load         loaded and stored, by the set's size (a
 *                                    set too large for the caches is stored
 *                                    past them, reduce_past.c)
 *
 * Between two listed sizes the coefficient is interpolated on the logarithm of
 * the size. The coefficients include the effect of ranks that share a core,
 * since each number of ranks has its own.
 *
 * Measured on 2 cores with 2, 4 and 8 ranks, for all algorithms from 8 bytes to
 * 64 MiB that could win. The error is 10 to 19 % in the median and 36 to 67 %
 * in one of twenty, as long as the machine behaves as during calibration. With
 * one alpha and beta for all numbers of ranks it is 24 to 44 % and 42 to 86 %.
 * A host that moves the two virtual cores changes the machine: a barrier of 2
 * ranks then takes 0.38 us instead of 0.10, and the coefficients do not fit.
 */
#include "cost_model.h"

#include <math.h>
#include <string.h>

enum coefficient {
    CALL,
    TURN,
    WAKE,
    POST,
    SLICE,
    BORROW,
    CARRY,
    PATH = CARRY + 5,
    MEMORY = PATH + 5,
    ADD,
    MOVE,
    PASS = MOVE + 8,
    RENDEZVOUS,
    LEAVE,
    POLL,
    PASS_POST,
    LOAD,
    COEFFICIENTS = LOAD + 8,
};
_Static_assert((int)COEFFICIENTS <= (int)GW_COEFFICIENTS_MAX, "room for all");

static const struct {
    const char *name, *what;
} coefficients[COEFFICIENTS] = {
    [CALL] = {"call_us", "call"},
    [TURN] = {"turn_us", "turns"},
    [WAKE] = {"wake_us", "awaited messages per core"},
    [POST] = {"post_us", "messages per core"},
    [SLICE] = {"slice_us", "further slices per core"},
    [BORROW] = {"borrow_us", "messages in lent memory per core"},
    [CARRY] = {"carry_us_per_byte_1K", "bytes sent per core"},
    [CARRY + 1] = {"carry_us_per_byte_8K", "bytes sent per core"},
    [CARRY + 2] = {"carry_us_per_byte_32K", "bytes sent per core"},
    [CARRY + 3] = {"carry_us_per_byte_128K", "bytes sent per core"},
    [CARRY + 4] = {"carry_us_per_byte_1M", "bytes sent per core"},
    [PATH] = {"path_us_per_byte_1K", "bytes on the critical path"},
    [PATH + 1] = {"path_us_per_byte_8K", "bytes on the critical path"},
    [PATH + 2] = {"path_us_per_byte_32K", "bytes on the critical path"},
    [PATH + 3] = {"path_us_per_byte_128K", "bytes on the critical path"},
    [PATH + 4] = {"path_us_per_byte_1M", "bytes on the critical path"},
    [MEMORY] = {"memory_us_per_byte", "bytes of memory traffic"},
    [ADD] = {"add_us_per_byte", "bytes reduced per core"},
    [MOVE] = {"move_us_per_byte_16K", "bytes loaded and stored"},
    [MOVE + 1] = {"move_us_per_byte_128K", "bytes loaded and stored"},
    [MOVE + 2] = {"move_us_per_byte_512K", "bytes loaded and stored"},
    [MOVE + 3] = {"move_us_per_byte_2M", "bytes loaded and stored"},
    [MOVE + 4] = {"move_us_per_byte_8M", "bytes loaded and stored"},
    [MOVE + 5] = {"move_us_per_byte_32M", "bytes loaded and stored"},
    [MOVE + 6] = {"move_us_per_byte_64M", "bytes loaded and stored"},
    [MOVE + 7] = {"move_us_per_byte_256M", "bytes loaded and stored"},
    [PASS] = {"pass_us", "pass"},
    [RENDEZVOUS] = {"rendezvous_us", "meeting"},
    [LEAVE] = {"leave_us", "leaving"},
    [POLL] = {"poll_us", "peers of the busiest rank"},
    [PASS_POST] = {"pass_post_us", "peers of all ranks per core"},
    [LOAD] = {"load_us_per_byte_16K", "bytes loaded and stored"},
    [LOAD + 1] = {"load_us_per_byte_128K", "bytes loaded and stored"},
    [LOAD + 2] = {"load_us_per_byte_512K", "bytes loaded and stored"},
    [LOAD + 3] = {"load_us_per_byte_2M", "bytes loaded and stored"},
    [LOAD + 4] = {"load_us_per_byte_8M", "bytes loaded and stored"},
    [LOAD + 5] = {"load_us_per_byte_32M", "bytes loaded and stored"},
    [LOAD + 6] = {"load_us_per_byte_64M", "bytes loaded and stored"},
    [LOAD + 7] = {"load_us_per_byte_256M", "bytes loaded and stored"},
};

/* Sizes of messages, and of the memory that all ranks touch. */
static const double message_sizes[] = {1 << 10, 8 << 10, 32 << 10, 128 << 10,
                                       1 << 20};
static const double set_sizes[] = {16 << 10, 128 << 10, 512 << 10, 2 << 20,
                                   8 << 20,  32 << 20,  64 << 20,  256 << 20};
#define COUNT(list)      (sizeof(list) / sizeof *(list))
#define MEMORY_SET_BYTES (8 << 20)

const char *gw_coefficient_name(unsigned coefficient, const char **what)
{
    if (coefficient >= COEFFICIENTS)
        return NULL;
    if (what)
        *what = coefficients[coefficient].what;
    return coefficients[coefficient].name;
}

/* Divides the bytes between the two sizes around `size`. */
static void split_bytes(double *features, const double *sizes, size_t count,
                        double size, double bytes)
{
    size_t i = 0;
    while (i + 1 < count && size > sizes[i + 1])
        i++;
    if (size <= sizes[0]) {
        features[0] += bytes;
    } else if (i + 1 == count) {
        features[i] += bytes;
    } else {
        double part = log(size / sizes[i]) / log(sizes[i + 1] / sizes[i]);
        features[i] += (1 - part) * bytes;
        features[i + 1] += part * bytes;
    }
}

static void count_pass(const struct gw__cost_features *w, double *features)
{
    features[PASS] = 1;
    features[RENDEZVOUS] = w->waits;
    features[LEAVE] = !w->eager;
    features[POLL] = w->messages_busiest;
    features[PASS_POST] = w->messages / w->cores;
    split_bytes(&features[LOAD], set_sizes, COUNT(set_sizes), w->set_bytes,
                w->moved_bytes);
}

static void count_bytes(const struct gw__cost_features *w, double *features)
{
    split_bytes(&features[CARRY], message_sizes, COUNT(message_sizes),
                w->message_bytes, w->sent_bytes / w->cores);
    split_bytes(&features[PATH], message_sizes, COUNT(message_sizes),
                w->message_bytes, w->path_bytes);
    features[MEMORY] = w->set_bytes >= MEMORY_SET_BYTES ? w->moved_bytes : 0;
    features[ADD] = w->added_bytes / w->cores;
}

void gw__cost_breakdown(const struct gw__cost_features *w,
                        const struct gw__setting *setting,
                        double features[GW_COEFFICIENTS_MAX])
{
    memset(features, 0, GW_COEFFICIENTS_MAX * sizeof *features);
    if (w->passes) {
        count_pass(w, features);
        return;
    }
    features[CALL] = 1;
    features[TURN] = w->turns;
    features[POST] = w->messages / w->cores;
    features[WAKE] = w->turns > 0 ? features[POST] : 0;
    features[SLICE] = w->slices / w->cores;
    if (!setting->shared) {
        count_bytes(w, features);
        return;
    }
    features[BORROW] = w->borrowed ? features[POST] : 0;
    split_bytes(&features[MOVE], set_sizes, COUNT(set_sizes), w->set_bytes,
                w->moved_bytes);
}

double gw__cost_us(const double features[GW_COEFFICIENTS_MAX],
                   const double prices[GW_COEFFICIENTS_MAX])
{
    double us = 0;
    for (unsigned i = 0; i < COEFFICIENTS; i++)
        us += features[i] * prices[i];
    return us;
}
