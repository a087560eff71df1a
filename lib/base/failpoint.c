/* SPDX-License-Identifier: MIT
 *
 * The table of failpoints, and the actions of armed ones: see failpoint.h. Only
 * one thread may arm at a time. Failpoints are reached in any thread, at any
 * time, so their state is atomic.
 */
#include "failpoint.h"

#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct gw__failpoint_info infos[GW__FAILPOINTS] = {
    [GW__AT_RING_BEGUN] =
        {"ring.begun",
         "an op is in the op table, but none of its data has moved"},
    [GW__AT_RING_MOVE] = {"ring.move", "the data of an op is about to move"},
    [GW__AT_RING_CHUNK] = {"ring.chunk",
                           "one chunk of an op is complete, others are not"},
    [GW__AT_RING_MOVED] = {"ring.moved", "all data of an op has arrived, but "
                                         "the op table does not know it yet"},
    [GW__AT_RING_COMPLETE] =
        {"ring.complete", "an op is complete in the op table, but not applied"},
    [GW__AT_RING_APPLIED] =
        {"ring.applied",
         "a result is applied to the state, but not returned to the caller"},
    [GW__AT_RING_FREEZE] =
        {"ring.freeze",
         "a member has learnt of a death, but has not stopped yet"},
    [GW__AT_RING_REPORT] = {"ring.report", "a report is ready, but not sent"},
    [GW__AT_RING_REPORTED] =
        {"ring.reported", "a report is sent, but not known to be in the log"},
    [GW__AT_RING_RECORDED] =
        {"ring.recorded", "a report is in the log, and its sender knows it"},
    [GW__AT_RING_DECISION] =
        {"ring.decision", "the decision is received, but not in the op table"},
    [GW__AT_RING_DECIDED] =
        {"ring.decided",
         "the decision is in the op table, but not carried out"},
    [GW__AT_RING_CONNECT] =
        {"ring.connect",
         "a member is about to connect to the other members of a new view"},
    [GW__AT_RING_ADDRESS] = {"ring.address",
                             "a member has sent its address, but not received "
                             "the others' addresses"},
    [GW__AT_RING_ADDRESSES] =
        {"ring.addresses",
         "all addresses are known, but no connection is open"},
    [GW__AT_RING_CONNECTED] =
        {"ring.connected", "a member is connected to all others of its view"},
    [GW__AT_RECOVER_PLAN] = {"recover.plan",
                             "a recovery is planned, but no data has moved"},
    [GW__AT_RECOVER_CHUNK] = {"recover.chunk",
                              "one chunk is recovered, others are not"},
    [GW__AT_RECOVER_MOVED] = {"recover.moved",
                              "all data of a recovery has arrived, but the op "
                              "table does not know it yet"},
    [GW__AT_RECOVER_DONE] = {"recover.done",
                             "a recovery is complete in the op table"},
    [GW__AT_ADMIT_DUE] =
        {"admit.due",
         "the first member is about to request the admission of joiners"},
    [GW__AT_ADMIT_PROPOSED] =
        {"admit.proposed",
         "the admission is sent, but not known to be in the log"},
    [GW__AT_RING_ADOPT] = {"ring.adopt", "a member is about to adopt a view "
                                         "with joiners"},
    [GW__AT_COPY_SEND] =
        {"copy.send",
         "a member is about to send a part of the state to a joiner"},
    [GW__AT_COPY_BLOCK] = {"copy.block",
                           "a joiner has received a part of the state"},
    [GW__AT_COPY_READY] =
        {"copy.ready", "a joiner has the state, and is about to confirm it"},
    [GW__AT_COPY_ADMITTED] = {"copy.admitted",
                              "a joiner has learnt that it is a member"},
    [GW__AT_COPY_DONE] =
        {"copy.done",
         "a joiner has caught up with the others, before its first op"},
    [GW__AT_RING_LEAVE] = {"ring.leave",
                           "a member is about to request to leave"},
    [GW__AT_RAFT_APPEND] =
        {"raft.append", "a controller is about to write entries to its log"},
    [GW__AT_RAFT_APPENDED] =
        {"raft.appended",
         "a controller has written entries, but not announced them"},
    [GW__AT_PS_PUSH] = {"ps.push", "a push has arrived, but is not processed"},
    [GW__AT_PS_LOG] = {"ps.log", "a push is about to go into the log of a "
                                 "slot; the error is \"out of memory\""},
    [GW__AT_PS_LOGGED] =
        {"ps.logged",
         "a push is in the log of a slot, but not sent to any replica"},
    [GW__AT_PS_ENTRY] =
        {"ps.entry",
         "an entry has arrived at a replica, but is not in its log"},
    [GW__AT_PS_FOLLOWED] =
        {"ps.followed",
         "a replica has entries in its log, but has not acknowledged them"},
    [GW__AT_PS_COMMITTED] =
        {"ps.committed",
         "all replicas have an entry, but the primary has not applied it"},
    [GW__AT_PS_APPLIED] = {"ps.applied",
                           "an entry is applied, but not announced"},
    [GW__AT_PS_REPLY] = {"ps.reply", "a push is about to be acknowledged"},
    [GW__AT_PS_SENT] = {"ps.sent", "a server has sent the messages of one "
                                   "turn: entries, acknowledgements, replies"},
    [GW__AT_PS_LEASE] = {"ps.lease", "a server has learnt that its lease is "
                                     "renewed, but does not use it yet"},
    [GW__AT_PS_LEAD] = {"ps.lead", "a server has become the primary of another "
                                   "server's slot, but does not serve it yet"},
    [GW__AT_PS_FREEZE] =
        {"ps.freeze", "a primary has stopped serving a slot that will move"},
    [GW__AT_PS_HANDOVER] =
        {"ps.handover",
         "a primary is about to request that its successor take over a slot"},
    [GW__AT_PS_PROMOTE] =
        {"ps.promote",
         "a primary is about to request that a learner count as in sync"},
    [GW__AT_PS_YIELD] =
        {"ps.yield", "a primary has learnt that it is no longer the primary"},
    [GW__AT_PS_COPY] =
        {"ps.copy", "a primary is about to send a part of a slot to a learner"},
    [GW__AT_PS_LEARN] = {"ps.learn", "a learner has received a part of a slot"},
    [GW__AT_PS_LOADED] =
        {"ps.loaded", "a learner has loaded a slot, but has not reported it"},
    [GW__AT_PS_ROUND_COMMIT] =
        {"ps.commit",
         "the clock has closed work items, but the slots do not know it"},
    [GW__AT_PS_CLOSED] =
        {"ps.closed",
         "a slot is about to apply the work items of a closed round"},
    [GW__AT_SHM_FENCE] =
        {"shm.fence", "a process is about to register for heavy fences, which "
                      "takes long on a busy machine"},
    [GW__AT_SHM_PROBE] =
        {"shm.probe",
         "a rank is about to test whether it may copy from the private memory "
         "of a peer; the error is \"permission denied\""},
    [GW__AT_SHM_LOAD] = {"shm.load", "a rank is about to copy from the private "
                                     "memory of a peer"},
    [GW__AT_SHM_STORE] = {"shm.store", "a rank is about to copy to the private "
                                       "memory of a peer"},
};

/* The failpoints that accept `error`. */
static const bool fails[GW__FAILPOINTS] = {[GW__AT_RING_CONNECT] = true,
                                           [GW__AT_PS_LOG] = true,
                                           [GW__AT_SHM_PROBE] = true};

bool gw__failpoint_fails(enum gw__failpoint point)
{
    return fails[point];
}

const struct gw__failpoint_info *gw__failpoint_info(enum gw__failpoint point)
{
    return &infos[point];
}

static bool equals(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* The names of before they became standard: gradwire(7), HISTORY. */
static const struct {
    const char *name;
    enum gw__failpoint point;
} old_names[] = {
    {"ring.meet", GW__AT_RING_CONNECT},     {"ring.met", GW__AT_RING_CONNECTED},
    {"copy.give", GW__AT_COPY_SEND},        {"copy.piece", GW__AT_COPY_BLOCK},
    {"ps.closing", GW__AT_PS_ROUND_COMMIT},
};

static enum gw__failpoint find_point(const char *name, size_t length)
{
    unsigned point = 0;
    for (size_t i = 0; i < sizeof old_names / sizeof *old_names; i++)
        if (equals(old_names[i].name, name, length))
            return old_names[i].point;
    while (point < GW__FAILPOINTS && !equals(infos[point].name, name, length))
        point++;
    return (enum gw__failpoint)point;
}

enum gw__failpoint gw__failpoint_find(const char *name)
{
    return find_point(name, strlen(name));
}

/* ---- armed failpoints ---- */

enum action { NOTHING, KILL, PAUSE, FAIL };

struct armed {
    _Atomic enum action action;
    _Atomic uint32_t at, pause_ms, reached;
    _Atomic bool on_and_on;
};
static struct armed armed[GW__FAILPOINTS];
static _Atomic(_Atomic uint32_t *) shared_counts;
_Atomic bool gw__failpoints_on;

static void update_on(void)
{
    bool on = atomic_load(&shared_counts) != NULL || gw__log_has(GW__LOG_DEBUG);
    for (unsigned p = 0; p < GW__FAILPOINTS; p++)
        on |= atomic_load(&armed[p].action) != NOTHING;
    atomic_store(&gw__failpoints_on, on);
}

void gw__failpoints_count(_Atomic uint32_t counts[GW__FAILPOINTS])
{
    atomic_store(&shared_counts, counts);
    update_on();
}

/* ---- reaching one ---- */

static void stand_still(uint32_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

enum gw_err gw__failpoint_reached(enum gw__failpoint point)
{
    struct armed *a = &armed[point];
    _Atomic uint32_t *counts = atomic_load(&shared_counts);
    enum action action = atomic_load(&a->action);
    if (gw__log_has(GW__LOG_DEBUG))
        gw__log_write("step", "%s: %s", infos[point].name, infos[point].text);
    if (counts)
        atomic_fetch_add(&counts[point], 1);
    if (action == NOTHING)
        return GW_OK;
    uint32_t now = 1 + atomic_fetch_add(&a->reached, 1);
    uint32_t at = atomic_load(&a->at);
    if (now < at || (now > at && !atomic_load(&a->on_and_on)))
        return GW_OK;
    if (action == KILL)
        kill(getpid(), SIGKILL);
    if (action == PAUSE)
        stand_still(atomic_load(&a->pause_ms));
    return action == FAIL ? GW_ENOMEM : GW_OK;
}

/* ---- reading ---- */

struct fail_spec {
    enum gw__failpoint point;
    enum action action;
    uint32_t at, pause_ms;
    bool on_and_on;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\n';
}

static bool begins(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

static bool read_number(const char **text, uint32_t *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    unsigned long value = strtoul(*text, &end, 10);
    *text = end;
    *number = (uint32_t)value;
    return value > 0 && value <= 1000000000;
}

/* "kill@2", up to the next blank or comma. */
static bool read_action(const char *text, const char *end,
                        struct fail_spec *spec)
{
    spec->at = 1;
    if (begins(&text, "kill"))
        spec->action = KILL;
    else if (begins(&text, "error"))
        spec->action = FAIL;
    else if (begins(&text, "pause:") && read_number(&text, &spec->pause_ms))
        spec->action = PAUSE;
    else
        return false;
    if (begins(&text, "@")) {
        if (!read_number(&text, &spec->at))
            return false;
        spec->on_and_on = begins(&text, "+");
    }
    return text == end;
}

static enum gw_err read_spec(const char *text, size_t length,
                             struct fail_spec *spec, struct gw_error *why)
{
    const char *is = memchr(text, '=', length);
    *spec = (struct fail_spec){.point = GW__FAILPOINTS};
    if (is)
        spec->point = find_point(text, (size_t)(is - text));
    if (spec->point == GW__FAILPOINTS)
        return gw_fail(why, GW_EINVAL,
                       "GW_FAIL: \"%.*s\": expected FAILPOINT=ACTION, such as "
                       "ring.report=kill",
                       (int)length, text);
    if (!read_action(is + 1, text + length, spec))
        return gw_fail(why, GW_EINVAL,
                       "GW_FAIL: \"%.*s\": the action must be kill, pause:MS "
                       "or error, and may end with @N or @N+",
                       (int)length, text);
    if (spec->action == FAIL && !fails[spec->point])
        return gw_fail(
            why, GW_EINVAL,
            "GW_FAIL: %s: it cannot return an error; use kill or pause:MS",
            infos[spec->point].name);
    return GW_OK;
}

/* Reads all orders of a text; of several for one failpoint the last one counts.
 */
static enum gw_err read_specs(const char *text,
                              struct fail_spec specs[GW__FAILPOINTS],
                              struct gw_error *why)
{
    while (text && *text) {
        size_t length = 0;
        struct fail_spec spec;
        if (is_blank(*text)) {
            text++;
            continue;
        }
        while (text[length] && !is_blank(text[length]))
            length++;
        enum gw_err err = read_spec(text, length, &spec, why);
        if (err)
            return err;
        specs[spec.point] = spec;
        text += length;
    }
    return GW_OK;
}

enum gw_err gw__failpoints_arm(const char *text, struct gw_error *why)
{
    struct fail_spec specs[GW__FAILPOINTS] = {{.action = NOTHING}};
    enum gw_err err = read_specs(text, specs, why);
    if (err)
        return err;
    for (unsigned p = 0; p < GW__FAILPOINTS; p++) {
        struct armed *a = &armed[p];
        atomic_store(&a->action, NOTHING);
        atomic_store(&a->at, specs[p].at);
        atomic_store(&a->on_and_on, specs[p].on_and_on);
        atomic_store(&a->pause_ms, specs[p].pause_ms);
        atomic_store(&a->reached, 0);
        atomic_store(&a->action, specs[p].action);
    }
    update_on();
    return GW_OK;
}

enum gw_err gw__failpoints_begin(struct gw_error *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool begun;
    enum gw_err err = GW_OK;
    pthread_mutex_lock(&lock);
    const char *text = getenv("GW_FAIL");
    if (!begun && text)
        err = gw__failpoints_arm(text, why);
    else if (!begun)
        update_on(); /* the log may be on */
    begun |= !err;
    pthread_mutex_unlock(&lock);
    return err;
}
