/* SPDX-License-Identifier: MIT
 *
 * Answers each request once: keeps the last answer of each client, and forgets
 * old clients. A request reaches the log again if its answer was lost, or if
 * the leader died before it was sent; only the first entry may have an effect.
 * The rules are in registry.h (after Ongaro, "Consensus: Bridging Theory and
 * Practice", 2014, §6.3).
 */
#include "registry_parts.h"

#include <string.h>

struct gw__client *gw__client_find(struct gw__registry *r, struct gw__id id)
{
    for (unsigned i = 0; i < r->client_count; i++)
        if (gw__id_equal(r->clients[i].id, id))
            return &r->clients[i];
    return NULL;
}

/* A free entry, or that of the client that was idle longest, if that was long
 * enough. */
static struct gw__client *place_for_new(struct gw__registry *r)
{
    struct gw__client *oldest = &r->clients[0];
    if (r->client_count < GW__CLIENTS_MAX)
        return &r->clients[r->client_count++];
    for (unsigned i = 0; i < GW__CLIENTS_MAX; i++)
        if (r->clients[i].time_ms < oldest->time_ms)
            oldest = &r->clients[i];
    bool forgotten = r->time_ms - oldest->time_ms >= GW__CLIENT_IDLE_MS;
    return forgotten ? oldest : NULL;
}

static bool begin_new(struct gw__registry *r, const struct gw__command *command,
                      struct gw__client **client, struct gw__answer *refusal)
{
    if (command->sequence != 1) {
        gw__refuse(refusal, GW_ECLOSED,
                   "this client is unknown or was removed; it must connect "
                   "again with a new id");
        return false;
    }
    *client = place_for_new(r);
    if (!*client)
        gw__refuse(refusal, GW_PENDING, "%d clients are busy; try again later",
                   GW__CLIENTS_MAX);
    return *client;
}

bool gw__client_begin(struct gw__registry *r, const struct gw__command *command,
                      struct gw__client **client,
                      uint8_t out[GW__ANSWER_BYTES_MAX], size_t *bytes)
{
    struct gw__answer refusal = {.epoch = r->view.epoch};
    *client = NULL;
    if (gw__id_is_none(command->client))
        return true;
    struct gw__client *known = gw__client_find(r, command->client);
    if (known && command->sequence == known->sequence) {
        known->time_ms = r->time_ms;
        *bytes = known->answer_bytes;
        memcpy(out, known->answer, *bytes);
        return false;
    }
    if (known && command->sequence < known->sequence)
        gw__refuse(
            &refusal, GW_EINVAL,
            "request %llu of this client is out of date; the last was %llu",
            (unsigned long long)command->sequence,
            (unsigned long long)known->sequence);
    else if (known)
        *client = known;
    else
        begin_new(r, command, client, &refusal);
    if (!*client)
        *bytes = gw__answer_encode(&refusal, out);
    return *client;
}

void gw__client_end(struct gw__client *client, const struct gw__registry *r,
                    const struct gw__command *command, const uint8_t *answer,
                    size_t bytes)
{
    *client = (struct gw__client){.id = command->client,
                                  .sequence = command->sequence,
                                  .time_ms = r->time_ms,
                                  .answer_bytes = (unsigned)bytes};
    memcpy(client->answer, answer, bytes);
}
