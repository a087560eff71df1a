/* SPDX-License-Identifier: MIT
 *
 * The session of a process with the controllers of its cluster: the member
 * machine (cluster/member), run by a driver, as a member of a ring (lib/ring),
 * a worker, server or aggregator (lib/ps), or an observer such as a run's
 * supervisor. Two threads use it:
 *
 *   control   the driver's (driver.h): runs the machine
 *   data      the process's own: sends requests, and waits on `changed`
 *
 * `lock` guards the data of both. On a notification from the machine, the
 * session stores the state that every process needs, calls `on_told` with the
 * lock held, and wakes all waiting threads. Requests never wait, so they may be
 * made with the lock held.
 *
 *     init --start--> [a random number is replaced by another] --> runs
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
    unsigned most;    /* the most members of the ring that it admits; 0: no
                         bound */
    uint64_t process; /* identity in the upper bits of incarnations
                         (registry.h); 0: random */
    const char *endpoint;
    struct gw__security security;
    unsigned controller_count;
    struct gw__driver_peer controllers[GW__CLIENT_CONTROLLERS];
    const struct gw_suspicion *suspicion; /* NULL: the built-in rule */
    /* Not owned; NULL: none. gw__session_start gives up once it is true. */
    const _Atomic bool *interrupt;

    void *context;
    /* With the lock, in the control thread; NULL: none. */
    void (*on_notification)(void *context,
                            const struct gw__notification *notification);
    /* As in driver.h, without the lock; NULL: none. */
    uint64_t (*on_turn)(void *context);
    void (*on_message)(void *context, unsigned from, struct gw__id incarnation,
                       const void *data, size_t bytes);
};

struct gw__session {
    struct gw__session_config config; /* its strings are copies */
    char *strings[GW__SESSION_STRINGS];
    unsigned string_count;
    struct gw__id incarnation;
    struct gw__link_profiles
        *profiles; /* for everything that this process receives */
    struct gw__driver *driver;

    bool ready; /* the lock is initialised */
    pthread_mutex_t lock;
    pthread_cond_t changed;

    /* ---- under `lock` ---- */

    unsigned node;
    bool registered, gone, parked;
    uint64_t parked_ns; /* time of the last change of `parked` */
    char gone_text[200], parked_text[200];
    uint64_t lease_ns; /* a server may serve until then; 0: not */
    struct gw__membership_update update;             /* index 0: none yet */
    char endpoints[GW__NODES_MAX][GW__ENDPOINT_MAX]; /* known to the control
                                                        channel */
};

/* Copies the config. GW_EINVAL: invalid config; GW_ENOMEM, GW_ESYS, GW_EUNREACH
 * (wire/address.h). Then, and after a failure, call gw__session_fini. */
GW_MUST_CHECK enum gw_err
gw__session_init(struct gw__session *session,
                 const struct gw__session_config *config, struct gw_error *why);
void gw__session_fini(struct gw__session *session);
/* Copies the string *text (NULL: stays) for the lifetime of the session; false:
 * out of memory. */
GW_MUST_CHECK bool gw__session_own(struct gw__session *session,
                                   const char **text);

/* ---- session_number.c ---- */

/* Starts the control thread under the configured number, or finds its number.
 * GW_ETIMEOUT (deadline 0: none), GW_EINTR. Does not wait for the
 * registration. */
GW_MUST_CHECK enum gw_err gw__session_start(struct gw__session *session,
                                            uint64_t deadline_ns,
                                            struct gw_error *why);
bool gw__session_interrupted(const struct gw__session *session);
/* Makes an incarnation of this process, or of the one that `named` identifies.
 * It is later than the earlier ones; registry.h explains their order. */
GW_MUST_CHECK enum gw_err gw__session_next_life(uint64_t named,
                                                struct gw__id *incarnation,
                                                struct gw_error *why);

/* ---- session.c ---- */

/* Starts the control thread as `node`, sending as `as`. */
GW_MUST_CHECK enum gw_err gw__session_launch(struct gw__session *session,
                                             unsigned node, unsigned as,
                                             struct gw_error *why);
/* Ends the control thread, if there is one. */
void gw__session_stop(struct gw__session *session);

void gw__session_lock(struct gw__session *session);
void gw__session_unlock(struct gw__session *session);
/* Waits for a change until `until_ns`, at most 10 ms. Called with the lock. */
void gw__session_wait(struct gw__session *session, uint64_t until_ns);
void gw__session_nap(struct gw__session *session);
void gw__session_wake(struct gw__session *session);
/* Sets the endpoint of a node if it has changed. */
void gw__session_know(struct gw__session *session, unsigned node,
                      const char *endpoint);

/* The machine's state (member.h): in on_told and on_turn only. */
const void *gw__session_member(const struct gw__session *session);

/* Sends a request to the machine, from any thread, with or without the lock;
 * errors of gw__driver_request. */
enum gw_err gw__session_request(struct gw__session *session,
                                const struct gw__member_request *request);
enum gw_err gw__session_command(struct gw__session *session,
                                const struct gw__command *command,
                                unsigned tag);
/* Reports to the machine that a process has certainly ended. */
enum gw_err gw__session_lost(struct gw__session *session,
                             struct gw__process who);
/* Sends LEAVE and waits until the member is gone. Called without the lock.
 * GW_ETIMEOUT. */
enum gw_err gw__session_leave(struct gw__session *session, uint64_t deadline_ns,
                              struct gw_error *why);

#endif
