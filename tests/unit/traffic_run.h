/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests of plans in virtual time: topologies, plans and runs,
 * whose failure fails the test.
 */
#ifndef TRAFFIC_RUN_H
#define TRAFFIC_RUN_H

#include <gradwire/topology.h>

/* A million bytes per second: one byte per microsecond. */
#define RATE "976.5625K"
#define RACK "topology t\nnic rate=" RATE " latency=3us\nrack a: h[0-17]\n"

struct gw_topology *traffic_topology(const char *text);
struct gw_plan *traffic_make(enum gw_collective collective, const char *algo,
                             unsigned ranks, unsigned group);
struct gw_plan *traffic_read(const char *text);
/* Elements are bytes, so a count is a size. */
struct gw_topology_result *traffic_simulate(const struct gw_topology *topology,
                                            const struct gw_plan *plan,
                                            size_t bytes, double alpha_us,
                                            double gamma_us);
double traffic_time(const struct gw_topology *topology,
                    const struct gw_plan *plan, size_t bytes, double alpha_us,
                    double gamma_us);
/* Time is kept in picoseconds. */
void traffic_expect(double us, double expected);

#endif
