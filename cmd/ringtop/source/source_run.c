/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The events of a run, as its supervisor publishes them. An observer that
 * attaches late has missed the first views, so the members in the status are
 * turned into events and known beforehand; likewise the stages of a pipeline.
 * The state of parameter servers is too large for events: such a run's status
 * is requested repeatedly.
 */
#include "source.h"

#include "common/rpc_client.h"
#include "ringtop/state/pipe_state.h"
#include "status_poller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN_MAX = 2 * GW_RING_NODES + 2 + PIPE_STAGES };

struct run_source {
    struct source source;
    struct rpc_client *client;
    struct status_poller *poller;     /* NULL: the run has no servers */
    struct gw_event known[KNOWN_MAX]; /* from the status */
    unsigned counted;
    uint64_t youngest_ns; /* the newest of the counted events */
};

static void know(struct run_source *r, const struct gw_event *event)
{
    if (r->source.known_count < KNOWN_MAX)
        r->known[r->source.known_count++] = *event;
}

static enum gw_membership membership(const char *state)
{
    static const struct {
        const char *state;
        enum gw_membership is;
    } words[] = {{"joining", GW_MEMBER_JOINING},
                 {"parked", GW_MEMBER_PARKED},
                 {"left", GW_MEMBER_LEFT},
                 {"dead", GW_MEMBER_DEAD}};
    for (size_t i = 0; state && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].state, state) == 0)
            return words[i].is;
    return GW_MEMBER_ALIVE;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* A node without a rank is in no view, whatever its state. */
static void know_node(struct run_source *r, struct gw_event *event,
                      const json_t *node)
{
    enum gw_membership is = membership(text_of(node, "state"));
    bool out = json_integer_value(json_object_get(node, "rank")) < 0;
    event->value = GW_MEMBER_DEAD;
    if (out)
        know(r, event);
    event->value = is;
    if (!out || is != GW_MEMBER_ALIVE)
        know(r, event);
}

/* Workers and servers of parameter servers are in no ring. */
static void know_ps(struct run_source *r, struct gw_event *event,
                    const json_t *nodes)
{
    size_t i;
    json_t *node;
    event->kind = GW_EV_MEMBER;
    json_array_foreach(nodes, i, node)
    {
        if (strcmp(text_of(node, "role"), "controller") == 0)
            continue;
        event->rank =
            (uint32_t)json_integer_value(json_object_get(node, "number"));
        event->value = membership(text_of(node, "state"));
        know(r, event);
    }
}

/* Members with this rank; -1: those that are not in the ring. */
static void know_rank(struct run_source *r, struct gw_event *event,
                      const json_t *nodes, int64_t rank)
{
    size_t i;
    json_t *node;
    event->step = rank < 0 ? GW_NONE : (uint32_t)rank;
    json_array_foreach(nodes, i, node)
    {
        if (strcmp(text_of(node, "role"), "worker") != 0 ||
            json_integer_value(json_object_get(node, "rank")) != rank)
            continue;
        event->rank =
            (uint32_t)json_integer_value(json_object_get(node, "node"));
        know_node(r, event, node);
    }
}

/* In the order of the ring. */
static void know_ring(struct run_source *r, struct gw_event *event,
                      const json_t *nodes)
{
    int64_t members = event->value;
    event->kind = GW_EV_MEMBER;
    for (int64_t rank = 0; rank < members; rank++)
        know_rank(r, event, nodes, rank);
    know_rank(r, event, nodes, -1);
}

static uint32_t json_number(const json_t *object, const char *name)
{
    return (uint32_t)json_integer_value(json_object_get(object, name));
}

/* Stages introduce themselves once, before their first step. */
static void know_stages(struct run_source *r, const json_t *pipeline)
{
    size_t stage;
    json_t *rank;
    json_array_foreach(json_object_get(pipeline, "ranks"), stage, rank)
    {
        const struct gw_event event = {
            .time_ns = gw_now_ns(),
            .kind = GW_EV_STAGE,
            .rank = (uint32_t)json_integer_value(rank),
            .peer = (uint32_t)stage,
            .step = json_number(pipeline, "stages"),
            .op = json_number(pipeline, "micros"),
            .chunk = json_number(pipeline, "chunks"),
            .value =
                json_integer_value(json_object_get(pipeline, "predicted_ns")),
        };
        if (json_is_integer(rank))
            know(r, &event);
    }
}

/* Is the run read-only? Its tool lists the verbs, and orders are not among
 * them. */
static bool is_read_only(const json_t *status)
{
    const json_t *verbs = json_object_get(status, "verbs"), *verb;
    size_t i;
    json_array_foreach(verbs, i, verb)
    {
        const char *name = json_string_value(verb);
        if (name && strcmp(name, "kill") == 0)
            return false;
    }
    return json_is_array(verbs);
}

static bool has_servers(const json_t *status)
{
    return json_is_array(json_object_get(status, "slots"));
}

static void know_status(struct run_source *r, const json_t *status)
{
    struct gw_event event = {.time_ns = gw_now_ns(),
                             .peer = GW_NONE,
                             .op = GW_NONE,
                             .step = GW_NONE,
                             .chunk = GW_NONE};
    event.epoch =
        (uint32_t)json_integer_value(json_object_get(status, "epoch"));
    const json_t *nodes = json_object_get(status, "nodes");
    r->source.is_read_only = is_read_only(status);
    know_stages(r, json_object_get(status, "pipeline"));
    event.value = (int64_t)json_array_size(json_object_get(status, "ring"));
    if (has_servers(status))
        event.value = json_integer_value(json_object_get(status, "alive"));
    const struct gw_event epoch = {.time_ns = event.time_ns,
                                   .kind = GW_EV_EPOCH,
                                   .value = event.value,
                                   .epoch = event.epoch,
                                   .rank = GW_NONE,
                                   .peer = GW_NONE,
                                   .op = GW_NONE,
                                   .step = GW_NONE,
                                   .chunk = GW_NONE};
    if (has_servers(status))
        know_ps(r, &event, nodes);
    else
        know_ring(r, &event, nodes);
    know(r, &epoch);
}

static enum gw_err learn_members(struct run_source *r, struct gw_error *why)
{
    static const uint64_t PATIENCE_NS = 2000000000;
    json_t *status;
    enum gw_err err = rpc_client_status(r->client, PATIENCE_NS, &status, why);
    if (err)
        return err;
    know_status(r, status);
    bool more = json_is_array(json_object_get(status, "controller_list"));
    if (more && !r->poller)
        err = status_poller_new(rpc_client_run(r->client), &r->poller, why);
    if (more && !err)
        status_poller_set(r->poller, status);
    json_decref(status);
    return err;
}

static enum gw_err join_stream(struct run_source *r, const char *name,
                               struct gw_error *why)
{
    enum gw_err err = rpc_client_open(name, &r->client, why);
    if (!err)
        err = rpc_client_listen(r->client, true, why);
    if (!err)
        err = learn_members(r, why);
    if (err)
        return err;
    r->source.fd = rpc_client_fd(r->client);
    r->source.run = rpc_client_run(r->client);
    return GW_OK;
}

/* Drops the queue and its contents, and subscribes again. */
static enum gw_err skip(struct run_source *r, uint64_t lag_ns,
                        struct gw_error *why)
{
    char name[256];
    snprintf(name, sizeof name, "%s", r->source.run);
    rpc_client_close(&r->client);
    r->source.fd = -1;
    r->source.run = NULL;
    r->source.known_count = 0;
    r->source.skips++;
    r->source.skipped_ns += lag_ns;
    enum gw_err err = join_stream(r, name, why);
    return err ? err : GW_PENDING;
}

/* The age of the newest of many events: large only if all are late, not just
 * those of one stopped process. 0 while they are being counted. */
static uint64_t lag(struct run_source *r, const struct gw_event *event)
{
    enum { MANY = 4096 };
    if (event->time_ns > r->youngest_ns)
        r->youngest_ns = event->time_ns;
    if (++r->counted < MANY)
        return 0;
    uint64_t now_ns = gw_now_ns(), youngest_ns = r->youngest_ns;
    r->counted = 0;
    r->youngest_ns = 0;
    return now_ns > youngest_ns ? now_ns - youngest_ns : 0;
}

static enum gw_err run_next(struct source *source, uint64_t deadline_ns,
                            struct gw_event *event, struct gw_error *why)
{
    static const uint64_t TOO_LATE_NS = 500000000;
    struct run_source *r = (struct run_source *)source;
    enum gw_err err = rpc_client_event(r->client, deadline_ns, event, why);
    uint64_t behind_ns = err ? 0 : lag(r, event);
    return behind_ns > TOO_LATE_NS ? skip(r, behind_ns, why) : err;
}

static json_t *run_status(struct source *source)
{
    struct run_source *r = (struct run_source *)source;
    return r->poller ? status_poller_pop(r->poller) : NULL;
}

static void run_close(struct source *source)
{
    struct run_source *r = (struct run_source *)source;
    status_poller_destroy(&r->poller);
    rpc_client_close(&r->client);
    free(r);
}

enum gw_err source_run(const char *name, struct source **source,
                       struct gw_error *why)
{
    *source = NULL;
    struct run_source *r = calloc(1, sizeof *r);
    if (!r)
        return gw_fail(why, GW_ENOMEM, "attaching to a run");
    r->source = (struct source){.next = run_next,
                                .status = run_status,
                                .close = run_close,
                                .fd = -1,
                                .live = true};
    r->source.known = r->known;
    enum gw_err err = join_stream(r, name, why);
    if (err) {
        run_close(&r->source);
        return err;
    }
    *source = &r->source;
    return GW_OK;
}
