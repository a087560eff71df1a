/* SPDX-License-Identifier: MIT
 *
 * The speed of a server's store, on one core: nanoseconds per key for finding
 * and making rows and for updating them, and GB/s read and written by a long
 * update. The best of several tries.
 */
#include "ps/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 1 << 20, TRIES = 7 };

struct lists {
    uint64_t *sorted, *some, *random, *absent;
    uint32_t *places;
    float *values;
};

static void fail(const struct gw_error *why)
{
    fprintf(stderr, "store: %s\n", why->text);
    exit(gw_err_exit(why->code));
}

static void *get(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        exit(70);
    memset(memory, 0, bytes);
    return memory;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void shuffle(uint64_t *keys, size_t count, struct gw_rng *rng)
{
    for (size_t i = count - 1; i > 0; i--) {
        size_t other = gw_rng_below(rng, i + 1);
        uint64_t key = keys[i];
        keys[i] = keys[other];
        keys[other] = key;
    }
}

/* `some`: about every second of the sorted keys. */
static size_t make_lists(struct lists *lists)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, 1);
    lists->sorted = get(KEYS * sizeof(uint64_t));
    lists->some = get(KEYS * sizeof(uint64_t));
    lists->random = get(KEYS * sizeof(uint64_t));
    lists->absent = get(KEYS * sizeof(uint64_t));
    lists->places = get(KEYS * sizeof(uint32_t));
    lists->values = get((size_t)KEYS * sizeof(float) * 16);
    for (size_t i = 0; i < KEYS; i++) {
        lists->sorted[i] = gw_rng_next(&rng);
        lists->absent[i] = gw_rng_next(&rng);
    }
    qsort(lists->sorted, KEYS, sizeof(uint64_t), by_value);
    memcpy(lists->random, lists->sorted, KEYS * sizeof(uint64_t));
    shuffle(lists->random, KEYS, &rng);
    size_t some = 0;
    for (size_t i = 0; i < KEYS; i++)
        if (gw_rng_below(&rng, 2))
            lists->some[some++] = lists->sorted[i];
    for (size_t i = 0; i < (size_t)KEYS * 16; i++)
        lists->values[i] = (float)(i % 7) * 0.01F;
    return some;
}

static struct gw__store *new_store(enum gw_ps_updater updater, unsigned width)
{
    struct gw_ps_table_config config = {.name = "bench",
                                        .width = width,
                                        .updater = updater,
                                        .rate = 0.1F,
                                        .momentum = 0.9F,
                                        .beta1 = 0.9F,
                                        .beta2 = 0.999F,
                                        .epsilon = 1e-6F,
                                        .beta = 1,
                                        .l1 = 0.01F,
                                        .l2 = 0.1F};
    struct gw__updater bound;
    struct gw__store *store = NULL;
    struct gw_error why;
    if (gw__updater_init(&bound, &config, NULL, NULL, 0, &why) ||
        gw__store_new(&bound, 0, 0, &store, &why))
        fail(&why);
    return store;
}

static void find(struct gw__store *store, const uint64_t *keys, size_t count,
                 bool make, uint32_t *places)
{
    struct gw_error why;
    if (gw__store_find(store, keys, count, make, places, &why))
        fail(&why);
}

static void print_find(const char *name, struct gw__store *store,
                       const uint64_t *keys, size_t count, uint32_t *places)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = gw_now_ns();
        find(store, keys, count, false, places);
        uint64_t ns = gw_now_ns() - begin;
        best = ns < best ? ns : best;
    }
    printf("find %-22s %8.2f ns/key\n", name, (double)best / (double)count);
}

static void print_make(const char *name, const uint64_t *keys, uint32_t *places)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        struct gw__store *store = new_store(GW_PS_ADD, 1);
        uint64_t begin = gw_now_ns();
        find(store, keys, KEYS, true, places);
        uint64_t ns = gw_now_ns() - begin;
        best = ns < best ? ns : best;
        gw__store_destroy(&store);
    }
    printf("make %-22s %8.2f ns/key\n", name, (double)best / KEYS);
}

static void print_finds(const struct lists *lists, size_t some)
{
    struct gw__store *store = new_store(GW_PS_ADD, 1);
    find(store, lists->sorted, KEYS, true, lists->places);
    print_find("sorted, all", store, lists->sorted, KEYS, lists->places);
    print_find("sorted, every other", store, lists->some, some, lists->places);
    print_find("random", store, lists->random, KEYS, lists->places);
    print_find("absent", store, lists->absent, KEYS, lists->places);
    printf("overhead %27.2f bytes/row\n",
           ((double)gw__store_bytes(store)) / KEYS - sizeof(float));
    gw__store_destroy(&store);
    print_make("sorted", lists->sorted, lists->places);
    print_make("random", lists->random, lists->places);
}

/* All rows of a table of KEYS * 16 / width, in a run or in random order. */
static void print_update(enum gw_ps_updater updater, unsigned width, bool run,
                         const struct lists *lists)
{
    size_t count = width < 16 ? KEYS : KEYS / width * 16;
    struct gw__store *store = new_store(updater, width);
    uint64_t best = UINT64_MAX;
    find(store, lists->sorted, count, true, lists->places);
    if (!run)
        find(store, lists->random, count, true, lists->places);
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = gw_now_ns();
        gw__store_update(store, lists->places, count, lists->values, 0.5F);
        uint64_t ns = gw_now_ns() - begin;
        best = ns < best ? ns : best;
    }
    /* The row twice, the gradient once. */
    double floats = 3.0 * width + 2.0 * gw__store_updater(store)->state_floats;
    printf("%-9s %5u wide, %-7s %8.2f ns/key %8.2f GB/s\n",
           gw_ps_updater_name(updater), width, run ? "run" : "random",
           (double)best / (double)count,
           floats * sizeof(float) * (double)count / (double)best);
    gw__store_destroy(&store);
}

static void print_first_bad(const struct lists *lists)
{
    const size_t count = (size_t)KEYS * 16;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = gw_now_ns();
        if (gw__first_bad(lists->values, count) != count)
            exit(70);
        uint64_t ns = gw_now_ns() - begin;
        best = ns < best ? ns : best;
    }
    printf("first_bad %36.2f GB/s\n",
           (double)(count * sizeof(float)) / (double)best);
}

static void print_memcpy(const struct lists *lists)
{
    const size_t bytes = (size_t)KEYS * 16 * sizeof(float);
    void *copy = get(bytes);
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = gw_now_ns();
        memcpy(copy, lists->values, bytes);
        uint64_t ns = gw_now_ns() - begin;
        best = ns < best ? ns : best;
    }
    /* Otherwise a compiler would remove the unused copy. */
    if (memcmp(copy, lists->values, bytes) != 0)
        exit(70);
    printf("memcpy %39.2f GB/s\n", 2 * (double)bytes / (double)best);
    free(copy);
}

int main(void)
{
    struct lists lists;
    size_t some = make_lists(&lists);
    print_finds(&lists, some);
    for (unsigned updater = 0; updater < GW_PS_CALLBACK; updater++) {
        print_update((enum gw_ps_updater)updater, 1, true, &lists);
        print_update((enum gw_ps_updater)updater, 1, false, &lists);
        print_update((enum gw_ps_updater)updater, 16, true, &lists);
        print_update((enum gw_ps_updater)updater, 1024, true, &lists);
    }
    print_first_bad(&lists);
    print_memcpy(&lists);
    free(lists.sorted);
    free(lists.some);
    free(lists.random);
    free(lists.absent);
    free(lists.places);
    free(lists.values);
    return 0;
}
