/* SPDX-License-Identifier: MIT
 *
 * What controllers, servers and workers of the parameter server agree on:
 * limits, and what a table is. The rest is in gradwire/ps.h.
 */
#ifndef GRADWIRE_CONTROL_H
#define GRADWIRE_CONTROL_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GW_PS_NODES = 64,
    GW_PS_SLOTS_MAX = 64,
    GW_PS_REPLICAS_MAX = 5,
    GW_PS_TABLES_MAX = 16,
    GW_PS_GROUPS_MAX = 4,
    GW_PS_CONTROLLERS = 7,
    GW_PS_ANY = 255,
    GW_PS_NAME_MAX = 24,       /* with its end */
    GW_PS_WIDTH_MAX = 1 << 20, /* floats a row */
    GW_PS_STALENESS_MAX = 64   /* the histogram's last entry has all above */
};

/* How a row w changes by a pushed row g. t counts the row's updates. */
enum gw_ps_updater {
    GW_PS_ADD,      /* w += g */
    GW_PS_ASSIGN,   /* w = g */
    GW_PS_SGD,      /* w -= rate (g + l2 w) */
    GW_PS_MOMENTUM, /* v = momentum v + g + l2 w;  w -= rate v */
    GW_PS_ADAGRAD,  /* n += g²;  w -= rate g / (sqrt n + epsilon) */
    GW_PS_ADAM,     /* Kingma and Ba 2015, algorithm 1; beta1, beta2, epsilon */
    GW_PS_FTRL,     /* FTRL-proximal: McMahan et al., KDD 2013, algorithm 1;
                       rate = alpha, beta, l1, l2 */
    GW_PS_CALLBACK, /* the servers' own: gw_ps_server_config.update */
    GW_PS_UPDATERS
};

struct gw_ps_table_config {
    char name[GW_PS_NAME_MAX];
    uint32_t width;   /* floats a row */
    uint32_t updater; /* enum gw_ps_updater */
    uint32_t group;   /* whose clock it obeys */
    uint32_t dense;   /* rows of a dense table, keys 0 to dense-1, in
                         contiguous ranges; 0: sparse */
    float rate, momentum, beta1, beta2, epsilon, beta, l1, l2;
    float init_range; /* new rows are uniform in [-r, r], by key and seed */
    uint32_t reserved;
    uint64_t init_seed;
};

#ifdef __cplusplus
}
#endif
#endif
