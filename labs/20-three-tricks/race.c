/* SPDX-License-Identifier: MIT
 *
 * Threads add to the same floats at once by add (add.c). Prints the missing part of
 * the sum as a line of JSON:
 *
 *     race SEED
 */
#include "tricks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ADDS = 300000, FLOATS = 3 };

static float at[FLOATS];

static void *run(void *context)
{
    (void)context;
    for (unsigned i = 0; i < ADDS; i++)
        for (unsigned k = 0; k < FLOATS; k++)
            add(&at[k], 1);
    return NULL;
}

/* Adds fractions in one thread. Returns the number of wrong sums. */
static unsigned count_wrong(uint64_t seed)
{
    struct gw_rng rng;
    unsigned wrong = 0;
    gw_rng_seed(&rng, seed);
    for (unsigned i = 0; i < 1000; i++) {
        float before = (float)gw_rng_unit(&rng) - 0.5f;
        float more = 1e3f * ((float)gw_rng_unit(&rng) - 0.5f);
        float is = before;
        add(&is, more);
        wrong += is != before + more;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double missing = 0;
    for (unsigned t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, run, NULL)) {
            fprintf(stderr, "race: cannot create a thread\n");
            return 70;
        }
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (unsigned k = 0; k < FLOATS; k++)
        missing += (double)THREADS * ADDS - (double)at[k];
    printf("{\"threads\":%d,\"updates\":%d,\"missing\":%.0f,\"wrong\":%u}\n",
           THREADS, THREADS * ADDS * FLOATS, missing,
           count_wrong(argc > 1 ? strtoull(argv[1], NULL, 10) : 1));
    return 0;
}
