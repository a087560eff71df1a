/* SPDX-License-Identifier: MIT
 *
 * Rows that the threads of one worker write without locks (Niu, Recht, Re,
 * Wright: "Hogwild!", NIPS 2011; Project Adam, OSDI 2014, section 3.1), and a
 * count of lost updates.
 *
 * Each row has a counter. An update reads it before it reads the row, and
 * writes the incremented value after it has written the row, also without a
 * lock:
 *
 *     thread A   read count 4   read row   write row   write count 5
 *     thread B       read count 4   read row   write row   write count 5
 *
 * If A and B overlap so that one overwrites floats of the other, it also
 * overwrites the other's counter. So if no increment is missing, nothing was
 * lost, and
 *
 *     lost = updates that the threads made - sum of the counts
 *
 * Two updates that overlap in a row of many floats may each keep some of them;
 * one of the two is then counted as lost.
 */
#ifndef GW__UNLOCKED_H
#define GW__UNLOCKED_H

#include <gradwire/train.h>

struct gw__thread_pool;

struct gw__unlocked {
    struct gw__thread_pool *pool; /* NULL: one thread */
    unsigned threads;
    uint32_t *row_writes[GW_TASK_TABLES_MAX];
    size_t room[GW_TASK_TABLES_MAX]; /* rows */
    struct gw_sample_sums *sums;     /* of each thread */
};

/* Call it before the row is read. */
static inline uint32_t gw__row_write_begin(const uint32_t *counts, size_t row)
{
    uint32_t count =
        counts ? __atomic_load_n(counts + row, __ATOMIC_RELAXED) : 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return count;
}

/* Call it after the row was written. */
static inline void gw__row_write_end(uint32_t *counts, size_t row,
                                     uint32_t count)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (counts)
        __atomic_store_n(counts + row, count + 1, __ATOMIC_RELAXED);
}

/* Floats are read and written atomically, without any order. */
static inline void gw__unlocked_add(float *at, float value)
{
    float old;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    old += value;
    __atomic_store(at, &old, __ATOMIC_RELAXED);
}

static inline void gw__unlocked_add_double(double *at, double value)
{
    double old;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    old += value;
    __atomic_store(at, &old, __ATOMIC_RELAXED);
}

/* Makes room for the counters of the item's rows. */
GW_MUST_CHECK enum gw_err gw__unlocked_reserve(struct gw_work_item *item,
                                               struct gw_error *why);
/* Computes all shares of the item, between `begin` and `finish`. */
void gw__unlocked_compute(struct gw_work_item *item, const float *const *rows,
                          float *const *gradients, struct gw_sample_sums *sums);
void gw__unlocked_fini(struct gw_work_item *item);

#endif
