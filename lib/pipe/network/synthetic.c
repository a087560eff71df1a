/* SPDX-License-Identifier: MIT
 *
 * Synthetic work, which takes time without computing.
 *
 * A sleep ends at a given time, but the sleeper wakes a little late. The excess
 * is subtracted from the next pass, so that errors do not accumulate: any
 * number of passes takes the correct time plus the last one's delay.
 *
 * Spinning uses a core for the given CPU time of the thread. If stages share
 * cores it takes longer, as real work would. The loop reads the time once per
 * block, whose length is calibrated at the first use.
 */
#include <gradwire/pipe.h>

#include <time.h>

static const uint64_t second_ns = 1000000000;

static uint64_t time_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

/* A larger delay is not an error of the clock: the machine was busy. */
static uint64_t forgiven(uint64_t late_ns)
{
    static const uint64_t most_ns = 2000000;
    return late_ns < most_ns ? late_ns : most_ns;
}

static void sleep_for(struct gw_synthetic *work, double us)
{
    uint64_t length_ns = (uint64_t)(us * 1000);
    uint64_t owed_ns = work->late_ns < length_ns ? work->late_ns : length_ns;
    uint64_t end_ns = time_ns(CLOCK_MONOTONIC) + length_ns - owed_ns;
    const struct timespec end = {.tv_sec = (time_t)(end_ns / second_ns),
                                 .tv_nsec = (long)(end_ns % second_ns)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
        continue; /* interrupted by a signal */
    work->late_ns =
        forgiven(time_ns(CLOCK_MONOTONIC) - end_ns) + (work->late_ns - owed_ns);
}

static void spin_block(unsigned rounds)
{
    volatile unsigned sink = 0;
    for (unsigned i = 0; i < rounds; i++)
        sink = sink * 1664525U + 1013904223U;
}

/* The number of rounds for a block of about 10 us. */
static unsigned calibrate(void)
{
    enum { BLOCK_NS = 10000, TRIED = 20000 };
    uint64_t least_ns = UINT64_MAX;
    for (unsigned i = 0; i < 5; i++) {
        uint64_t begin_ns = time_ns(CLOCK_THREAD_CPUTIME_ID);
        spin_block(TRIED);
        uint64_t took_ns = time_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
        if (took_ns < least_ns)
            least_ns = took_ns;
    }
    uint64_t rounds = (uint64_t)TRIED * BLOCK_NS / (least_ns + 1);
    return rounds > 0 && rounds < 1000000 ? (unsigned)rounds : TRIED;
}

static void spin_for(struct gw_synthetic *work, double us)
{
    if (work->spin_rounds == 0)
        work->spin_rounds = calibrate();
    uint64_t end_ns = time_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)(us * 1000);
    while (time_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
        spin_block(work->spin_rounds);
}

static void spend(struct gw_synthetic *work, double us)
{
    if (us <= 0)
        return;
    if (work->spin)
        spin_for(work, us);
    else
        sleep_for(work, us);
}

static size_t elements(void *context, unsigned after, unsigned micro)
{
    const struct gw_synthetic *work = context;
    (void)after;
    (void)micro;
    return work->message_elements;
}

static enum gw_err forward(void *context, unsigned chunk, unsigned micro,
                           const float *in, float *out, struct gw_error *why)
{
    struct gw_synthetic *work = context;
    (void)chunk;
    (void)micro;
    (void)in;
    (void)out;
    (void)why;
    spend(work, work->forward_us);
    return GW_OK;
}

static enum gw_err backward(void *context, unsigned chunk, unsigned micro,
                            enum gw_pass_kind kind, const float *grad_out,
                            float *grad_in, struct gw_error *why)
{
    struct gw_synthetic *work = context;
    double us = 0;
    (void)chunk;
    (void)micro;
    (void)grad_out;
    (void)grad_in;
    (void)why;
    if (kind != GW_BACKWARD_WEIGHT)
        us += work->input_us;
    if (kind != GW_BACKWARD_INPUT)
        us += work->weight_us;
    spend(work, us);
    return GW_OK;
}

const struct gw_stage_work *gw_synthetic_work(void)
{
    static const struct gw_stage_work work = {
        .elements = elements, .forward = forward, .backward = backward};
    return &work;
}
