/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The topology that NCCL writes to NCCL_TOPO_DUMP_FILE: sockets (<cpu>), PCIe
 * devices in each other (<pci>, of which those of class 0x0604 are switches),
 * <gpu> with its <nvlink>s, and <nic> with <net>. A PCIe link has a speed in
 * transfers per second and lane, with 128 of 130 bits for data, and a width; a
 * net has megabits per second.
 */
#include "topo_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVLINKS_MAX = 512 };

struct level {
    int node;      /* of this element, or of the nearest one around it */
    uint64_t rate; /* of the PCIe link to it */
    char bus[32];
};

struct nvlink {
    int gpu;
    char target[32];
    unsigned count;
    bool to_switch;
};

struct nccl {
    struct topo_graph graph;
    struct level levels[TOPO_XML_DEPTH_MAX + 1];
    char bus[TOPO_NODES_MAX][32]; /* of each GPU's node */
    unsigned nvlink_count;
    struct nvlink nvlinks[NVLINKS_MAX];
    int net; /* the switch between servers */
};

static uint64_t pcie_rate(const char *const *attributes)
{
    const char *speed = topo_xml_value(attributes, "link_speed");
    const char *width = topo_xml_value(attributes, "link_width");
    double transfers = speed ? strtod(speed, NULL) : 0;
    double lanes = width ? strtod(width, NULL) : 0;
    double rate = transfers * 1e9 * lanes / 8 * 128 / 130;
    return rate >= 1 && rate < 1e15 ? (uint64_t)rate : TOPO_PCIE_RATE;
}

static int add_child(struct topo_xml *xml, enum topo_kind kind,
                     const char *name, uint64_t rate)
{
    struct nccl *n = xml->state;
    int around = n->levels[xml->depth - 1].node;
    int node = topo_graph_node(&n->graph, kind, name);
    if (around == TOPO_NONE)
        topo_xml_fail(xml, "a device must be in a <cpu>");
    else if (!topo_graph_link(&n->graph, "pcie", around, node, rate))
        topo_xml_fail(xml, "a topology can have at most %d nodes",
                      TOPO_NODES_MAX);
    return node;
}

static void begin_pci(struct topo_xml *xml, struct level *level,
                      const char *const *attributes)
{
    char name[32];
    struct nccl *n = xml->state;
    const char *class = topo_xml_value(attributes, "class");
    const char *bus = topo_xml_value(attributes, "busid");
    level->rate = pcie_rate(attributes);
    snprintf(level->bus, sizeof level->bus, "%.31s", bus ? bus : "");
    if (!class || strncmp(class, "0x0604", 6) != 0)
        return;
    snprintf(name, sizeof name, "pcie%u",
             topo_graph_count(&n->graph, TOPO_SWITCH));
    level->node = add_child(xml, TOPO_SWITCH, name, level->rate);
}

static void begin_gpu(struct topo_xml *xml, struct level *level,
                      const char *const *attributes)
{
    char name[32];
    struct nccl *n = xml->state;
    const char *dev = topo_xml_value(attributes, "dev");
    snprintf(name, sizeof name, "gpu%.20s", dev ? dev : "");
    level->node =
        add_child(xml, TOPO_ACCELERATOR, name, n->levels[xml->depth - 1].rate);
    if (level->node != TOPO_NONE)
        memcpy(n->bus[level->node], n->levels[xml->depth - 1].bus, 32);
}

static void begin_nvlink(struct topo_xml *xml, const char *const *attributes)
{
    struct nccl *n = xml->state;
    const char *target = topo_xml_value(attributes, "target");
    const char *count = topo_xml_value(attributes, "count");
    const char *class = topo_xml_value(attributes, "tclass");
    int around = n->levels[xml->depth - 1].node;
    if (!target || !count || atoi(count) < 1 || atoi(count) > 64)
        topo_xml_fail(xml, "<nvlink> needs a target and a count of 1 to 64");
    else if (around == TOPO_NONE ||
             n->graph.nodes[around].kind != TOPO_ACCELERATOR)
        topo_xml_fail(xml, "<nvlink> must be in a <gpu>");
    else if (n->nvlink_count == NVLINKS_MAX)
        topo_xml_fail(xml, "more than %d <nvlink>", NVLINKS_MAX);
    else {
        struct nvlink *link = &n->nvlinks[n->nvlink_count++];
        *link = (struct nvlink){.gpu = around, .count = (unsigned)atoi(count)};
        link->to_switch = class && strncmp(class, "0x0680", 6) == 0;
        snprintf(link->target, sizeof link->target, "%.31s", target);
    }
}

static void begin_net(struct topo_xml *xml, const char *const *attributes)
{
    struct nccl *n = xml->state;
    const char *name = topo_xml_value(attributes, "name");
    const char *speed = topo_xml_value(attributes, "speed");
    double rate = speed ? strtod(speed, NULL) * 1e6 / 8 : 0;
    int node = add_child(xml, TOPO_NIC, name ? name : "nic",
                         n->levels[xml->depth - 1].rate);
    if (n->net == TOPO_NONE)
        n->net = topo_graph_node(&n->graph, TOPO_SWITCH, "net");
    if (!xml->error.code && rate >= 1 && rate < 1e15)
        topo_graph_link(&n->graph, "net", n->net, node, (uint64_t)rate);
}

static void begin_nccl(struct topo_xml *xml, const char *name,
                       const char *const *attributes)
{
    char cpu[32];
    struct nccl *n = xml->state;
    struct level *level = &n->levels[xml->depth];
    if (xml->depth == 1)
        n->net = n->levels[0].node = TOPO_NONE;
    *level = n->levels[xml->depth - 1];
    if (strcmp(name, "cpu") == 0) {
        const char *numa = topo_xml_value(attributes, "numaid");
        snprintf(cpu, sizeof cpu, "cpu%.20s", numa ? numa : "");
        level->node = topo_graph_node(&n->graph, TOPO_SOCKET, cpu);
    } else if (strcmp(name, "pci") == 0) {
        begin_pci(xml, level, attributes);
    } else if (strcmp(name, "gpu") == 0) {
        begin_gpu(xml, level, attributes);
    } else if (strcmp(name, "nvlink") == 0) {
        begin_nvlink(xml, attributes);
    } else if (strcmp(name, "net") == 0) {
        begin_net(xml, attributes);
    }
}

static void end_nccl(struct topo_xml *xml, const char *name)
{
    (void)xml;
    (void)name;
}

/* Each pair of GPUs is named twice. */
static void add_nvlink(struct topo_xml *xml, const struct nvlink *link,
                       int *nvswitch)
{
    struct nccl *n = xml->state;
    uint64_t rate = TOPO_NVLINK_RATE * link->count;
    if (link->to_switch) {
        if (*nvswitch == TOPO_NONE)
            *nvswitch = topo_graph_node(&n->graph, TOPO_SWITCH, "nvswitch");
        topo_graph_link(&n->graph, "nvlink", *nvswitch, link->gpu, rate);
        return;
    }
    for (int i = link->gpu + 1; i < n->graph.node_count; i++)
        if (*n->bus[i] && strcmp(n->bus[i], link->target) == 0)
            topo_graph_link(&n->graph, "nvlink", link->gpu, i, rate);
}

static void finish_nccl(struct topo_xml *xml)
{
    struct nccl *n = xml->state;
    int nvswitch = TOPO_NONE;
    for (unsigned i = 0; i < n->nvlink_count; i++)
        add_nvlink(xml, &n->nvlinks[i], &nvswitch);
    topo_graph_join_sockets(&n->graph);
    if (topo_graph_count(&n->graph, TOPO_ACCELERATOR) == 0)
        topo_xml_fail(xml,
                      "a <gpu> is missing; without one nothing has a rank");
    else
        topo_graph_write(&n->graph, "nccl", xml->source->text);
}

const struct topo_dialect topo_nccl = {
    .root = "system",
    .state_bytes = sizeof(struct nccl),
    .begin = begin_nccl,
    .end = end_nccl,
    .finish = finish_nccl,
};
