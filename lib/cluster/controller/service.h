/* SPDX-License-Identifier: MIT
 *
 * The service of a controller, as a machine. It receives requests, proposes
 * them to the log, applies the committed entries, answers, and sends updates to
 * the members. The driver provides the log (Raft in controller.h, or the
 * simulator's).
 *
 *     REQUEST ---> tell PROPOSE ---> the log ---> asked APPLIED ---> ANSWER
 *                                                             `---> NEWS
 *
 * Only the leader proposes; the others answer REDIRECT. Every replica applies
 * entries and sends NEWS to the members that send it HELLO. All members send
 * HELLO to all controllers, so a dead leader does not delay NEWS.
 *
 * The leader is also a second observer of every member. It suspects members
 * whose HELLOs have stopped (phi.h), proposes the DEADLINE of a flush whose
 * reports do not arrive for GW__FLUSH_DEADLINE_NS, and stamps the time. A new
 * leader proposes its own REGISTER as a controller, so that it may suspect.
 *
 * Leases. A server answers pulls from its own memory without asking another
 * process. So it must not be replaced before it knows that it was. The leader
 * answers each HELLO of an active server with a LEASE of GW__LEASE_NS, which
 * the server counts from a time before it sent that HELLO. A server is not
 * declared dead on a suspicion as long as a lease may last: the leader proposes
 * no uncertain suspicion of a server before GW__LEASE_NS + GW__LEASE_MARGIN_NS
 * have passed since its last LEASE. The leader must delay the suspicion before
 * the log, because a replica that applies it has no clock but the log's. While
 * a suspicion is in the log, its server gets no lease. No server gets one
 * before the first entry of a new leader has been applied. So no suspicion
 * from before can declare a server dead that got a lease since.
 *   A leader does not know the leases of another leader. That one may go on for
 * up to two election timeouts after it was replaced, until it notices that no
 * majority answers it. Therefore a new leader also waits for
 * GW__LEASE_LEADER_NS. A leader that was stopped for longer than an election
 * takes may have been replaced without knowing it, and grants no leases for the
 * same time.
 *   A process that is known to have ended serves no requests: a certain
 * suspicion declares it dead at once.
 */
#ifndef GW__CLUSTER_SERVICE_H
#define GW__CLUSTER_SERVICE_H

#include "cluster/detector/silence.h"
#include "cluster/driver/describe.h"
#include "cluster/messages/protocol.h"

#include <base/machine.h>

#define GW__FLUSH_DEADLINE_NS 400000000ULL
/* A member whose report is missing but that sends HELLO is only slow, for
 * example because its threads wait for a CPU. A silent member is suspected
 * anyway. */
#define GW__FLUSH_PATIENCE_NS 3000000000ULL
/* Additional silence allowed for a ring member that has not yet sent HELLO to
 * this controller. A restarted controller knows the ring from its log at once.
 * Its members have yet to notice the lost connection and to connect again
 * (every 100 ms at most). As leader it would otherwise suspect all of them.
 * Meanwhile their neighbours in the ring watch them. */
#define GW__FIRST_HELLO_NS 1000000000ULL

/* The last member of a ring has the state, and no suspicion removes it. If it
 * is silent for this time while a joiner waits for its admission, its host is
 * gone or cut off. Then it counts as certainly ended, and a new ring begins. If
 * it comes back, it is notified. */
#define GW__DESERTED_NS 15000000000ULL

/* A server that is silent for this time is declared dead on the leader's
 * suspicion alone; see service_observe.c. With two observers that do not hear
 * it, half a second is enough. */
#define GW__PARTITIONED_NS 3000000000ULL

#define GW__LEASE_MARGIN_NS 50000000ULL
#define GW__LEASE_LEADER_NS 300000000ULL
/* A server gets no lease for this time after a suspicion, unless the suspicion
 * was applied before and did not declare it dead. */
#define GW__LEASE_SUSPECT_NS 1000000000ULL
/* A leader that was stopped for less was not replaced: an election takes
 * longer. */
#define GW__LEASE_SLEPT_NS 100000000ULL

/* The data of START. */
struct gw__service_config {
    unsigned node; /* the own node */
    struct gw__id incarnation;
    char endpoint[GW__ENDPOINT_MAX];
};

extern const struct gw__machine_kind gw__service_machine;

/* ---- requests of the driver (GW__REQUESTED) ---- */

enum { GW__SERVICE_REQUEST_MAX = GW__COMMAND_BYTES_MAX + 32 };

/* Entry `index` of the log. */
size_t gw__service_request_applied(uint8_t out[GW__SERVICE_REQUEST_MAX],
                                   uint64_t index, const void *command,
                                   size_t bytes);
/* The leader: a node, or GW__NODES_MAX if there is none. */
size_t gw__service_request_leader(uint8_t out[GW__SERVICE_REQUEST_MAX],
                                  unsigned node);

/* ---- output ---- */

/* The output is a command to append to the log. The driver may lose it (no
 * longer leader); the client repeats it. If this function returns true, the
 * output is not a command but the endpoint of a process that wants to register.
 * It must be answered, even if the registry never learns about it. */
bool gw__service_sends_endpoint(const void *data, size_t bytes, unsigned *node,
                                char endpoint[GW__ENDPOINT_MAX]);

/* The replica. The driver may restore a snapshot into it (registry.h) between
 * inputs. */
struct gw__registry *gw__service_registry(void *state);
const struct gw__registry *gw__service_registry_of(const void *state);

/* Describes the state for people (describe.h). */
void gw__service_describe(const void *state, struct gw__description *out);

#endif
