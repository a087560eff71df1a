/* SPDX-License-Identifier: MIT
 *
 * A member's side of the control protocol, as a machine (base/machine.h). It
 * registers, sends HELLO, sends beats (it contains the detector), suspects,
 * receives views, sends reports, exchanges addresses with its peers, and
 * notifies its application. The application is the data path: lib/ring's
 * runtime, or the simulator's.
 *
 *   registering --> joining --ask READY, admitted--> quiet <----------+
 *                                                     |  a member lost|
 *                                                     v               |
 *                    tell FREEZE, ask REPORT ..... flushing           |
 *                                                     | decided, and  |
 *                                                     | all reports   |
 *                                                     v are here      |
 *                    tell DECIDED .................. quiet ----------->
 *   any --declared dead, replaced, left--> gone (report GONE, end)
 *
 *   A member that hears no leader for GW__PARK_NS while it waits for one (for
 *   a suspicion, a report, a decision, a request) is parked. It reports this,
 *   keeps its state, and reports again when it hears a leader.
 *
 * The workers, servers and aggregators of the parameter server (`ring` false)
 * use it too. They are active as soon as they are registered and obey no views.
 * They send beats, observe and suspect each other as a ring in the order of
 * nodes. A server may serve until gw__member_lease; without a lease for
 * GW__PARK_NS it is parked. They read gw__member_update(state)->routes and
 * ->members.
 *
 * Observers (a run's supervisor) use it as well: without beats, but with
 * updates, suspicions and commands of their own.
 *
 * Meeting: in each view every member submits ADDRESS with its end of the new
 * data wire. The machine sends it to all others of that ring epoch, repeatedly,
 * until it has theirs and they have confirmed ours. When all addresses are
 * known it notifies ADDRESSES. A new view starts this again.
 */
#ifndef GW__CLUSTER_MEMBER_H
#define GW__CLUSTER_MEMBER_H

#include <cluster/detector/detector.h>
#include <cluster/driver/describe.h>
#include <cluster/member/client.h>

#define GW__PARK_NS         500000000ULL
#define GW__HELLO_SERVER_NS 40000000ULL /* several per lease */

enum { GW__BLOB_MAX = 2048 };

/* The data of START. `node` may be GW__NODE_ANY. */
struct gw__member_config {
    unsigned node;
    enum gw__role role;
    bool ring;
    unsigned most; /* the most members of the ring that it admits; 0: no
                      bound */
    struct gw__id incarnation;
    struct gw__id client;
    char endpoint[GW__ENDPOINT_MAX];
    unsigned controller_count;
    uint16_t controllers[GW__CLIENT_CONTROLLERS];
    struct gw__detector_config detector; /* beat_ns 0: the defaults, except
                                            `suspicion` */
};

extern const struct gw__machine_kind gw__member_machine;

/* ---- requests of the application (GW__REQUESTED): one struct
 * gw__member_request, unencoded: same process, same build ---- */

enum gw__member_request_kind {
    /* A joiner has copied the state and takes part from `op` on, if admitted.
     * Other members may lack the newest result of a member; if that member
     * dies, the op may be decided differently. So before its first op a joiner
     * confirms the newest op in its state: either the server of the state has
     * completed another op since then, or all members of the view that took
     * part in it have the same. */
    GW__REQUEST_READY,
    /* Admits all ready joiners and puts the ring into this order. Sent at a
     * boundary, by a member that may admit (gw__op_table_may_admit) and has not
     * begun `from_op`. It must not begin the op before the request has ended:
     * in VIEW, FREEZE or REFUSED. `ring_epoch`: of the view for which it may
     * admit; the machine may already have a later one. */
    GW__REQUEST_ADMIT,
    /* The frozen holdings, after FREEZE. */
    GW__REQUEST_REPORT,
    /* The member's end of the data wire of a ring epoch. */
    GW__REQUEST_ADDRESS,
    GW__REQUEST_LEAVE,
    /* Requests NEWS, even if this member may have the newest: HEARD follows
     * when the leader has answered. */
    GW__REQUEST_UPDATE,
    /* The process has certainly ended. (DIED has the same effect.) */
    GW__REQUEST_LOST,
    /* The connection has ended. This is not a proof: the peer may have gone on
     * to another view that this member does not know yet. */
    GW__REQUEST_RESET,
    /* For the detector. */
    GW__REQUEST_PROGRESS,
    /* A command of the application; ends in ANSWER with the tag. */
    GW__REQUEST_COMMAND
};

struct gw__member_request {
    enum gw__member_request_kind kind;
    union {
        uint64_t op;
        struct {
            uint64_t from_op, ring_epoch;
            struct gw__order order;
        } admit;
        struct {
            uint64_t epoch;
            struct gw__report report;
        } flush; /* REPORT */
        struct {
            uint64_t ring_epoch;
            size_t bytes;
            uint8_t blob[GW__BLOB_MAX];
        } address;
        struct gw__process who; /* LOST, RESET */
        struct gw__progress_report progress;
        struct {
            unsigned tag;
            struct gw__command command;
        } own; /* COMMAND */
    };
};

/* ---- notifications ---- */

enum gw__notification_kind {
    GW__NOTIFY_REGISTERED, /* `node` is the own number; joining */
    GW__NOTIFY_UPDATE,     /* gw__member_update has changed */
    GW__NOTIFY_ANSWERED,   /* the leader's NEWS, as requested, has arrived */
    GW__NOTIFY_VIEW,       /* a view that needs no flush: the first one that
                           contains us, or one that admits others */
    GW__NOTIFY_FREEZE,  /* `epoch`: of the flush; a report is needed. May be the
                           first notification of its ring to a joiner */
    GW__NOTIFY_DECIDED, /* the flush is over; see the accessors */
    GW__NOTIFY_ADDRESSES, /* `epoch`: ring epoch; see gw__member_address */
    GW__NOTIFY_READY,     /* joiners are ready to be admitted: `count` */
    GW__NOTIFY_REFUSED,   /* the ADMIT: `text` */
    GW__NOTIFY_ANSWER,    /* `tag`, `answer` */
    GW__NOTIFY_SUSPECT,   /* `node` was suspected by this member: `certain`,
                           `silence_ns` */
    GW__NOTIFY_TRUST,     /* `node` sends beats again */
    GW__NOTIFY_STUCK,     /* `laggard` */
    GW__NOTIFY_PARKED,    /* `text`: the reason */
    GW__NOTIFY_UNPARKED,
    GW__NOTIFY_LEASE, /* gw__member_lease has increased */
    GW__NOTIFY_GONE   /* `text`: declared dead, replaced or left */
};

struct gw__notification {
    enum gw__notification_kind kind;
    uint64_t epoch;
    unsigned node, count, tag;
    bool certain;
    uint64_t silence_ns;
    struct gw__stall_diagnosis stall;
    struct gw__answer answer;
    char text[200];
};
/* Each notification is one struct gw__notification, unencoded: same process,
 * same build. */

/* ---- accessors for callbacks and the driver's hooks ---- */

const struct gw__membership_update *gw__member_update(const void *state);
/* The newest view that contains, or contained, this member. */
const struct gw__view *gw__member_view(const void *state);
/* After DECIDED: the report of `node` in that flush, or NULL. */
const struct gw__report *gw__member_report(const void *state, unsigned node);
/* After ADDRESSES: the address of that ring epoch. NULL if the epoch is
 * over. */
const void *gw__member_address(const void *state, uint64_t ring_epoch,
                               unsigned node, size_t *bytes);
bool gw__member_parked(const void *state);
/* Describes the state for people: a driver's `describe`. */
void gw__member_describe(const void *state, uint64_t now_ns,
                         struct gw__description *out);
/* The end of a server's lease, by the machine's clock (ns); 0: no lease. It may
 * be in the past. */
uint64_t gw__member_lease(const void *state);

#endif
