/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verbs about one node's life. `kill` is SIGKILL, `pause` SIGSTOP. `stop`
 * asks by SIGTERM, as an operating system does, `drain` by an order: in both
 * cases the node finishes the op under way, leaves the ring by the controllers'
 * log, and ends. Its shards are leases for one op, so there is nothing else to
 * hand over. A worker of parameter servers drops its work item, which another
 * one takes; a server hands over its slots first.
 *
 * A refusal names the state that is in the way.
 */
#include "supervisor_verbs.h"

#include <base/clock.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

enum { ADD_MAX = RUN_RANKS_MAX };

/* ---- targets ---- */

static struct child *controller_named(struct run *run, json_int_t number,
                                      struct gw_error *why)
{
    if (number == -1) {
        number = control_leader(run);
        if (number < 0) {
            gw_fail(why, GW_EINVAL, "no controller leads: %u of %u %s alive",
                    controllers_alive(run), controllers_all(run),
                    controllers_alive(run) == 1 ? "is" : "are");
            return NULL;
        }
    }
    unsigned count = controllers_all(run);
    if (number < 0 || number >= count) {
        gw_fail(why, GW_EINVAL, "controller %lld does not exist",
                (long long)number);
        return NULL;
    }
    return &run->controllers[number];
}

static struct child *worker_named(struct run *run, json_int_t number,
                                  struct gw_error *why)
{
    if (number >= 0 && number < RUN_RANKS_MAX && run->workers[number].known)
        return &run->workers[number];
    gw_fail(why, GW_EINVAL, "%s %lld does not exist",
            has_servers(run) ? "worker" : "node", (long long)number);
    return NULL;
}

static struct child *server_named(struct run *run, json_int_t number,
                                  struct gw_error *why)
{
    if (number >= 0 && number < RUN_SERVERS_MAX && run->servers[number].known)
        return &run->servers[number];
    if (has_servers(run))
        gw_fail(why, GW_EINVAL, "server %lld does not exist",
                (long long)number);
    else
        gw_fail(why, GW_ENOTSUP, "this run has no servers");
    return NULL;
}

struct child *child_named(struct run *run, const json_t *name,
                          struct gw_error *why)
{
    const char *role = json_string_value(json_object_get(name, "role"));
    const json_t *node =
        json_is_object(name) ? json_object_get(name, "node") : name;
    if (!json_is_integer(node)) {
        gw_fail(why, GW_EINVAL, "no node given; \"node\" must be its number");
        return NULL;
    }
    if (!role || strcmp(role, "worker") == 0)
        return worker_named(run, json_integer_value(node), why);
    if (strcmp(role, "controller") == 0)
        return controller_named(run, json_integer_value(node), why);
    if (strcmp(role, "server") == 0)
        return server_named(run, json_integer_value(node), why);
    gw_fail(why, GW_EINVAL, "this run has no %.20ss", role);
    return NULL;
}

/* The child of the request; without a process the request is refused. */
static struct child *living(const struct request *request)
{
    struct gw_error why = {.code = GW_EINVAL};
    char name[32];
    struct child *child = child_named(request->run, request->json, &why);
    if (!child) {
        refuse(request, why.code, "%s", why.text);
        return NULL;
    }
    child_name(child, name);
    if (child->role == GW__CONTROLLER && request->run->controller_count == 0)
        refuse(request, GW_ENOTSUP,
               "%s runs in the supervisor; only a run with --controllers 3 or "
               "5 has controller processes",
               name);
    else if (child->awaits)
        refuse(request, GW_EINVAL, "%s is being restarted", name);
    else if (child->pid <= 0)
        refuse(request, GW_EINVAL,
               child->left ? "%s has already left" : "%s is already dead",
               name);
    else
        return child;
    return NULL;
}

static bool is_last(const struct request *request, const struct child *child)
{
    const struct run *run = request->run;
    bool server = child->role == GW__SERVER;
    unsigned alive =
        server ? ps_members_alive(run, GW__SERVER) : members_alive(run);
    bool counts = server || (child->pid > 0 && child_is_whole(run, child));
    if (!child_is_member(run, child) || alive > counts)
        return false;
    if (server)
        refuse(request, GW_EINVAL, "cannot %s server %u: it is the last server",
               request->verb, child->number);
    else
        refuse(request, GW_EINVAL, "cannot %s %u: it is the last member",
               request->verb, child->number);
    return true;
}

static void touched(struct child *child)
{
    child->trouble_ns = gw_now_ns();
}

static void done(const struct request *request, const struct child *child,
                 const char *what)
{
    char name[32], ring[SENTENCE_MAX];
    serve_answer(request->run, &request->requester, GW_OK, NULL,
                 "%s was %s: %s", child_name(child, name), what,
                 ring_text(request->run, ring));
}

/* ---- ending ---- */

void verb_kill(const struct request *request)
{
    char name[32], text[64];
    struct child *child = living(request);
    if (!child || is_last(request, child))
        return;
    touched(child);
    child->killed = true;
    kill(child->pid, SIGKILL);
    snprintf(text, sizeof text, "%s was killed", child_name(child, name));
    later_change(request, LATER_GONE, child, text);
}

static void leave(const struct request *request, bool by_signal)
{
    char name[32], text[64];
    struct child *child = living(request);
    if (!child || is_last(request, child))
        return;
    child_name(child, name);
    if (child->paused) {
        refuse(request, GW_EINVAL, "%s is paused; resume it first", name);
        return;
    }
    if (child->leaving) {
        refuse(request, GW_EINVAL, "%s is already leaving", name);
        return;
    }
    touched(child);
    child->leaving = true;
    if (by_signal || (is_program(request->run) && child->role == GW__WORKER))
        kill(child->pid, SIGTERM);
    else
        child_send_desired(request->run, child);
    snprintf(text, sizeof text,
             child->role == GW__CONTROLLER ? "%s ended" : "%s left", name);
    later_change(request, LATER_GONE, child, text);
}

void verb_stop(const struct request *request)
{
    leave(request, true);
}

void verb_drain(const struct request *request)
{
    leave(request, false);
}

/* ---- pausing ---- */

void verb_pause(const struct request *request)
{
    char name[32];
    struct child *child = living(request);
    if (!child)
        return;
    if (child->paused) {
        refuse(request, GW_EINVAL, "%s is already paused",
               child_name(child, name));
        return;
    }
    touched(child);
    child->paused = true;
    kill(child->pid, SIGSTOP);
    done(request, child, "paused");
}

void verb_resume(const struct request *request)
{
    char name[32];
    struct child *child = living(request);
    if (!child)
        return;
    if (!child->paused) {
        refuse(request, GW_EINVAL, "%s is not paused", child_name(child, name));
        return;
    }
    child->paused = false;
    kill(child->pid, SIGCONT);
    done(request, child, "resumed");
}

/* ---- starting ---- */

/* An existing process is ended first; the new one begins when the former one is
 * out of the ring. */
void verb_restart(const struct request *request)
{
    struct run *run = request->run;
    struct gw_error why = {.code = GW_EINVAL};
    char name[32], text[64];
    struct child *child = child_named(run, request->json, &why);
    if (!child) {
        refuse(request, why.code, "%s", why.text);
        return;
    }
    if (child->pid > 0 || child->awaits || !child->known) {
        child = living(request);
        if (!child || is_last(request, child))
            return;
        kill(child->pid, SIGKILL);
    }
    touched(child);
    child->awaits = true;
    snprintf(text, sizeof text, "%s was restarted", child_name(child, name));
    children_start_awaited(run);
    later_change(request, LATER_BACK, child, text);
}

/* The next unused number, or one that is free again; NULL: none. */
static struct child *next_child(struct run *run, struct child *children,
                                unsigned count)
{
    unsigned next = count;
    while (next > 0 && !children[next - 1].known)
        next--;
    if (next < count)
        return &children[next];
    for (unsigned n = 0; n < count; n++) {
        struct child *child = &children[n];
        if (child->pid <= 0 && !child->awaits && !child_is_member(run, child))
            return child;
    }
    return NULL;
}

static void answer_add(const struct request *request, const char *what,
                       json_t *nodes, const struct gw_error *why)
{
    char text[SENTENCE_MAX] = "", ring[SENTENCE_MAX], warning[SENTENCE_MAX];
    size_t used = 0, count = json_array_size(nodes);
    for (size_t i = 0; i < count && used < sizeof text; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%lld", i ? " " : "",
            (long long)json_integer_value(json_array_get(nodes, i)));
    if (why->code)
        serve_answer(request->run, &request->requester, why->code,
                     json_pack("{s:o}", "nodes", nodes), "%s%s%s", why->text,
                     count ? "; added: " : "", count ? text : "");
    else
        serve_answer(request->run, &request->requester, GW_OK,
                     json_pack("{s:o}", "nodes", nodes),
                     "%s%s %s %s added: %s%s", what, count == 1 ? "" : "s",
                     text, count == 1 ? "was" : "were",
                     ring_text(request->run, ring),
                     servers_warn_idle(request->run, warning));
}

/* False: the run can have no more of that role, and the request was refused. */
static bool may_add(const struct request *request, const char *role)
{
    bool server = role && strcmp(role, "server") == 0;
    bool controller = role && strcmp(role, "controller") == 0;
    if (server && has_servers(request->run))
        return true;
    if (!role || strcmp(role, "worker") == 0)
        return true;
    if (controller)
        refuse(
            request, GW_ENOTSUP,
            "the number of controllers cannot change while a run is running");
    else if (server)
        refuse(request, GW_ENOTSUP,
               "a ring has only workers and controllers; start servers with: "
               "up --servers");
    else
        refuse(request, GW_EINVAL,
               "unknown role %.20s; use worker, server or controller", role);
    return false;
}

/* Of several new nodes, the i-th gets the i-th rank from there on. */
static enum gw_err start_at(struct run *run, struct child *child,
                            const json_t *rank, json_int_t i,
                            struct gw_error *why)
{
    if (rank)
        ring_insert(run, (unsigned)(json_integer_value(rank) + i),
                    child->number);
    enum gw_err err = child_start(run, child, why);
    if (rank)
        children_send_desired(run);
    return err;
}

void verb_add(const struct request *request)
{
    struct run *run = request->run;
    const json_t *wanted = json_object_get(request->json, "count");
    const char *role =
        json_string_value(json_object_get(request->json, "role"));
    json_int_t count = wanted ? json_integer_value(wanted) : 1;
    struct gw_error why = {.code = GW_OK};
    if (!may_add(request, role))
        return;
    if (count < 1 || count > ADD_MAX) {
        refuse(request, GW_EINVAL,
               "add: the number of nodes must be from 1 to %d", ADD_MAX);
        return;
    }
    bool server = role && strcmp(role, "server") == 0;
    const json_t *rank = json_object_get(request->json, "rank");
    if (rank && has_servers(run)) {
        refuse(request, GW_ENOTSUP,
               "add: --rank is only for members of a ring");
        return;
    }
    struct child *children = server ? run->servers : run->workers;
    const char *what = server ? "server" : has_servers(run) ? "worker" : "node";
    unsigned most = server             ? RUN_SERVERS_MAX
                    : has_servers(run) ? RUN_WORKERS_MAX
                                       : run_ring_most(run->options.ranks);
    json_t *nodes = json_array();
    for (json_int_t i = 0; i < count && !why.code; i++) {
        struct child *child = next_child(run, children, most);
        if (!child)
            gw_fail(&why, GW_EINVAL, "the run has room for only %u more %ss",
                    most, what);
        else if (!start_at(run, child, rank, i, &why))
            json_array_append_new(nodes, json_integer(child->number));
    }
    answer_add(request, what, nodes, &why);
}

/* ---- slow ---- */

void verb_slow(const struct request *request)
{
    struct child *child = living(request);
    char what[64];
    if (!child)
        return;
    if (child->role == GW__CONTROLLER) {
        refuse(request, GW_ENOTSUP,
               "a controller does not compute; name a worker or server");
        return;
    }
    if (!request_ns(request, &child->slow_ns))
        return;
    child_send_desired(request->run, child);
    if (child->slow_ns)
        snprintf(what, sizeof what, "slowed by %g ms per %s",
                 (double)child->slow_ns / 1e6,
                 child->role == GW__SERVER ? "message"
                 : child->ps_members       ? "work item"
                                           : "step");
    else
        snprintf(what, sizeof what, "set to full speed");
    done(request, child, what);
}

/* ---- a full disk, a wrong clock ---- */

/* Sets the file size limit of the process to 0: every write to its log fails,
 * as on a full disk, and it ends. A restarted one has room again. */
void verb_disk(const struct request *request)
{
    struct child *child = living(request);
    struct rlimit limit;
    if (!child)
        return;
    if (child->role != GW__CONTROLLER) {
        refuse(request, GW_ENOTSUP, "disk: only controllers write to a disk");
        return;
    }
    bool full = json_is_true(json_object_get(request->json, "full"));
    if (prlimit(child->pid, RLIMIT_FSIZE, NULL, &limit)) {
        refuse(request, GW_ESYS, "the limits of process %d: %s",
               (int)child->pid, strerror(errno));
        return;
    }
    limit.rlim_cur = full ? 0 : limit.rlim_max;
    touched(child);
    if (prlimit(child->pid, RLIMIT_FSIZE, &limit, NULL))
        refuse(request, GW_ESYS, "the limits of process %d: %s",
               (int)child->pid, strerror(errno));
    else
        done(request, child,
             full ? "given a full disk" : "given a disk with space");
}

void verb_drift(const struct request *request)
{
    struct child *child = living(request);
    double rate = json_number_value(json_object_get(request->json, "rate"));
    char what[64];
    if (!child)
        return;
    if (!(rate >= GW__CLOCK_RATE_MIN && rate <= GW__CLOCK_RATE_MAX)) {
        refuse(request, GW_EINVAL,
               "the rate of a clock must be from %g to %g seconds per second",
               GW__CLOCK_RATE_MIN, GW__CLOCK_RATE_MAX);
        return;
    }
    child->clock_rate = rate;
    touched(child);
    child_send_desired(request->run, child);
    snprintf(what, sizeof what, "given a clock of %g seconds per second", rate);
    done(request, child, what);
}
