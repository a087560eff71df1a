/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the parts of collrun sim: what is simulated (sim.c), and how it is
 * printed (sim_table.c).
 */
#ifndef SIM_H
#define SIM_H

#include "common/command.h"

/* An algorithm in an order of ranks. */
struct sim_row {
    char algo[64];
    enum gw_rank_order order;
    struct gw_topology_result *result;
};

struct sim_table {
    struct gw_topology *topology;
    enum gw_collective collective;
    const char *dtype;
    unsigned ranks;
    uint64_t bytes; /* a rank's buffer, all blocks of it */
    size_t elem_bytes, count;
    double message_us;
    uint64_t reduce_rate; /* bytes a second; 0: no limit */
    size_t row_count, row_room;
    struct sim_row *rows;
};

/* Both sort the rows, the fastest first, and return the exit status. A row an
 * algorithm and order; or a row for each uplink of it (with -v: each link that
 * carried something), both directions. */
int sim_print(struct sim_table *table);
int sim_print_links(struct sim_table *table);

#endif
