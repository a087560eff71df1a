/* SPDX-License-Identifier: MIT
 *
 * The session of a process with the controllers of its cluster: the member
 * machine (cluster/member), run by a driver, as a member of a ring (lib/ring), a
 * worker or server (lib/ps), or an observer such as a run's supervisor. Two
 * threads meet here:
 *
 *   control   the driver's (driver.h): runs the machine
 *   data      the process's own: asks the machine, and waits on `changed`
 *
 * `lock` guards what both use. When the machine tells something, the session
 * writes down what every process wants to know, calls `on_told`, still with the
 * lock, and wakes all that wait. Asking never waits, so it may be done with the
 * lock held.
 *
 *     init --start--> [a number is drawn, another is given] --> runs
 *          --stop--> fini
 *
 * Everything below `lock` is read with it; `config`, `incarnation` and `rules`
 * are constant after gw__session_start.
 */
#ifndef GW__CLUSTER_SESSION_H
#define GW__CLUSTER_SESSION_H

#include <cluster/driver/driver.h>
#include <cluster/member/member.h>

#include <pthread.h>
#include <stdatomic.h>

enum { GW__SESSION_STRINGS = GW__CLIENT_CONTROLLERS + 8 };

struct gw__session_config {
    unsigned node; /* or GW__NODE_ANY: the controllers choose */
    enum gw__role role;
    bool ring;
    unsigned most;    /* members that it admits, of the ring; 0: no bound */
    uint64_t process; /* named by its upper bits (registry.h); 0: drawn */
    const char *endpoint;
    uint64_t token;
    const char *key_file; /* NULL: none */
    bool insecure;
    unsigned controller_count;
    struct gw__driver_peer controllers[GW__CLIENT_CONTROLLERS];
    const struct gw_suspicion *suspicion; /* NULL: the built-in rule */
    /* Not owned; NULL: none. Once it is true gw__session_start gives up. */
    const _Atomic bool *interrupt;

    void *context;
    /* With the lock, in the control thread; NULL: none. */
    void (*on_told)(void *context, const struct gw__told *told);
    /* As in driver.h, without the lock; NULL: none. */
    void (*on_turn)(void *context);
    void (*on_message)(void *context, unsigned from, struct gw__id incarnation,
                       const void *data, size_t bytes);
};

struct gw__session {
    struct gw__session_config config; /* its strings are copies */
    char *strings[GW__SESSION_STRINGS];
    unsigned string_count;
    struct gw__id incarnation;
    struct gw__rules *rules; /* of all that comes to this process */
    struct gw__driver *driver;

    bool ready; /* there is a lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;

    /* ---- under `lock` ---- */

    unsigned node;
    bool registered, gone, parked;
    uint64_t parked_ns; /* since when it is, or is not */
    char gone_text[200], parked_text[200];
    uint64_t lease_ns; /* a server may serve until then; 0: not */
    struct gw__membership_update news; /* the newest; index 0: none yet */
    char endpoints[GW__NODES_MAX][GW__ENDPOINT_MAX]; /* as the mesh has them */
};

/* Copies the config. GW_EINVAL: one without sense; GW_ENOMEM, GW_ESYS,
 * GW_EUNREACH (wire/address.h). Then, and after a failure, gw__session_fini. */
GW_MUST_CHECK enum gw_err
gw__session_init(struct gw__session *session,
                 const struct gw__session_config *config, struct gw_error *why);
void gw__session_fini(struct gw__session *session);
/* Copies the string that *text points to (NULL: stays), for as long as the
 * session; false: out of memory. */
GW_MUST_CHECK bool gw__session_own(struct gw__session *session,
                                   const char **text);

/* ---- host_number.c ---- */

/* Starts the control thread under the number that was given, or finds out which
 * it is: GW_ETIMEOUT (deadline 0: none), GW_EINTR. Does not wait until the
 * process is registered. */
GW_MUST_CHECK enum gw_err gw__session_start(struct gw__session *session,
                                            uint64_t deadline_ns,
                                            struct gw_error *why);
bool gw__session_interrupted(const struct gw__session *session);
/* An incarnation of this process, or of that which `named` names, later than
 * its others; registry.h says how that shows. */
GW_MUST_CHECK enum gw_err gw__session_next_life(uint64_t named,
                                                struct gw__id *incarnation,
                                                struct gw_error *why);

/* ---- session.c ---- */

/* The control thread, as `node`, which speaks as `as`. */
GW_MUST_CHECK enum gw_err gw__session_launch(struct gw__session *session,
                                             unsigned node, unsigned as,
                                             struct gw_error *why);
/* Ends the control thread, if there is one. */
void gw__session_stop(struct gw__session *session);

void gw__session_lock(struct gw__session *session);
void gw__session_unlock(struct gw__session *session);
/* With the lock, of these. Sleeps until something changes, or then; 10 ms at
 * most. */
void gw__session_wait(struct gw__session *session, uint64_t until_ns);
void gw__session_nap(struct gw__session *session);
void gw__session_wake(struct gw__session *session);
/* Where a node listens, if that is news. */
void gw__session_know(struct gw__session *session, unsigned node,
                      const char *endpoint);

/* The machine's state (member.h): in on_told and on_turn only. */
const void *gw__session_member(const struct gw__session *session);

/* Asked of the machine, from any thread, with the lock or without it; errors of
 * gw__driver_ask. */
enum gw_err gw__session_ask(struct gw__session *session,
                            const struct gw__member_request *request);
enum gw_err gw__session_command(struct gw__session *session,
                                const struct gw__command *command,
                                unsigned tag);
/* This process has ended, that is certain. */
enum gw_err gw__session_lost(struct gw__session *session,
                             struct gw__process who);
/* Without the lock: says LEAVE, and waits until it is gone. GW_ETIMEOUT. */
enum gw_err gw__session_leave(struct gw__session *session, uint64_t deadline_ns,
                              struct gw_error *why);

#endif
