/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The XML of hwloc (lstopo machine.xml), versions 1 and 2: packages are sockets
 * with their memory, PCI bridges are switches, and devices of the operating
 * system are accelerators or NICs. pci_link_speed has gigabytes per second. If
 * there is no accelerator, a package is a host with its cores as ranks, its
 * memory is the host's inner link, and the links between packages are NICs.
 */
#include "topo_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct level {
    int node;      /* of this object, or of the nearest one around it */
    int package;   /* socket around it */
    uint64_t rate; /* of the PCI link to it */
    bool is_device, has_node;
};

struct hwloc {
    struct topo_graph graph;
    struct level levels[TOPO_XML_DEPTH_MAX + 1];
    unsigned cores[TOPO_NODES_MAX]; /* of each socket's node */
    int first_package;
};

static uint64_t link_rate(const char *const *attributes)
{
    const char *speed = topo_xml_value(attributes, "pci_link_speed");
    double rate = speed ? strtod(speed, NULL) * 1e9 : 0;
    return rate >= 1 && rate < 1e15 ? (uint64_t)rate : TOPO_PCIE_RATE;
}

static void begin_package(struct topo_xml *xml, struct level *level)
{
    char name[32];
    struct hwloc *h = xml->state;
    unsigned number = topo_graph_count(&h->graph, TOPO_SOCKET);
    snprintf(name, sizeof name, "cpu%u", number);
    int socket = topo_graph_node(&h->graph, TOPO_SOCKET, name);
    snprintf(name, sizeof name, "mem%u", number);
    int memory = topo_graph_node(&h->graph, TOPO_MEMORY, name);
    if (!topo_graph_link(&h->graph, "memory", socket, memory,
                         TOPO_MEMORY_RATE)) {
        topo_xml_fail(xml, "too many packages");
        return;
    }
    h->first_package = number == 0 ? socket : h->first_package;
    level->node = level->package = socket;
}

/* Objects outside of all packages are at the first one. */
static int place_of(const struct topo_xml *xml, unsigned depth)
{
    const struct hwloc *h = xml->state;
    int node = h->levels[depth].node;
    return node == TOPO_NONE ? h->first_package : node;
}

static int add_device(struct topo_xml *xml, enum topo_kind kind,
                      const char *name, int place, uint64_t rate)
{
    struct hwloc *h = xml->state;
    int node = topo_graph_node(&h->graph, kind, name);
    if (place == TOPO_NONE)
        topo_xml_fail(xml, "a PCI device comes before the first package");
    else if (!topo_graph_link(&h->graph, "pcie", place, node, rate))
        topo_xml_fail(xml, "a topology can have at most %d nodes",
                      TOPO_NODES_MAX);
    return node;
}

/* A bridge between PCI buses; one from the host ("0-1") is the socket. */
static void begin_bridge(struct topo_xml *xml, struct level *level,
                         const char *const *attributes)
{
    char name[32];
    struct hwloc *h = xml->state;
    const char *type = topo_xml_value(attributes, "bridge_type");
    if (!type || strcmp(type, "1-1") != 0)
        return;
    snprintf(name, sizeof name, "pcie%u",
             topo_graph_count(&h->graph, TOPO_SWITCH));
    level->node =
        add_device(xml, TOPO_SWITCH, name, place_of(xml, xml->depth - 1),
                   link_rate(attributes));
}

/* hwloc's types: 1 GPU, 2 network, 3 OpenFabrics, 5 co-processor. A GPU that
 * only has a display is not an accelerator. */
static bool is_accelerator(const char *type, const char *name)
{
    return strcmp(type, "5") == 0 || strncmp(name, "nvml", 4) == 0 ||
           strncmp(name, "rsmi", 4) == 0 || strncmp(name, "cuda", 4) == 0;
}

static void begin_os_device(struct topo_xml *xml, const char *const *attributes)
{
    struct hwloc *h = xml->state;
    struct level *device = &h->levels[xml->depth - 1];
    const char *type = topo_xml_value(attributes, "osdev_type");
    const char *name = topo_xml_value(attributes, "name");
    if (!type || !name || !device->is_device || device->has_node)
        return;
    bool nic = strcmp(type, "2") == 0 || strcmp(type, "3") == 0;
    if (!nic && !is_accelerator(type, name))
        return;
    device->has_node = true;
    add_device(xml, nic ? TOPO_NIC : TOPO_ACCELERATOR, name,
               place_of(xml, xml->depth - 1), device->rate);
}

static void begin_object(struct topo_xml *xml, struct level *level,
                         const char *type, const char *const *attributes)
{
    struct hwloc *h = xml->state;
    if (strcmp(type, "Package") == 0 || strcmp(type, "Socket") == 0) {
        begin_package(xml, level);
    } else if (strcmp(type, "Core") == 0 && level->package != TOPO_NONE) {
        h->cores[level->package]++;
    } else if (strcmp(type, "Bridge") == 0) {
        begin_bridge(xml, level, attributes);
    } else if (strcmp(type, "PCIDev") == 0) {
        level->is_device = true;
        level->rate = link_rate(attributes);
    } else if (strcmp(type, "OSDev") == 0) {
        begin_os_device(xml, attributes);
    }
}

static void begin_hwloc(struct topo_xml *xml, const char *name,
                        const char *const *attributes)
{
    struct hwloc *h = xml->state;
    const char *type = topo_xml_value(attributes, "type");
    struct level *level = &h->levels[xml->depth];
    if (xml->depth == 1) {
        h->first_package = TOPO_NONE;
        h->levels[0] = (struct level){.node = TOPO_NONE, .package = TOPO_NONE};
    }
    *level = h->levels[xml->depth - 1];
    level->is_device = level->has_node = false;
    if (strcmp(name, "object") == 0 && !type)
        topo_xml_fail(xml, "<object> has no type");
    else if (strcmp(name, "object") == 0)
        begin_object(xml, level, type, attributes);
}

static void end_hwloc(struct topo_xml *xml, const char *name)
{
    (void)xml;
    (void)name;
}

/* Packages as hosts. */
static void write_packages(const struct hwloc *h, struct topo_text *text)
{
    topo_text_add(text,
                  "topology hwloc\nnic rate=%" PRIu64 " latency=500ns\n"
                  "inner rate=%" PRIu64 " latency=100ns\nrack machine:",
                  TOPO_QPI_RATE, TOPO_MEMORY_RATE);
    for (int i = 0; i < h->graph.node_count; i++)
        if (h->graph.nodes[i].kind == TOPO_SOCKET)
            topo_text_add(text, " %s", h->graph.nodes[i].name);
    topo_text_add(text, "\n");
    for (int i = 0; i < h->graph.node_count; i++)
        if (h->graph.nodes[i].kind == TOPO_SOCKET && h->cores[i] > 0)
            topo_text_add(text, "host %s ranks=%u\n", h->graph.nodes[i].name,
                          h->cores[i]);
}

static void finish_hwloc(struct topo_xml *xml)
{
    struct hwloc *h = xml->state;
    topo_graph_join_sockets(&h->graph);
    if (topo_graph_count(&h->graph, TOPO_SOCKET) == 0)
        topo_xml_fail(xml, "an object of type Package is missing; without one "
                           "nothing has a rank");
    else if (topo_graph_count(&h->graph, TOPO_ACCELERATOR) == 0)
        write_packages(h, xml->source->text);
    else
        topo_graph_write(&h->graph, "hwloc", xml->source->text);
}

const struct topo_dialect topo_hwloc = {
    .root = "topology",
    .state_bytes = sizeof(struct hwloc),
    .begin = begin_hwloc,
    .end = end_hwloc,
    .finish = finish_hwloc,
};
