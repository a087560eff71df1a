/* SPDX-License-Identifier: MIT
 *
 * A cluster for tests; see ps_cluster.h.
 */
#include "ps_cluster.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 5 };

const char *const cluster_wires[3] = {"shm", "ipc", "tcp"};
uint64_t cluster_keys[CLUSTER_KEYS];
float cluster_ones[CLUSTER_KEYS];

void cluster_setup(void)
{
    for (uint64_t i = 0; i < CLUSTER_KEYS; i++) {
        cluster_keys[i] = i * 7919 + 3;
        cluster_ones[i] = 1;
    }
}

struct gw_ps_cluster *cluster_start(const char *wire, unsigned servers,
                                    unsigned replicas)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster;
    const struct gw_ps_cluster_config config = {
        .servers = servers, .replicas = replicas, .wire = wire, .seed = SEED};
    ck_assert_msg(!gw_ps_cluster_start(&config, &cluster, &why), "%s",
                  why.text);
    return cluster;
}

struct gw_ps *cluster_join_with(struct gw_ps_cluster *cluster,
                                const struct gw_ps_config *config)
{
    struct gw_error why;
    struct gw_ps *ps;
    struct gw_ps_config mine = *config;
    gw_ps_cluster_client(cluster, &mine);
    mine.timeout_ms = config->timeout_ms;
    mine.half = config->half;
    mine.top_share = config->top_share;
    mine.significant = config->significant;
    mine.no_place = config->no_place;
    mine.no_key_cache = config->no_key_cache;
    mine.no_bundle = config->no_bundle;
    mine.ask_routes = config->ask_routes;
    mine.aggregate = config->aggregate;
    mine.aggregator_node = config->aggregator_node;
    ck_assert_msg(!gw_ps_connect(&mine, &ps, &why), "%s", why.text);
    return ps;
}

struct gw_ps *cluster_join(struct gw_ps_cluster *cluster)
{
    return cluster_join_with(cluster, &(struct gw_ps_config){0});
}

unsigned cluster_table(struct gw_ps *ps, uint32_t width)
{
    struct gw_error why;
    unsigned table;
    struct gw_ps_table_config config = {.width = width, .updater = GW_PS_ADD};
    snprintf(config.name, sizeof config.name, "w%u", width);
    ck_assert_msg(!gw_ps_table(ps, &config, &table, &why), "%s", why.text);
    return table;
}

void cluster_push(struct gw_ps *ps, unsigned table, size_t count)
{
    struct gw_error why;
    ck_assert_msg(
        !gw_ps_push(ps, table, cluster_keys, count, cluster_ones, NULL, &why),
        "%s", why.text);
}

void cluster_expect(struct gw_ps *ps, unsigned table, size_t count, float value)
{
    struct gw_error why;
    float out[CLUSTER_KEYS];
    memset(out, 0xff, sizeof out);
    ck_assert_msg(!gw_ps_pull(ps, table, cluster_keys, count, out, NULL, &why),
                  "%s", why.text);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(out[i] == value, "key %zu is %g, not %g", i,
                      (double)out[i], (double)value);
}
