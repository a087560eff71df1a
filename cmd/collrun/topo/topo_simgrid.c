/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Clusters of a platform of SimGrid: <cluster> with a prefix, a radical such as
 * "0-15,20", and the rate and latency of each host's link, is a rack. What a
 * topology cannot describe is refused: a backbone that the hosts of a cluster
 * share, routes of single hosts, and links that do not share fairly.
 */
#include "topo_import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct simgrid {
    unsigned clusters;
};

struct unit {
    const char *name;
    double factor;
};

/* A number and a unit; without a unit the first one. -1: neither. */
static double read_quantity(const char *text, const struct unit *units)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || !(value >= 0))
        return -1;
    for (int i = 0; units[i].name; i++)
        if (strcmp(end, units[i].name) == 0)
            return value * units[i].factor;
    return -1;
}

static double read_rate(const char *text)
{
    static const struct unit units[] = {
        {"", 1},        {"Bps", 1},        {"kBps", 1e3},     {"MBps", 1e6},
        {"GBps", 1e9},  {"KiBps", 0x1p10}, {"MiBps", 0x1p20}, {"GiBps", 0x1p30},
        {"bps", 0.125}, {"kbps", 125},     {"Mbps", 125e3},   {"Gbps", 125e6},
        {NULL, 0}};
    return read_quantity(text, units);
}

static double read_latency_ns(const char *text)
{
    static const struct unit units[] = {{"", 1e9},   {"s", 1e9}, {"ms", 1e6},
                                        {"us", 1e3}, {"ns", 1},  {NULL, 0}};
    return read_quantity(text, units);
}

/* "0-3,7": each range becomes a word of the `rack` statement. */
static void add_hosts(struct topo_xml *xml, const char *prefix,
                      const char *radical)
{
    char name[32];
    topo_text_name(prefix, name);
    while (*radical) {
        char *end;
        unsigned long first = strtoul(radical, &end, 10), last = first;
        bool right = end != radical;
        radical = end;
        if (right && *radical == '-') {
            last = strtoul(radical + 1, &end, 10);
            right = end != radical + 1;
            radical = end;
        }
        if (!right || last < first || last > 131071 ||
            (*radical && *radical != ',')) {
            topo_xml_fail(xml, "a radical must have numbers and ranges, as in "
                               "0-15,20");
            return;
        }
        topo_text_add(xml->source->text, " %.24s[%lu-%lu]", name, first, last);
        radical += *radical == ',';
    }
}

static void begin_cluster(struct topo_xml *xml, const char *const *attributes)
{
    char name[32];
    struct simgrid *s = xml->state;
    const char *id = topo_xml_value(attributes, "id");
    const char *prefix = topo_xml_value(attributes, "prefix");
    const char *radical = topo_xml_value(attributes, "radical");
    const char *rate_text = topo_xml_value(attributes, "bw");
    const char *latency_text = topo_xml_value(attributes, "lat");
    const char *shape = topo_xml_value(attributes, "topology");
    double rate = rate_text ? read_rate(rate_text) : -1;
    double latency = latency_text ? read_latency_ns(latency_text) : -1;
    if (!id || !radical || rate < 1 || rate > 1e15 || latency < 0 ||
        latency > 1e12) {
        topo_xml_fail(xml, "<cluster> needs id, radical, bw and lat, as in "
                           "bw=\"125MBps\" lat=\"50us\"");
        return;
    }
    if (topo_xml_value(attributes, "bb_bw") ||
        (shape && strcmp(shape, "FLAT") != 0)) {
        topo_xml_fail(xml,
                      "cluster %.40s: only flat clusters without a "
                      "backbone (bb_bw) are read",
                      id);
        return;
    }
    topo_text_name(id, name);
    topo_text_add(xml->source->text, "rack %s:", name);
    add_hosts(xml, prefix ? prefix : id, radical);
    topo_text_add(xml->source->text, "\n");
    if (s->clusters++ == 0)
        topo_text_add(xml->source->text, "nic rate=%.0f latency=%.0fns\n", rate,
                      latency);
    else
        topo_xml_fail(xml, "a second cluster: the links between clusters are "
                           "not read");
}

static void begin_simgrid(struct topo_xml *xml, const char *name,
                          const char *const *attributes)
{
    static const char *const skipped[] = {"platform", "zone", "AS", "prop",
                                          NULL};
    if (xml->depth == 1)
        topo_text_add(xml->source->text, "topology simgrid\n");
    if (strcmp(name, "cluster") == 0) {
        begin_cluster(xml, attributes);
        return;
    }
    for (int i = 0; skipped[i]; i++)
        if (strcmp(skipped[i], name) == 0)
            return;
    topo_xml_fail(xml, "<%.40s> is not read; only <cluster> in <zone> is",
                  name);
}

static void end_simgrid(struct topo_xml *xml, const char *name)
{
    (void)xml;
    (void)name;
}

static void finish_simgrid(struct topo_xml *xml)
{
    const struct simgrid *s = xml->state;
    if (s->clusters == 0)
        topo_xml_fail(xml,
                      "a <cluster> is missing; without one nothing has a rank");
}

const struct topo_dialect topo_simgrid = {
    .root = "platform",
    .state_bytes = sizeof(struct simgrid),
    .begin = begin_simgrid,
    .end = end_simgrid,
    .finish = finish_simgrid,
};
