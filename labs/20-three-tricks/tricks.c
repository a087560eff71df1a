/* SPDX-License-Identifier: MIT
 *
 * A worker with many updates of few keys, and servers in the same process.
 * push_all (push.c) pushes the updates. Then all rows are pulled and compared
 * with their sums. Prints the messages and bytes as a line of JSON:
 *
 *     tricks SERVERS SEED
 */
#include "tricks.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 8000, UPDATES = 20000, WIDTH = 16 };

static uint64_t keys[UPDATES];
static float rows[UPDATES * WIDTH], sums[KEYS * WIDTH], pulled[KEYS * WIDTH];
static bool wanted[KEYS];

static void draw(uint64_t seed)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (size_t i = 0; i < UPDATES; i++) {
        keys[i] = gw_rng_below(&rng, KEYS);
        wanted[keys[i]] = true;
        for (size_t k = 0; k < WIDTH; k++) {
            rows[i * WIDTH + k] = (float)gw_rng_below(&rng, 9) - 4;
            sums[keys[i] * WIDTH + k] += rows[i * WIDTH + k];
        }
    }
}

/* Counts the floats on the servers that differ from the sum of their
 * updates. */
static enum gw_err compare(struct gw_ps *ps, unsigned table, uint64_t *wrong,
                           struct gw_error *why)
{
    static uint64_t all[KEYS];
    for (size_t i = 0; i < KEYS; i++)
        all[i] = i;
    enum gw_err err = gw_ps_pull(ps, table, all, KEYS, pulled, NULL, why);
    *wrong = 0;
    for (size_t i = 0; i < KEYS * WIDTH; i++)
        *wrong += pulled[i] != sums[i];
    return err;
}

static enum gw_err work(struct gw_ps *ps, unsigned servers,
                        struct gw_error *why)
{
    const struct gw_ps_table_config config = {
        .name = "rows", .width = WIDTH, .updater = GW_PS_ADD};
    struct gw_ps_counts before, after;
    uint64_t distinct = 0, wrong = 0;
    unsigned table;
    for (size_t i = 0; i < KEYS; i++)
        distinct += wanted[i];
    enum gw_err err = gw_ps_table(ps, &config, &table, why);
    gw_ps_get_counts(ps, &before);
    if (!err)
        err = push_all(ps, table, WIDTH, UPDATES, keys, rows, why);
    gw_ps_get_counts(ps, &after);
    if (!err)
        err = compare(ps, table, &wrong, why);
    if (err)
        return err;
    uint64_t again = after.retries - before.retries;
    uint64_t in_place = after.bytes_in_place - before.bytes_in_place;
    uint64_t bytes = distinct * WIDTH * sizeof(float);
    printf("{\"servers\":%u,\"updates\":%d,\"keys\":%llu,\"messages\":%llu,"
           "\"bytes\":%llu,\"bytes_in_place\":%llu,\"wrong\":%llu}\n",
           servers, UPDATES, (unsigned long long)distinct,
           (unsigned long long)(after.messages_sent - before.messages_sent -
                                again),
           (unsigned long long)bytes,
           (unsigned long long)(again ? bytes : in_place),
           (unsigned long long)wrong);
    return GW_OK;
}

static enum gw_err run(unsigned servers, struct gw_error *why)
{
    const struct gw_ps_cluster_config config = {.servers = servers};
    struct gw_ps_config client = {.node = GW_PS_ANY};
    struct gw_ps_cluster *cluster;
    struct gw_ps *ps = NULL;
    enum gw_err err = gw_ps_cluster_start(&config, &cluster, why);
    if (err)
        return err;
    gw_ps_cluster_client(cluster, &client);
    err = gw_ps_connect(&client, &ps, why);
    if (!err)
        err = work(ps, servers, why);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
    return err;
}

int main(int argc, char **argv)
{
    struct gw_error why;
    if (argc < 3) {
        fprintf(stderr, "tricks SERVERS SEED\n");
        return 64;
    }
    draw(strtoull(argv[2], NULL, 10));
    enum gw_err err = run((unsigned)atoi(argv[1]), &why);
    if (err)
        fprintf(stderr, "tricks: %s\n", why.text);
    return err ? gw_err_exit(err) : 0;
}
