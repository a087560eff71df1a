/* SPDX-License-Identifier: MIT
 *
 * A member's side of the control protocol, as a machine (base/machine.h): it
 * registers, says HELLO, beats (the detector lives inside), accuses, learns of
 * views, brings reports, meets its peers, and tells its application what to do.
 * The application is the data path: lib/ring's runtime, or the simulator's.
 *
 *   registering --> joining --ask READY, admitted--> quiet <----------+
 *                                                     |  a member lost|
 *                                                     v               |
 *                    tell FREEZE, ask REPORT ..... flushing           |
 *                                                     | decided, and  |
 *                                                     | all reports   |
 *                                                     v are here      |
 *                    tell DECIDED .................. quiet ----------->
 *   any --convicted, replaced, left--> gone (tell GONE; nothing more comes)
 *
 *   A member that hears no leader for GW__PARK_NS while something waits for one
 *   (an accusation, a report, a decision, a request) is parked: it tells so,
 *   stays as it is, and tells again when it hears one.
 *
 * The crew (`ring` false, workers and servers of the parameter server) use it
 * too. They are active as soon as they are registered, obey no views, and beat,
 * observe and accuse each other as a ring in the order of nodes. A server may
 * serve until gw__member_lease; one that has had no lease for GW__PARK_NS is
 * parked. What they read is gw__member_news(state)->routes and ->crew.
 *
 * So do observers (a run's supervisor): no beats, but news, accusations and
 * commands of their own.
 *
 * Meeting: in each view every member asks ADDRESS with its end of the new data
 * wire; the machine gives it to all others of that ring epoch, again and again
 * until it has theirs and they have said that they have ours; when all are
 * there it tells ADDRESSES. A view that comes in between begins anew.
 */
#ifndef GW__CLUSTER_MEMBER_H
#define GW__CLUSTER_MEMBER_H

#include <cluster/detector/detector.h>
#include <cluster/driver/describe.h>
#include <cluster/member/client.h>

#define GW__PARK_NS         500000000ULL
#define GW__HELLO_NS        100000000ULL
#define GW__HELLO_SERVER_NS 40000000ULL /* several in a lease */

enum { GW__BLOB_MAX = 2048 };

/* The data of START. `node` may be GW__NODE_ANY. */
struct gw__member_config {
    unsigned node;
    enum gw__role role;
    bool ring;
    unsigned most; /* members that it admits, of the ring; 0: no bound */
    struct gw__id incarnation;
    struct gw__id client;
    char endpoint[GW__ENDPOINT_MAX];
    unsigned controller_count;
    uint8_t controllers[GW__CLIENT_CONTROLLERS];
    struct gw__detector_config detector; /* beat_ns 0: the defaults, but
                                            for `suspicion` */
};

extern const struct gw__machine_kind gw__member_machine;

/* ---- what the application asks (GW__ASKED): one struct gw__member_request,
 * as it is: same process, same build ---- */

enum gw__member_request_kind {
    /* A joiner has copied the state and takes part from `op` on, if admitted.
     * The newest result of a member is its own as long as others may lack it:
     * should it die, the op may be decided otherwise. So before its first op a
     * joiner makes sure of the newest op in its state: its giver has completed
     * another one since then, or all members of the view that took part in it
     * have the same. */
    GW__ASK_READY,
    /* At a boundary, by a member that may (gw__op_table_may_admit) and has not begun
     * `from_op`: admit all joiners that are ready, and put the ring into this
     * order. It does not begin the op before this has ended: in VIEW, FREEZE or
     * REFUSED. `ring_epoch`: of the view in which it has found that it may; the
     * machine may already know of another. */
    GW__ASK_ADMIT,
    /* The frozen holdings, after FREEZE. */
    GW__ASK_REPORT,
    /* Its end of the data wire of a ring epoch. */
    GW__ASK_ADDRESS,
    GW__ASK_LEAVE,
    /* The controllers' news, also when it may have the newest: HEARD follows
     * when the leader has answered. */
    GW__ASK_NEWS,
    /* The process has ended for certain. (DIED does the same.) */
    GW__ASK_LOST,
    /* The connection has ended, which is not a proof: it may have gone on
     * to another view of which this member has yet to hear. */
    GW__ASK_RESET,
    /* For the detector. */
    GW__ASK_STANDING,
    /* A command of the application's own; ends in ANSWER with the tag. */
    GW__ASK_COMMAND
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
        struct gw__standing standing;
        struct {
            unsigned tag;
            struct gw__command command;
        } own; /* COMMAND */
    };
};

/* ---- what it tells ---- */

enum gw__told_kind {
    GW__TOLD_REGISTERED, /* `node` is ours; joining */
    GW__TOLD_NEWS,       /* gw__member_news has changed */
    GW__TOLD_HEARD,     /* the leader's news, which were asked for, have come */
    GW__TOLD_VIEW,      /* a view that needs no flush: the first in which we
                            are, or one that admits others */
    GW__TOLD_FREEZE,    /* `epoch`: of the flush; a report is wanted. May be
                            the first that a joiner hears of its ring */
    GW__TOLD_DECIDED,   /* the flush is over; see the accessors */
    GW__TOLD_ADDRESSES, /* `epoch`: ring epoch; see gw__member_address */
    GW__TOLD_READY,     /* joiners are ready to be admitted: `count` */
    GW__TOLD_REFUSED,   /* the ADMIT: `text` */
    GW__TOLD_ANSWER,    /* `tag`, `answer` */
    GW__TOLD_SUSPECT,   /* `node` was accused by us: `certain`, `silence_ns` */
    GW__TOLD_TRUST,     /* `node` beats again */
    GW__TOLD_STUCK,     /* `laggard` */
    GW__TOLD_PARKED,    /* `text`: why */
    GW__TOLD_UNPARKED,
    GW__TOLD_LEASE, /* gw__member_lease has grown */
    GW__TOLD_GONE   /* `text`: convicted, replaced or left */
};

struct gw__told {
    enum gw__told_kind kind;
    uint64_t epoch;
    unsigned node, count, tag;
    bool certain;
    uint64_t silence_ns;
    struct gw__stall_diagnosis laggard;
    struct gw__answer answer;
    char text[200];
};
/* `tell` brings one struct gw__told as it is: same process, same build. */

/* ---- to be read inside `tell` (and by the driver's hooks) ---- */

const struct gw__membership_update *gw__member_news(const void *state);
/* The newest view in which we are, or were. */
const struct gw__view *gw__member_view(const void *state);
/* After DECIDED: what `node` reported in that flush, or NULL. */
const struct gw__report *gw__member_report(const void *state, unsigned node);
/* After ADDRESSES: of that ring epoch. NULL when it is another by now. */
const void *gw__member_address(const void *state, uint64_t ring_epoch,
                               unsigned node, size_t *bytes);
unsigned gw__member_node(const void *state);
bool gw__member_parked(const void *state);
/* For people: a driver's `describe`. */
void gw__member_describe(const void *state, uint64_t now_ns,
                         struct gw__description *out);
/* Until when a server may serve, by the machine's clock (ns); 0: it has no
 * lease. It may be over. */
uint64_t gw__member_lease(const void *state);

#endif
