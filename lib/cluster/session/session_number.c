/* SPDX-License-Identifier: MIT
 *
 * Finds the number and the incarnation of a session.
 *
 * A number from the controllers (GW__NODE_ANY). Messages carry the number of
 * their sender, so the first request uses a random one. The answer contains the
 * real number, under which the process starts again as the same incarnation. A
 * process whose random number is taken gets no answer and draws again. The
 * answer may also have been lost: then the process has a number, was silent,
 * and may have been declared dead. So after some tries it uses a later
 * incarnation, which replaces the one before.
 */
#include "session.h"

#include "base/random.h"

#include <string.h>
#include <unistd.h>

static const uint64_t answer_ns = 400000000;

enum { TRIES_A_LIFE = 3 };

enum gw_err gw__session_next_life(uint64_t named, struct gw__id *incarnation,
                                  struct gw_error *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t drawn, lives;
    static pid_t process; /* the process of that value: a fork is another one */
    enum gw_err err = gw__draw(incarnation, sizeof *incarnation, why);
    if (err)
        return err;
    pthread_mutex_lock(&lock);
    if (process != getpid())
        drawn = incarnation->high;
    process = getpid();
    uint64_t upper = (named ? named : drawn) >> GW__LIFE_BITS;
    incarnation->high = upper << GW__LIFE_BITS | ++lives;
    pthread_mutex_unlock(&lock);
    incarnation->low |= 1; /* 0 means none */
    return GW_OK;
}

static bool is_controller(const struct gw__session *session, unsigned node)
{
    for (unsigned i = 0; i < session->config.controller_count; i++)
        if (session->config.controllers[i].node == node)
            return true;
    return false;
}

static enum gw_err draw_number(const struct gw__session *session,
                               unsigned *node, struct gw_error *why)
{
    enum gw_err err;
    uint16_t drawn;
    do {
        err = gw__draw(&drawn, sizeof drawn, why);
        *node = drawn % GW__NODES_MAX;
    } while (!err && is_controller(session, *node));
    return err;
}

bool gw__session_interrupted(const struct gw__session *session)
{
    return session->config.interrupt && atomic_load(session->config.interrupt);
}

/* Waits for an answer; true: *node is ours. */
static bool await_number(struct gw__session *session, unsigned *node)
{
    uint64_t until_ns = gw_now_ns() + answer_ns;
    gw__session_lock(session);
    while (!session->registered && gw_now_ns() < until_ns &&
           !gw__session_interrupted(session))
        gw__session_nap(session);
    bool registered = session->registered;
    *node = session->node;
    gw__session_unlock(session);
    return registered;
}

/* Stops the control thread and forgets the random number. */
static void stop_and_forget(struct gw__session *session)
{
    gw__session_stop(session);
    gw__session_lock(session);
    session->registered = session->gone = session->parked = false;
    session->parked_ns = session->lease_ns = 0;
    memset(&session->update, 0, sizeof session->update);
    memset(session->endpoints, 0, sizeof session->endpoints);
    gw__session_unlock(session);
}

/* GW_PENDING: not yet. */
static enum gw_err try_number(struct gw__session *session, unsigned *node,
                              struct gw_error *why)
{
    unsigned drawn;
    enum gw_err err = draw_number(session, &drawn, why);
    if (!err)
        err = gw__session_launch(session, GW__NODE_ANY, drawn, why);
    if (err)
        return err;
    bool found = await_number(session, node);
    stop_and_forget(session);
    if (found)
        return GW_OK;
    return gw__session_interrupted(session)
               ? gw_fail(why, GW_EINTR, "interrupted")
               : GW_PENDING;
}

static enum gw_err find_number(struct gw__session *session,
                               uint64_t deadline_ns, unsigned *node,
                               struct gw_error *why)
{
    for (unsigned tries = 1;; tries++) {
        enum gw_err err = GW_OK;
        if (tries % TRIES_A_LIFE == 0)
            err = gw__session_next_life(session->config.process,
                                        &session->incarnation, why);
        if (!err)
            err = try_number(session, node, why);
        if (err != GW_PENDING)
            return err;
        if (deadline_ns && gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "no controller has assigned a node number");
    }
}

enum gw_err gw__session_start(struct gw__session *session, uint64_t deadline_ns,
                              struct gw_error *why)
{
    unsigned node = session->config.node;
    enum gw_err err = GW_OK;
    if (node == GW__NODE_ANY)
        err = find_number(session, deadline_ns, &node, why);
    gw__session_lock(session);
    session->node = node;
    gw__session_unlock(session);
    return err ? err : gw__session_launch(session, node, node, why);
}
