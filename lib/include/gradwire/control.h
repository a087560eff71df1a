/* SPDX-License-Identifier: MIT
 *
 * Limits and tables of the parameter server, which controllers, servers and
 * workers share. gradwire/ps.h has the rest.
 */
#ifndef GRADWIRE_CONTROL_H
#define GRADWIRE_CONTROL_H

#include <gradwire/nodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every member may be a server or a worker. A slot costs each process that
 * knows the routes some 50 bytes, and a server 1.5 KB: this many slots let 128
 * servers have eight each. */
enum {
    GW_PS_NODES = GW_NODES_MAX,
    GW_PS_SLOTS_MAX = 1024,
    GW_PS_SLOTS_DEFAULT = 64,
    GW_PS_SEGMENTS_MAX = 64, /* slots in one message between worker and server;
                                a larger request is several messages */
    GW_PS_REPLICAS_MAX = 5,
    GW_PS_TABLES_MAX = 16,
    GW_PS_GROUPS_MAX = 4,
    GW_PS_CONTROLLERS = 7,
    GW_PS_ANY = 65535,
    GW_PS_NAME_MAX = 24,       /* with the final 0 */
    GW_PS_WIDTH_MAX = 1 << 20, /* floats per row */
    GW_PS_STALENESS_MAX = 64   /* last entry of the histogram, and above */
};

/* The updaters: how a pushed row g changes a row w. t is the number of updates
 * of the row. */
enum gw_ps_updater {
    GW_PS_ADD,      /* w += g */
    GW_PS_ASSIGN,   /* w = g */
    GW_PS_SGD,      /* w -= rate (g + l2 w) */
    GW_PS_MOMENTUM, /* v = momentum v + g + l2 w;  w -= rate v */
    GW_PS_ADAGRAD,  /* n += g²;  w -= rate g / (sqrt n + epsilon) */
    /* Kingma and Ba 2015, algorithm 1; beta1, beta2, epsilon */
    GW_PS_ADAM,
    /* FTRL-proximal: McMahan et al., KDD 2013, algorithm 1; rate = alpha,
     * beta, l1, l2 */
    GW_PS_FTRL,
    GW_PS_CALLBACK, /* the servers' own: gw_ps_server_config.update */
    GW_PS_UPDATERS
};

/* The configuration of a table. */
struct gw_ps_table_config {
    char name[GW_PS_NAME_MAX];
    uint32_t width;   /* floats per row */
    uint32_t updater; /* enum gw_ps_updater */
    uint32_t group;   /* number of its clock */
    /* Number of rows of a dense table, with the keys 0 to dense-1 in
     * contiguous ranges; 0: sparse. */
    uint32_t dense;
    float rate, momentum, beta1, beta2, epsilon, beta, l1, l2;
    float init_range; /* r: new rows are uniform in [-r, r], by key, seed */
    uint32_t reserved;
    uint64_t init_seed;
};

#ifdef __cplusplus
}
#endif
#endif
