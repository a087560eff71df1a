/* SPDX-License-Identifier: MIT
 *
 * A controller's front, as a machine: takes requests, hands them to the log,
 * applies what the log says, answers, and tells members what is new. The log
 * itself (Raft; controller.h, or the simulator's) is the driver's.
 *
 *     REQUEST ---> tell PROPOSE ---> the log ---> asked APPLIED ---> ANSWER
 *                                                             `---> NEWS
 *
 * Only the leader proposes; the others answer REDIRECT. Every replica applies
 * and tells the news to the members that say HELLO to it (all members say it to
 * all controllers), so a dead leader delays no news.
 *
 * The leader is also everybody's second observer: it accuses members whose
 * HELLOs have stopped (phi.h), proposes the DEADLINE of a flush whose reports
 * stay away for GW__FLUSH_DEADLINE_NS, and stamps the time. On taking office it
 * proposes its own REGISTER as a controller, so that it may accuse.
 *
 * Leases. A server answers pulls from what it holds, asking nobody; so it must
 * not be replaced while it does not know that it was. The leader answers each
 * HELLO of an active server with a LEASE of GW__LEASE_NS, which the server
 * counts from before it said that HELLO. Nobody is convicted on a guess as long
 * as a lease may last: the leader proposes no uncertain accusation of a server
 * before GW__LEASE_NS + GW__LEASE_MARGIN_NS have passed since its last LEASE.
 * It is the leader that holds back, and before the log: whoever applies an
 * accusation from the log knows no clock but the log's. While an accusation is
 * on its way through the log its server gets no lease, and nobody does before a
 * new leader's first entry has come out of it: so none that was let in earlier
 * convicts a server that got a lease since.
 *   Of leases that another leader has given it knows nothing. That one may go
 * on for up to two election timeouts after it was replaced, until it notices
 * that no majority answers it; hence GW__LEASE_OFFICE_NS, for which a new
 * leader holds back as well. A leader that has slept longer than an election
 * takes may have been replaced without knowing it, and gives no leases for as
 * long.
 *   A process that is known to have ended serves nobody: a certain accusation
 * convicts at once.
 */
#ifndef GW__CLUSTER_SERVICE_H
#define GW__CLUSTER_SERVICE_H

#include "cluster/detector/silence.h"
#include "cluster/driver/describe.h"
#include "cluster/messages/protocol.h"

#include <base/machine.h>

#define GW__FLUSH_DEADLINE_NS 400000000ULL
/* While a member whose report is missing says HELLO it is only slow: its
 * threads wait for a CPU, say. Who is silent is accused anyway. */
#define GW__FLUSH_PATIENCE_NS 3000000000ULL
/* How much longer a ring member may be silent that has not said HELLO to this
 * controller before. A controller that was started anew knows the ring from its
 * log at once, but its members have yet to notice that they lost it, and to
 * connect again (every 100 ms at most); if it then leads, it would accuse them
 * all. Their neighbours in the ring watch them all the while. */
#define GW__FIRST_HELLO_NS 1000000000ULL

/* The last member of a ring has the state, and no guess removes it. But when it
 * is silent for so long, and somebody waits to be admitted by it, its host is
 * gone, or cut off: then it is taken for certain that it has ended, and the
 * ring begins anew. Should it come back, it hears so. */
#define GW__DESERTED_NS 15000000000ULL

/* A server of which the leader has heard nothing for so long is convicted on
 * its word alone; see service_watch.c. Two observers that do not hear it need
 * half a second. */
#define GW__PARTED_NS 3000000000ULL

#define GW__LEASE_MARGIN_NS 50000000ULL
#define GW__LEASE_OFFICE_NS 300000000ULL
/* For so long after it was accused on a guess a server gets no lease, unless
 * the accusation has come out of the log before and did not convict it. */
#define GW__LEASE_ACCUSED_NS 1000000000ULL
/* Who slept for less was not replaced: an election takes longer. */
#define GW__LEASE_SLEPT_NS 100000000ULL

/* What START brings. */
struct gw__service_config {
    unsigned node; /* our own */
    struct gw__id incarnation;
    char endpoint[GW__ENDPOINT_MAX];
};

extern const struct gw__machine_kind gw__service_machine;

/* ---- what the driver asks (GW__ASKED) ---- */

enum { GW__SERVICE_ASK_MAX = GW__COMMAND_BYTES_MAX + 32 };

/* Entry `index` of the log. */
size_t gw__service_ask_applied(uint8_t out[GW__SERVICE_ASK_MAX], uint64_t index,
                               const void *command, size_t bytes);
/* Who leads: a node, or GW__NODES_MAX for nobody. */
size_t gw__service_ask_leader(uint8_t out[GW__SERVICE_ASK_MAX], unsigned node);

/* ---- what it tells ---- */

/* A command to append to the log, as its bytes stand; the driver may lose it
 * (no leader any more): whoever wants it repeats it. Or, when this is true, no
 * command but where a process listens that wants to register: it is to be
 * answered, and the registry may never know it. */
bool gw__service_tells_endpoint(const void *data, size_t bytes, unsigned *node,
                                char endpoint[GW__ENDPOINT_MAX]);

/* The replica. The driver may restore a snapshot into it (registry.h) between
 * inputs. */
struct gw__registry *gw__service_registry(void *state);
const struct gw__registry *gw__service_registry_of(const void *state);

/* For people (describe.h). */
void gw__service_describe(const void *state, struct gw__description *out);

#endif
