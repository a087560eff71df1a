/* SPDX-License-Identifier: MIT
 *
 * For tests of clients: a cluster in this process, and pushes of ones.
 */
#ifndef TESTS_PS_CLUSTER_H
#define TESTS_PS_CLUSTER_H

#include <gradwire/ps.h>

enum { CLUSTER_KEYS = 2000 };

extern const char *const cluster_wires[3];
extern uint64_t cluster_keys[CLUSTER_KEYS];
extern float cluster_ones[CLUSTER_KEYS];

/* Fills both arrays. */
void cluster_setup(void);
struct gw_ps_cluster *cluster_start(const char *wire, unsigned servers,
                                    unsigned replicas);
/* A client. Only filters, half, timeout_ms and experiments of the configuration
 * are used. */
struct gw_ps *cluster_join_with(struct gw_ps_cluster *cluster,
                                const struct gw_ps_config *config);
struct gw_ps *cluster_join(struct gw_ps_cluster *cluster);
/* The table of that width, with the adding updater. */
unsigned cluster_table(struct gw_ps *ps, uint32_t width);
/* Pushes ones to the first `count` keys. */
void cluster_push(struct gw_ps *ps, unsigned table, size_t count);
/* Checks that they all have this value. */
void cluster_expect(struct gw_ps *ps, unsigned table, size_t count,
                    float value);

#endif
