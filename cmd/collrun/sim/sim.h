/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the parts of collrun sim: the simulation (sim.c), this machine as a
 * topology (sim_machine.c), and the output (sim_table.c).
 */
#ifndef SIM_H
#define SIM_H

#include "common/command.h"

/* An algorithm in an order of ranks. */
struct sim_row {
    char algo[64];
    const char *without; /* the removed links; NULL: none */
    enum gw_rank_order order;
    double optimum_us; /* the bound of the topology; NaN: not known */
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
    uint64_t reduce_rate; /* bytes per second; 0: no limit */
    const char *without;  /* at present; NULL: none removed */
    double optimum_us;    /* at present, as in a row */
    size_t row_count, row_room;
    struct sim_row *rows;
};

/* ---- sim_machine.c ---- */

enum { SIM_MACHINE_RANKS_MAX = 64 };

/* Ranks of one host over a wire. */
struct sim_machine {
    const char *wire;
    unsigned ranks;
};
GW_MUST_CHECK enum gw_err
sim_machine_topology(const struct sim_machine *machine,
                     struct gw_topology **topology, struct gw_error *why);
/* Its alpha, and 1/gamma in bytes per second (0: no limit), before they are
 * stretched. */
void sim_machine_costs(const struct sim_machine *machine, double *message_us,
                       uint64_t *reduce_rate);
/* Runs run->plan, which is one of `algo`; the costs in `run` are ignored. */
GW_MUST_CHECK enum gw_err sim_machine_run(const struct sim_machine *machine,
                                          const struct gw_algo *algo,
                                          const struct gw_topology_run *run,
                                          struct gw_topology_result **result,
                                          struct gw_error *why);

/* ---- sim_orders.c ---- */

enum { SIM_ORDERS_MAX = 4 };

/* The requested order, or the file's; `word` NULL or "all". */
enum gw_rank_order sim_order(const struct gw_topology *topology,
                             const char *word);
/* The orders of the rows: all different ones, with "all" or for `several`
 * algorithms; else the requested one, or the file's. Returns how many. */
unsigned sim_orders(const struct gw_topology *topology, const char *word,
                    bool several, enum gw_rank_order orders[SIM_ORDERS_MAX]);

/* ---- sim_table.c ---- */

/* Both sort the rows, the fastest first, and return the exit status. One row
 * per algorithm and order; or one row for each of its uplinks (with -v: each
 * link with traffic), both directions. */
int sim_print(struct sim_table *table);
int sim_print_links(struct sim_table *table);
/* One row per pair of ranks: the kinds of links on the path from the one to the
 * other, its rate and latency. */
int sim_print_routes(const struct sim_table *table);

#endif
