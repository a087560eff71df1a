/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One CPU per rank. Ranks that wait for each other wake each other, and the
 * scheduler prefers to run a woken process on the waker's CPU. So two ranks can
 * share one CPU for a whole run while another is idle, and every wait then
 * costs a scheduling delay. Therefore ranks are assigned to the allowed CPUs in
 * turn, one of each core before its siblings.
 *
 * A rank over ZeroMQ or verbs has several threads. With two or more CPUs per rank
 * they are not pinned.
 */
#include "launch_parts.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Is this CPU the first of its core? If unknown, each CPU is its own core. */
static bool leads_core(unsigned cpu)
{
    char path[96];
    unsigned first = cpu;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
             cpu);
    FILE *file = fopen(path, "r");
    if (!file)
        return true;
    bool reported = fscanf(file, "%u", &first) == 1;
    fclose(file);
    return !reported || first == cpu;
}

/* The CPUs of the set, first CPUs of cores first; returns their number. */
static unsigned order_cpus(const cpu_set_t *set, unsigned out[CPU_SETSIZE])
{
    unsigned leaders = 0, count = 0;
    unsigned siblings[CPU_SETSIZE], sibling_count = 0;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, set))
            continue;
        if (leads_core(cpu))
            out[leaders++] = cpu;
        else
            siblings[sibling_count++] = cpu;
    }
    for (count = leaders; count < leaders + sibling_count; count++)
        out[count] = siblings[count - leaders];
    return count;
}

static bool has_threads(const struct launch *launch)
{
    return launch->wire && (strcmp(launch->wire, "zmq") == 0 ||
                            strcmp(launch->wire, "verbs") == 0);
}

void rank_pin(const struct launch *launch, unsigned rank)
{
    cpu_set_t allowed, mine;
    unsigned cpus[CPU_SETSIZE];
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return; /* more CPUs than fit into the set: no need to share */
    unsigned count = order_cpus(&allowed, cpus);
    if (count == 0 || (has_threads(launch) && count / launch->ranks >= 2))
        return;
    CPU_ZERO(&mine);
    CPU_SET(cpus[rank % count], &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}
