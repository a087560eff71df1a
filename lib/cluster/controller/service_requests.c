/* SPDX-License-Identifier: MIT
 *
 * Handles requests and answers. A pending request that is repeated is proposed
 * again only after a while, or by a new leader. An applied request is answered
 * from the registry's memory, by any replica.
 */
#include "cluster/registry/registry_parts.h"
#include "service_parts.h"

#include <string.h>

/* ---- answers ---- */

static void reply(struct gw__service *s, unsigned node,
                  const struct gw__reply *reply)
{
    uint8_t out[GW__REPLY_BYTES_MAX];
    size_t bytes = gw__reply_encode(reply, out, sizeof out);
    s->act->send(s->act->driver, node, out, bytes);
}

static struct gw__requester *find_requester(struct gw__service *s,
                                            struct gw__id client)
{
    for (unsigned i = 0; i < s->requester_count; i++)
        if (gw__id_equal(s->requesters[i].client, client))
            return &s->requesters[i];
    return NULL;
}

void gw__service_apply(struct gw__service *s, uint64_t index, const void *data,
                       size_t bytes)
{
    uint8_t answer[GW__ANSWER_BYTES_MAX];
    struct gw__command command;
    struct gw_error why;
    size_t used = gw__registry_apply(&s->registry, data, bytes, index, answer);
    if (gw__command_decode(data, bytes, &command, &why))
        return;
    gw__lease_applied(s, &command);
    if (gw__id_is_none(command.client))
        return;
    struct gw__requester *requester = find_requester(s, command.client);
    if (!requester || requester->sequence != command.sequence)
        return;
    reply(s, requester->node,
          &(struct gw__reply){.protocol = GW__PROTOCOL_ANSWER,
                              .client = command.client,
                              .sequence = command.sequence,
                              .answer = answer,
                              .answer_bytes = used});
    *requester = (struct gw__requester){0};
}

/* ---- proposals ---- */

/* The registry's time continues with the local clock from the newest time in
 * the log. */
static uint64_t time_ms(struct gw__service *s)
{
    uint64_t ms = s->clock_ms + (s->now_ns - s->clock_ns) / 1000000;
    if (s->registry.time_ms <= ms)
        return ms;
    s->clock_ms = s->registry.time_ms;
    s->clock_ns = s->now_ns;
    return s->clock_ms;
}

void gw__service_enter(struct gw__service *s)
{
    s->leading_since_ns = s->now_ns;
    s->leaderships++;
    s->has_applied_first = false;
    s->clock_ns = s->now_ns;
    s->clock_ms = s->registry.time_ms;
    s->entered_ns = s->deadline_ns = 0;
    for (unsigned i = 0; i < s->requester_count; i++)
        s->requesters[i].proposed_ns = 0;
}

void gw__service_propose(struct gw__service *s, struct gw__command *command)
{
    uint8_t out[GW__COMMAND_BYTES_MAX];
    command->time_ms = time_ms(s);
    size_t bytes = gw__command_encode(command, out, sizeof out);
    if (bytes == 0)
        return;
    gw__lease_proposed(s, command);
    s->act->notify(s->act->driver, out, bytes);
}

/* ---- requests ---- */

/* The client's own entry, a free one, or the one that was unused for
 * longest. */
static struct gw__requester *requester_for(struct gw__service *s,
                                           struct gw__id client)
{
    struct gw__requester *requester = find_requester(s, client);
    if (requester)
        return requester;
    requester = &s->requesters[0];
    for (unsigned i = 1; i < s->requester_count; i++)
        if (s->requesters[i].requested_ns < requester->requested_ns)
            requester = &s->requesters[i];
    bool is_free = s->requester_count > 0 && requester->requested_ns == 0;
    return is_free || s->requester_count == GW__REQUESTERS_MAX
               ? requester
               : &s->requesters[s->requester_count++];
}

static void accept_command(struct gw__service *s, unsigned from,
                           struct gw__command *command)
{
    struct gw__requester *requester = requester_for(s, command->client);
    if (!gw__id_equal(requester->client, command->client) ||
        requester->sequence != command->sequence)
        *requester = (struct gw__requester){.client = command->client,
                                            .sequence = command->sequence};
    requester->node = from;
    requester->requested_ns = s->now_ns;
    if (requester->proposed_ns &&
        s->now_ns - requester->proposed_ns < GW__SERVICE_RETRY_NS)
        return;
    requester->proposed_ns = s->now_ns;
    gw__service_propose(s, command);
}

/* Answers without the log, because an observer has only one pending request
 * and may need it for other commands. It reports the suspicion again later. */
static void hold_back(struct gw__service *s, unsigned from,
                      const struct gw__command *command)
{
    uint8_t out[GW__ANSWER_BYTES_MAX];
    struct gw__answer answer = {.epoch = s->registry.view.epoch};
    gw__refuse(&answer, GW_PENDING,
               "node %u may still have a lease; try again later",
               command->suspect.suspected.node);
    reply(s, from,
          &(struct gw__reply){.protocol = GW__PROTOCOL_ANSWER,
                              .client = command->client,
                              .sequence = command->sequence,
                              .answer = out,
                              .answer_bytes = gw__answer_encode(&answer, out)});
}

/* Does the sender's number belong to another process? A process that asks for
 * any number uses a random one. */
static bool is_number_in_use(const struct gw__member *m,
                             const struct gw__command *command)
{
    bool drawn = command->who.node == GW__NODE_ANY;
    return m->state == GW__ACTIVE ||
           (m->state == GW__JOINING && drawn &&
            !gw__id_equal(m->incarnation, command->who.incarnation));
}

/* Publishes the endpoint of a process that wants to register, so that it gets
 * an answer even if it is refused. A process that uses the number of another
 * one gets no answer: the other's endpoint is kept, or that process would never
 * hear that it was admitted. */
static void send_endpoint(struct gw__service *s, unsigned from,
                          const struct gw__command *command)
{
    uint8_t out[GW__ENDPOINT_MAX + 8];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    const struct gw__member *m = &s->registry.members[from];
    bool own = command->who.node == from || command->who.node == GW__NODE_ANY;
    if (command->kind != GW__CMD_REGISTER || !own ||
        is_number_in_use(m, command))
        return;
    gw__put_u8(&w, 0); /* commands never begin with 0 */
    gw__put_node(&w, from);
    gw__put_text(&w, command->join.endpoint);
    s->act->notify(s->act->driver, out, w.used);
}

bool gw__service_sends_endpoint(const void *data, size_t bytes, unsigned *node,
                                char endpoint[GW__ENDPOINT_MAX])
{
    struct gw__reader r = gw__reader_on(data, bytes);
    gw__reader_demand(&r, gw__get_u8(&r) == 0);
    *node = gw__get_node(&r);
    gw__get_text(&r, endpoint, GW__ENDPOINT_MAX);
    return gw__reader_done(&r);
}

void gw__service_request(struct gw__service *s, const struct gw__input *input)
{
    const uint8_t *data = input->data;
    struct gw__command command;
    struct gw_error why;
    if (gw__command_decode(data + 1, input->bytes - 1, &command, &why) ||
        gw__id_is_none(command.client))
        return;
    struct gw__reply back = {.client = command.client,
                             .sequence = command.sequence};
    struct gw__client *known = gw__client_find(&s->registry, command.client);
    send_endpoint(s, input->from, &command);
    if (known && known->sequence == command.sequence) {
        back.protocol = GW__PROTOCOL_ANSWER;
        back.answer = known->answer;
        back.answer_bytes = known->answer_bytes;
        reply(s, input->from, &back);
    } else if (gw__service_leads(s) && gw__lease_protects(s, &command)) {
        hold_back(s, input->from, &command);
    } else if (gw__service_leads(s)) {
        accept_command(s, input->from, &command);
    } else {
        back.protocol = GW__PROTOCOL_REDIRECT;
        back.leader = s->leader;
        reply(s, input->from, &back);
    }
}
