/* SPDX-License-Identifier: MIT
 *
 * The client of the registry; see client.h. A redirect is followed at once, but
 * only once between two repeats. Otherwise two controllers that each believe
 * the other to lead would be asked in turn as fast as the network allows.
 */
#include "client.h"

#include <stddef.h>
#include <string.h>

void gw__client_init(struct gw__client_state *client,
                     const struct gw__client_config *config)
{
    memset(client, 0, offsetof(struct gw__client_state, queue));
    client->config = *config;
}

bool gw__client_has(const struct gw__client_state *client, unsigned tag)
{
    for (unsigned i = 0; i < client->count; i++)
        if (client->tags[i] == tag)
            return true;
    return false;
}

uint64_t gw__client_waiting(const struct gw__client_state *client,
                            uint64_t now_ns)
{
    if (client->count == 0 || now_ns <= client->requested_ns)
        return 0;
    return now_ns - client->requested_ns;
}

uint64_t gw__client_due(const struct gw__client_state *client)
{
    bool pending = client->count > 0 && client->config.controller_count > 0;
    return pending ? client->sent_ns + GW__CLIENT_REPEAT_NS : 0;
}

/* ---- requests ---- */

static void send_request(struct gw__client_state *client, uint64_t now_ns,
                         const struct gw__actions *act)
{
    uint8_t out[1 + GW__COMMAND_BYTES_MAX] = {GW__PROTOCOL_REQUEST};
    size_t bytes =
        gw__command_encode(&client->queue[0], out + 1, GW__COMMAND_BYTES_MAX);
    client->sent_ns = now_ns;
    if (client->config.controller_count > 0)
        act->send(act->driver, client->config.controllers[client->at], out,
                  1 + bytes);
}

/* Numbers the first request of the queue and sends it. */
static void begin_request(struct gw__client_state *client, uint64_t now_ns,
                          const struct gw__actions *act)
{
    if (client->count == 0)
        return;
    client->queue[0].client = client->config.id;
    client->queue[0].sequence = ++client->sequence;
    client->requested_ns = now_ns;
    client->redirected = false;
    send_request(client, now_ns, act);
}

enum gw_err gw__client_submit(struct gw__client_state *client,
                              const struct gw__command *command, unsigned tag,
                              uint64_t now_ns, const struct gw__actions *act)
{
    for (unsigned i = 1; i < client->count; i++)
        if (client->tags[i] == tag) {
            client->queue[i] = *command;
            return GW_OK;
        }
    if (client->count == GW__CLIENT_QUEUE)
        return GW_ENOMEM;
    client->tags[client->count] = tag;
    client->queue[client->count++] = *command;
    if (client->count == 1)
        begin_request(client, now_ns, act);
    return GW_OK;
}

/* Selects the next controller, but skips the one that was silent. */
static void next_turn(struct gw__client_state *client)
{
    unsigned count = client->config.controller_count;
    client->turn = (client->turn + 1) % count;
    if (client->turn == client->at)
        client->turn = (client->turn + 1) % count;
}

void gw__client_tick(struct gw__client_state *client, uint64_t now_ns,
                     const struct gw__actions *act)
{
    uint64_t due_ns = gw__client_due(client);
    if (due_ns == 0 || now_ns < due_ns)
        return;
    next_turn(client);
    client->at = client->turn;
    client->redirected = false;
    send_request(client, now_ns, act);
}

/* ---- answers ---- */

/* The index of a node among the controllers, or their count. */
static unsigned controller_index(const struct gw__client_state *client,
                                 unsigned node)
{
    unsigned i = 0;
    while (i < client->config.controller_count &&
           client->config.controllers[i] != node)
        i++;
    return i;
}

/* Follows a redirect; only the controller that was asked may redirect. */
static void redirect(struct gw__client_state *client, unsigned from,
                     unsigned leader, uint64_t now_ns,
                     const struct gw__actions *act)
{
    unsigned at = controller_index(client, leader);
    if (from != client->at || at == from || client->redirected ||
        at == client->config.controller_count)
        return;
    client->at = at;
    client->redirected = true;
    send_request(client, now_ns, act);
}

static void end_request(struct gw__client_state *client, unsigned from,
                        uint64_t now_ns, const struct gw__actions *act)
{
    client->at = from;
    client->count--;
    memmove(client->queue, client->queue + 1,
            client->count * sizeof *client->queue);
    memmove(client->tags, client->tags + 1,
            client->count * sizeof *client->tags);
    begin_request(client, now_ns, act);
}

bool gw__client_message(struct gw__client_state *client, unsigned from,
                        const void *data, size_t bytes, uint64_t now_ns,
                        const struct gw__actions *act, unsigned *tag,
                        struct gw__answer *answer)
{
    struct gw__reply reply;
    struct gw_error why;
    unsigned controller = controller_index(client, from);
    if (client->count == 0 || controller == client->config.controller_count ||
        gw__reply_decode(data, bytes, &reply, &why) ||
        !gw__id_equal(reply.client, client->config.id) ||
        reply.sequence != client->sequence)
        return false;
    if (reply.protocol == GW__PROTOCOL_REDIRECT) {
        redirect(client, controller, reply.leader, now_ns, act);
        return false;
    }
    if (gw__answer_decode(reply.answer, reply.answer_bytes, answer, &why))
        return false;
    *tag = client->tags[0];
    end_request(client, controller, now_ns, act);
    return true;
}
