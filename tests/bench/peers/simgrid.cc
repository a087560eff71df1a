/* SPDX-License-Identifier: MIT
 *
 * Compares the simulator of plans with SimGrid (Casanova et al., "Versatile,
 * scalable, and accurate simulation of distributed applications and platforms",
 * JPDC 2014): the same plans on the same topologies, and the differences in
 * time.
 *
 *     simgrid          (one row per case; status 1: one differs by more than
 *     0.1 %, or an imported plan by more than 1 %)
 *
 * SimGrid runs a plan as a graph of communications: a message waits for those
 * that brought its data, and for the previous one between the same two ranks.
 * Its links are those of the topology. Its network is the ideal one (CM02, no
 * factors for TCP), whose flows share links max-min fair, as ours do.
 *
 * The cases leave out features that differ there: alpha and the time to reduce
 * are 0. Two differences remain. A flow has no share while its latency passes,
 * before its bytes; ours passes after them, which makes no difference for
 * messages of one step. And flows are weighted by their latency, as those of
 * TCP are, so all paths of a case have the same one: NICs have it, links
 * between switches have none. With 2 us on every link of the torus the
 * broadcast, whose root sends near and far at once, takes 20 % longer in
 * SimGrid.
 */
#include <gradwire/gradwire.h>

#include <simgrid/s4u.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sg = simgrid::s4u;

namespace {

const double bound = 0.001;
const double import_bound = 0.01;
const size_t elem_bytes = 4;

const char star[] = "topology star\nnic rate=1G latency=5us\nrack r: h[0-15]\n";
const char racks[] = "topology racks\nnic rate=1G latency=5us\n"
                     "uplink oversubscription=4:1 latency=0us\n"
                     "rack a: a[0-3]\nrack b: b[0-3]\nrack c: c[0-3]\n"
                     "rack d: d[0-3]\n";
const char torus[] = "topology torus\ntorus 4x4 rate=1G latency=0us\n";
const char pair[] = "topology pair\nnic rate=1G latency=5us\n"
                    "uplink oversubscription=2:1 latency=0us\n"
                    "rack a: a[0-3]\nrack b: b[0-3]\n";

struct Case {
    const char *topology;
    gw_collective collective;
    const char *algo; /* or a file of tests/formats */
    size_t bytes;
};

bool is_file(const Case &c)
{
    return std::strchr(c.algo, '.') != nullptr;
}

const Case cases[] = {
    {star, GW_ALLREDUCE, "ring", 1 << 20},
    {star, GW_ALLREDUCE, "recursive_doubling", 1 << 20},
    {star, GW_ALLREDUCE, "rabenseifner", 1 << 20},
    {star, GW_BROADCAST, "binomial", 1 << 20},
    {star, GW_ALLTOALL, "linear", 1 << 20},
    {racks, GW_ALLREDUCE, "ring", 1 << 20},
    {racks, GW_ALLREDUCE, "recursive_doubling", 1 << 20},
    {racks, GW_BROADCAST, "binomial", 1 << 20},
    {racks, GW_ALLTOALL, "linear", 1 << 20},
    {torus, GW_ALLREDUCE, "ring", 1 << 20},
    {torus, GW_ALLREDUCE, "recursive_doubling", 1 << 20},
    {torus, GW_BROADCAST, "binomial", 1 << 20},
    {torus, GW_ALLTOALL, "linear", 1 << 20},
    /* Schedules with scratch, channels and copies inside a rank. */
    {star, GW_ALLTOALL, "alltoall-two-step.xml", 8 << 20},
    {star, GW_ALLREDUCE, "hierarchical.xml", 8 << 20},
    {pair, GW_ALLREDUCE, "hierarchical.xml", 8 << 20},
    {star, GW_ALLREDUCE, "allpairs.xml", 8 << 20},
    {pair, GW_CUSTOM, "alltonext-two-hosts.xml", 8 << 20},
    {pair, GW_ALLGATHER, "allgather-instances.xml", 8 << 20},
    {star, GW_ALLTOALL, "teccl-volumes.json", 8 << 20},
};

[[noreturn]] void give_up(const gw_error &why)
{
    std::fprintf(stderr, "simgrid: %s\n", why.text);
    std::exit(70);
}

/* The messages between two ranks in a step and on a channel. */
struct Message {
    unsigned src, dst;
    double bytes = 0;
    std::set<size_t> after;
};

std::vector<Message> messages_of(const gw_plan *plan, size_t count)
{
    using Cell = std::array<unsigned, 3>;
    std::vector<Message> messages;
    /* Of a rank's chunk in its buffer or scratch: who brought its data. */
    std::map<Cell, std::set<size_t>> writers;
    std::map<Cell, size_t> before; /* of two ranks and a channel */
    for (unsigned step = 0; step < plan->steps; step++) {
        std::map<Cell, size_t> now;
        auto brought = writers;
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++) {
            const gw_transfer &t = plan->transfers[i];
            const Cell from = {t.src, t.src_scratch, t.chunk};
            std::set<size_t> &into = brought[{t.dst, t.dst_scratch, t.chunk}];
            if (t.src == t.dst) { /* takes no time */
                into.insert(writers[from].begin(), writers[from].end());
                continue;
            }
            auto place =
                now.emplace(Cell{t.src, t.dst, t.channel}, messages.size());
            if (place.second)
                messages.push_back({t.src, t.dst, 0, {}});
            Message &message = messages[place.first->second];
            size_t offset, length;
            gw_plan_extent(plan, t.chunk, count, elem_bytes, &offset, &length);
            message.bytes += double(length * elem_bytes);
            message.after.insert(writers[from].begin(), writers[from].end());
            into.insert(place.first->second);
        }
        for (const auto &pair : now) {
            auto last = before.find(pair.first);
            if (last != before.end())
                messages[pair.second].after.insert(last->second);
            before[pair.first] = pair.second;
        }
        writers = brought;
    }
    return messages;
}

sg::NetZone *build(const gw_topology *topology,
                   const std::vector<Message> &messages,
                   std::vector<sg::Host *> &hosts)
{
    auto *zone = sg::create_full_zone("cluster");
    std::vector<sg::Link *> links;
    for (unsigned i = 0; i < gw_topology_links(topology); i++) {
        struct gw_topology_link link;
        gw_topology_link(topology, i, &link);
        double rate = link.rate ? double(link.rate) : 1e18;
        links.push_back(zone->create_link("l" + std::to_string(i), rate)
                            ->set_latency(double(link.latency_ns) / 1e9));
        links.back()->seal();
    }
    for (unsigned r = 0; r < gw_topology_ranks(topology); r++) {
        hosts.push_back(zone->create_host("h" + std::to_string(r), 1e9));
        hosts.back()->seal();
    }
    std::map<std::pair<unsigned, unsigned>, bool> there;
    for (const Message &m : messages) {
        if (!there.emplace(std::make_pair(m.src, m.dst), true).second)
            continue;
        unsigned way[GW_PATH_LINKS_MAX];
        unsigned length = gw_topology_path(topology, m.src, m.dst, way);
        std::vector<sg::LinkInRoute> route;
        for (unsigned i = 0; i < length; i++)
            route.emplace_back(links[way[i]]);
        zone->add_route(hosts[m.src]->get_netpoint(),
                        hosts[m.dst]->get_netpoint(), nullptr, nullptr, route,
                        false);
    }
    zone->seal();
    return zone;
}

double play(const gw_topology *topology, const std::vector<Message> &messages)
{
    char name[] = "simgrid", quiet[] = "--log=root.thresh:error";
    char *arguments[] = {name, quiet, nullptr};
    int count = 2;
    sg::Engine engine(&count, arguments);
    for (const char *setting :
         {"network/model:CM02", "network/crosstraffic:0",
          "network/bandwidth-factor:1", "network/latency-factor:1",
          "network/weight-S:0", "network/TCP-gamma:0"})
        sg::Engine::set_config(setting);
    std::vector<sg::Host *> hosts;
    build(topology, messages, hosts);
    std::vector<sg::CommPtr> comms;
    for (const Message &m : messages) {
        auto comm = sg::Comm::sendto_init(hosts[m.src], hosts[m.dst]);
        comm->set_payload_size(uint64_t(m.bytes));
        comms.push_back(comm);
    }
    for (size_t i = 0; i < messages.size(); i++)
        for (size_t before : messages[i].after)
            comms[before]->add_successor(comms[i]);
    for (auto &comm : comms)
        comm->vetoable_start();
    engine.run();
    return sg::Engine::get_clock() * 1e6;
}

/* An engine can be made once in a process. */
double play_apart(const gw_topology *topology,
                  const std::vector<Message> &messages)
{
    int ends[2];
    double us = NAN;
    if (pipe(ends) != 0)
        std::exit(70);
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        us = play(topology, messages);
        _exit(write(ends[1], &us, sizeof us) != sizeof us);
    }
    close(ends[1]);
    if (read(ends[0], &us, sizeof us) != sizeof us)
        us = NAN;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return us;
}

/* Prints one row; true if both times agree. */
bool compare(const Case &c)
{
    gw_error why;
    gw_topology *topology;
    gw_plan *plan;
    gw_topology_result *result;
    if (gw_topology_parse(c.topology, std::strlen(c.topology), "case",
                          &topology, &why))
        give_up(why);
    gw_algo_args args = {};
    args.ranks = gw_topology_ranks(topology);
    const std::string file = std::string("tests/formats/") + c.algo;
    if (is_file(c) ? gw_plan_load(file.c_str(), 0, &plan, &why)
                   : gw_plan_make(c.collective, c.algo, &args, &plan, &why))
        give_up(why);
    gw_topology_run job = {};
    job.plan = plan;
    job.elem_bytes = elem_bytes;
    job.count = c.bytes / elem_bytes;
    if (c.collective == GW_ALLTOALL ||
        (is_file(c) && c.collective == GW_ALLGATHER))
        job.count /= plan->ranks;
    if (gw_topology_simulate(topology, &job, &result, &why))
        give_up(why);
    double theirs = play_apart(topology, messages_of(plan, job.count));
    double off = result->time_us / theirs - 1;
    std::printf("%-6s %-10s %-23s %8zu %12.3f %12.3f %8.3f\n",
                gw_topology_name(topology), gw_collective_name(c.collective),
                c.algo, c.bytes, result->time_us, theirs, 100 * off);
    gw_topology_result_destroy(&result);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&topology);
    return std::fabs(off) <= (is_file(c) ? import_bound : bound);
}

} // namespace

int main()
{
    bool same = true;
    std::printf("%-6s %-10s %-23s %8s %12s %12s %8s\n", "topo", "op", "algo",
                "bytes", "gradwire us", "SimGrid us", "off %");
    for (const Case &c : cases)
        same = compare(c) && same;
    return same ? 0 : 1;
}
