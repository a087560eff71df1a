/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A topology over the links of a run (gradwire-topology(5)): each link between
 * two nodes gets the delay of the path between their ranks, the sum of its
 * latencies, and the rate of its narrowest part. Link profiles are per pair of
 * nodes and do not model shared links; collrun sim computes the effect of
 * sharing.
 *
 * Rank i is node i of a ring, or worker i; servers follow the workers. Nodes
 * that come later get the profiles of their numbers.
 */
#include "supervisor_verbs.h"

#include <string.h>

/* The range of the link profiles of the present nodes. */
struct laid {
    unsigned nodes;
    uint64_t delay_least_us, delay_most_us;
    uint64_t rate_least, rate_most; /* 0: no limit */
};

static void widen_range(uint64_t value, bool first, uint64_t *least,
                        uint64_t *most)
{
    *least = first || value < *least ? value : *least;
    *most = first || value > *most ? value : *most;
}

/* An unlimited rate is more than any other. */
static uint64_t or_most(uint64_t rate)
{
    return rate ? rate : UINT64_MAX;
}

static void apply_path(struct links *links, const struct gw_topology *topology,
                       const unsigned nodes[], unsigned from, unsigned to,
                       struct laid *laid)
{
    uint64_t rate, latency_ns;
    struct gw_link_profile *profile = &links->profiles[nodes[from]][nodes[to]];
    bool first = from == 0 && to == 1;
    gw_topology_path_sum(topology, from, to, &rate, &latency_ns);
    uint64_t delay_us = (latency_ns + 500) / 1000;
    profile->delay_us = delay_us < UINT32_MAX ? (uint32_t)delay_us : UINT32_MAX;
    profile->rate = rate;
    if (from >= laid->nodes || to >= laid->nodes)
        return;
    widen_range(profile->delay_us, first, &laid->delay_least_us,
                &laid->delay_most_us);
    widen_range(or_most(rate), first, &laid->rate_least, &laid->rate_most);
}

/* The nodes of ranks 0, 1, ...; returns how many. */
static unsigned nodes_of(const struct run *run, unsigned nodes[])
{
    unsigned count = 0;
    unsigned workers = has_servers(run) ? run->options.ranks : RUN_RANKS_MAX;
    for (unsigned n = 0; n < workers; n++)
        nodes[count++] = run->workers[n].node;
    for (unsigned n = 0; has_servers(run) && n < run->options.servers; n++)
        nodes[count++] = run->servers[n].node;
    return count;
}

/* The nodes of the options, or the current ones if there are more. */
static unsigned nodes_needed(const struct run *run)
{
    unsigned most = run->options.ranks;
    if (has_servers(run))
        return run->options.ranks + run->options.servers;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        if (run->workers[n].known && n + 1 > most)
            most = n + 1;
    return most;
}

static enum gw_err lay(struct run *run, const struct gw_topology *topology,
                       const char *file, struct laid *laid,
                       struct gw_error *why)
{
    unsigned nodes[GW_RING_NODES], needed = nodes_needed(run);
    unsigned count = nodes_of(run, nodes), ranks = gw_topology_ranks(topology);
    if (ranks < needed)
        return gw_fail(why, GW_EINVAL,
                       "%.200s has %u rank%s, but the run has %u nodes", file,
                       ranks, ranks == 1 ? "" : "s", needed);
    count = count < ranks ? count : ranks;
    laid->nodes = needed;
    for (unsigned from = 0; from < count; from++)
        for (unsigned to = 0; to < count; to++)
            if (from != to)
                apply_path(&run->links, topology, nodes, from, to, laid);
    ring_racks(run, topology);
    snprintf(run->topology, sizeof run->topology, "%s",
             gw_topology_name(topology));
    return GW_OK;
}

static enum gw_err load_topology(struct run *run, const char *file,
                                 struct laid *laid, struct gw_error *why)
{
    struct gw_topology *topology;
    enum gw_err code = gw_topology_load(file, &topology, why);
    if (!code)
        code = lay(run, topology, file, laid, why);
    gw_topology_destroy(&topology);
    return code;
}

enum gw_err topo_begin(struct run *run, struct gw_error *why)
{
    struct laid laid = {0};
    return run->options.topo ? load_topology(run, run->options.topo, &laid, why)
                             : GW_OK;
}

/* "delay 10 to 30 us, rate 1G/s"; "" where there is one node alone. */
static void describe_links(const struct laid *laid, char *out, size_t room)
{
    char least[16], most[16];
    bool limited = laid->rate_least < UINT64_MAX;
    gw_format_bytes(laid->rate_least, least);
    gw_format_bytes(laid->rate_most, most);
    *out = 0;
    if (laid->nodes < 2)
        return;
    int used = snprintf(out, room, ": delay %llu",
                        (unsigned long long)laid->delay_least_us);
    if (laid->delay_most_us > laid->delay_least_us)
        used += snprintf(out + used, room - (size_t)used, " to %llu",
                         (unsigned long long)laid->delay_most_us);
    used += snprintf(out + used, room - (size_t)used, " us, %s%s%s",
                     limited ? "rate " : "no limit of rate",
                     limited ? least : "", limited ? "/s" : "");
    if (laid->rate_most > laid->rate_least)
        snprintf(out + used, room - (size_t)used, " to %s%s",
                 laid->rate_most < UINT64_MAX ? most : "no limit",
                 laid->rate_most < UINT64_MAX ? "/s" : "");
}

void verb_topo(const struct request *request)
{
    struct run *run = request->run;
    struct laid laid = {0};
    struct gw_error why;
    char summary[160];
    const char *file =
        json_string_value(json_object_get(request->json, "file"));
    if (run->links.passed_by) {
        refuse(request, GW_ENOTSUP, "%s", links_passed_by);
        return;
    }
    if (!file) {
        refuse(request, GW_EINVAL, "topo: missing operand; name a file");
        return;
    }
    if (load_topology(run, file, &laid, &why)) {
        refuse(request, why.code, "%s", why.text);
        return;
    }
    children_send_desired(run);
    describe_links(&laid, summary, sizeof summary);
    serve_answer(run, &request->requester, GW_OK,
                 json_pack("{s:s, s:i}", "topology", run->topology, "nodes",
                           (int)laid.nodes),
                 "the links of %u node%s follow topology %s%s: epoch %llu",
                 laid.nodes, laid.nodes == 1 ? "" : "s", run->topology, summary,
                 (unsigned long long)run->update.view.epoch);
}
