/* SPDX-License-Identifier: MIT
 *
 * Real controllers and a client that sends them requests; see council.h.
 */
#include "council.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct timespec moment = {.tv_nsec = 1000000};
static const uint64_t patience_ns = 20000000000U;

static void endpoint_of(unsigned node, char endpoint[64])
{
    snprintf(endpoint, 64, "ipc://@gw-council-%d-%u", (int)getpid(), node);
}

const char *council_endpoint(unsigned node)
{
    static char endpoint[64];
    endpoint_of(node, endpoint);
    return endpoint;
}

struct gw__process council_process(unsigned node)
{
    return (struct gw__process){node, {.high = 5, .low = node + 1}};
}

/* ---- the client machine ---- */

struct question {
    unsigned tag;
    struct gw__command command;
};

struct reply {
    unsigned tag;
    struct gw__answer answer;
};

struct asker {
    struct gw__client_state clients[COUNCIL_CLIENTS];
};

static void requester_step(void *state, const struct gw__input *input,
                           const struct gw__actions *act)
{
    struct asker *asker = state;
    struct question q;
    struct reply r;
    uint64_t due_ns = 0;
    if (input->kind == GW__REQUESTED) {
        memcpy(&q, input->data, sizeof q);
        ck_assert_int_eq(
            gw__client_submit(&asker->clients[q.tag % COUNCIL_CLIENTS],
                              &q.command, q.tag, input->now_ns, act),
            GW_OK);
    }
    for (unsigned i = 0; i < COUNCIL_CLIENTS; i++) {
        struct gw__client_state *client = &asker->clients[i];
        if (input->kind == GW__START)
            gw__client_init(client,
                            (const struct gw__client_config *)input->data + i);
        if (input->kind == GW__MESSAGE &&
            gw__client_message(client, input->from, input->data, input->bytes,
                               input->now_ns, act, &r.tag, &r.answer))
            act->notify(act->driver, &r, sizeof r);
        gw__client_tick(client, input->now_ns, act);
        uint64_t at_ns = gw__client_due(client);
        if (at_ns && (!due_ns || at_ns < due_ns))
            due_ns = at_ns;
    }
    act->set_timer(act->driver, 0, due_ns);
}

static const struct gw__machine_kind requester_machine = {
    .name = "asker",
    .state_bytes = sizeof(struct asker),
    .step = requester_step};

static void on_answer(void *context, const void *data, size_t bytes)
{
    struct council *council = context;
    struct reply r;
    ck_assert_uint_eq(bytes, sizeof r);
    memcpy(&r, data, sizeof r);
    pthread_mutex_lock(&council->lock);
    council->answer_count++;
    council->answered[r.tag]++;
    council->answers[r.tag] = r.answer;
    pthread_mutex_unlock(&council->lock);
}

static void start_asker(struct council *council)
{
    static struct gw__client_config clients[COUNCIL_CLIENTS];
    char endpoint[64];
    struct gw_error why = {0};
    for (unsigned i = 0; i < COUNCIL_CLIENTS; i++) {
        clients[i] = (struct gw__client_config){
            .id = {gw_now_ns(), i + 1}, .controller_count = council->count};
        for (unsigned j = 0; j < council->count; j++)
            clients[i].controllers[j] = (uint16_t)(COUNCIL_NODE + j);
    }
    endpoint_of(COUNCIL_ASKER, endpoint);
    const struct gw__driver_config config = {
        .kind = &requester_machine,
        .channel = {.node = COUNCIL_ASKER,
                    .incarnation_high = 5,
                    .incarnation_low = COUNCIL_ASKER + 1,
                    .endpoint = endpoint,
                    .security.token = 1},
        .start = clients,
        .start_bytes = sizeof clients,
        .context = council,
        .on_notify = on_answer};
    enum gw_err err = gw__driver_start(&config, &council->asker, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    for (unsigned i = 0; i < council->count; i++) {
        endpoint_of(COUNCIL_NODE + i, endpoint);
        ck_assert_int_eq(
            gw__driver_know(council->asker, COUNCIL_NODE + i, endpoint), GW_OK);
    }
}

/* ---- controllers ---- */

static void on_applied(void *context, const struct gw__registry *registry)
{
    struct chair *chair = context;
    struct sight *sight = &chair->sight;
    uint64_t digest = gw__registry_digest(registry);
    pthread_mutex_lock(&chair->lock);
    sight->lowered += registry->index <= sight->index;
    sight->index = registry->index;
    sight->digest = digest;
    sight->view = registry->view;
    sight->slots = registry->routes.slot_count;
    sight->entries++;
    sight->observers = 0;
    sight->requests = 0;
    for (unsigned i = 0; i < registry->client_count; i++)
        sight->requests += registry->clients[i].sequence;
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        sight->observers += registry->members[i].state == GW__ACTIVE &&
                            registry->members[i].role == GW__OBSERVER;
    pthread_mutex_unlock(&chair->lock);
}

struct sight council_sight(struct council *council, unsigned i)
{
    struct chair *chair = &council->chairs[i];
    pthread_mutex_lock(&chair->lock);
    struct sight sight = chair->sight;
    pthread_mutex_unlock(&chair->lock);
    return sight;
}

static void on_leader(void *context, unsigned node)
{
    struct chair *chair = context;
    pthread_mutex_lock(&chair->lock);
    chair->leader = node;
    pthread_mutex_unlock(&chair->lock);
}

void council_open(struct council *council, unsigned i)
{
    struct chair *chair = &council->chairs[i];
    const char *addresses[LOGS];
    unsigned nodes[LOGS];
    char path[128], endpoint[64];
    struct gw_error why = {0};
    for (unsigned j = 0; j < council->count; j++) {
        addresses[j] = council->ground.addresses[j];
        nodes[j] = COUNCIL_NODE + j;
    }
    logs_path(&council->ground, i, path);
    endpoint_of(COUNCIL_NODE + i, endpoint);
    chair->leader = GW__NODES_MAX;
    chair->sight = (struct sight){0};
    const struct gw__controller_config config = {
        .index = i,
        .count = council->count,
        .nodes = nodes,
        .raft_addresses = addresses,
        .directory = path,
        .channel = {.node = COUNCIL_NODE + i,
                    .incarnation_high = ++chair->life,
                    .incarnation_low = i + 1 + 100 * chair->life,
                    .endpoint = endpoint,
                    .security.token = 1},
        .context = chair,
        .on_applied = on_applied,
        .on_leader = on_leader,
        .events = i == 0 ? council->events : NULL};
    enum gw_err err = gw__controller_start(&config, &chair->controller, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
}

void council_close(struct council *council, unsigned i)
{
    gw__controller_stop(&council->chairs[i].controller);
}

/* The leader's node if all open controllers agree on it and it is open; else
 * GW__NODES_MAX. */
static unsigned common_leader(struct council *council)
{
    unsigned leader = 0;
    for (unsigned i = 0; i < council->count; i++) {
        struct chair *chair = &council->chairs[i];
        if (!chair->controller)
            continue;
        pthread_mutex_lock(&chair->lock);
        if (leader && chair->leader != leader)
            leader = GW__NODES_MAX;
        else
            leader = chair->leader;
        pthread_mutex_unlock(&chair->lock);
        if (leader == GW__NODES_MAX ||
            !council->chairs[leader - COUNCIL_NODE].controller)
            return GW__NODES_MAX;
    }
    return leader;
}

unsigned council_leader(struct council *council)
{
    uint64_t until_ns = gw_now_ns() + patience_ns;
    unsigned leader;
    while ((leader = common_leader(council)) == GW__NODES_MAX) {
        ck_assert_msg(gw_now_ns() < until_ns, "there is no leader");
        nanosleep(&moment, NULL);
    }
    return leader - COUNCIL_NODE;
}

void council_begin(struct council *council, unsigned count)
{
    struct gw_sink *events = council->events;
    memset(council, 0, sizeof *council);
    council->events = events;
    logs_begin(&council->ground, count);
    council->count = count;
    pthread_mutex_init(&council->lock, NULL);
    for (unsigned i = 0; i < count; i++) {
        pthread_mutex_init(&council->chairs[i].lock, NULL);
        council_open(council, i);
    }
    start_asker(council);
    council_leader(council);
}

void council_end(struct council *council)
{
    struct gw_error why = {0};
    if (council->asker)
        ck_assert_msg(gw__driver_error(council->asker, &why) == GW_OK, "%s",
                      why.text);
    gw__driver_stop(&council->asker);
    for (unsigned i = 0; i < council->count; i++) {
        if (!council->chairs[i].controller)
            continue;
        ck_assert_msg(
            gw__controller_error(council->chairs[i].controller, &why) == GW_OK,
            "%s", why.text);
        ck_assert_uint_eq(council_sight(council, i).lowered, 0);
        council_close(council, i);
    }
    logs_end(&council->ground);
}

/* ---- requests ---- */

void council_request(struct council *council, const struct gw__command *command,
                     unsigned tag)
{
    static struct question q;
    q = (struct question){.tag = tag, .command = *command};
    ck_assert_uint_lt(tag, COUNCIL_ANSWERS);
    ck_assert_int_eq(gw__driver_request(council->asker, &q, sizeof q), GW_OK);
}

struct gw__answer council_answer(struct council *council, unsigned tag)
{
    uint64_t until_ns = gw_now_ns() + patience_ns;
    for (;;) {
        pthread_mutex_lock(&council->lock);
        unsigned times = council->answered[tag];
        struct gw__answer answer = council->answers[tag];
        pthread_mutex_unlock(&council->lock);
        ck_assert_uint_le(times, 1);
        if (times == 1)
            return answer;
        ck_assert_msg(gw_now_ns() < until_ns, "no answer to request %u", tag);
        nanosleep(&moment, NULL);
    }
}

struct gw__answer council_do(struct council *council,
                             const struct gw__command *command,
                             enum gw_err code)
{
    static unsigned tag = COUNCIL_ANSWERS;
    council_request(council, command, --tag);
    struct gw__answer answer = council_answer(council, tag);
    ck_assert_msg(answer.code == code, "%s: %s",
                  gw__command_name(command->kind), answer.text);
    return answer;
}

uint64_t council_agree(struct council *council)
{
    uint64_t until_ns = gw_now_ns() + patience_ns;
    for (;;) {
        uint64_t index = 0, digest = 0;
        bool same = true;
        pthread_mutex_lock(&council->lock);
        uint64_t answers = council->answer_count;
        pthread_mutex_unlock(&council->lock);
        for (unsigned i = 0; i < council->count; i++) {
            struct sight sight = council_sight(council, i);
            if (!council->chairs[i].controller)
                continue;
            same = same && (!index || index == sight.index) &&
                   sight.requests >= answers;
            if (same && index)
                ck_assert_uint_eq(digest, sight.digest);
            index = sight.index;
            digest = sight.digest;
        }
        if (same && index)
            return digest;
        ck_assert_msg(gw_now_ns() < until_ns, "they do not agree");
        nanosleep(&moment, NULL);
    }
}

void council_workers(struct council *council, unsigned count)
{
    struct gw__command all = {.kind = GW__CMD_ADMIT};
    struct gw__command join = {.kind = GW__CMD_REGISTER,
                               .who = council_process(COUNCIL_ASKER),
                               .join = {.role = GW__OBSERVER}};
    endpoint_of(COUNCIL_ASKER, join.join.endpoint);
    council_do(council, &join, GW_OK);
    join.join.role = GW__WORKER;
    join.join.ring = true;
    for (unsigned i = 0; i < count; i++) {
        all.admit.joiners[all.admit.count++] = join.who = council_process(i);
        endpoint_of(i, join.join.endpoint);
        council_do(council, &join, GW_OK);
    }
    council_do(council, &all, GW_OK);
}
