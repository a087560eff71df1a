/* SPDX-License-Identifier: MIT
 *
 * Chooses a rendezvous if no variable names one. All ranks must choose the same
 * one, each from its own environment. So it is made of the job's name, which
 * the engine gives to all of them.
 *
 *   one host       ipc://@gradwire-<hash of engine and job>-<restarts>, an
 *                  abstract socket: no file, no port, gone with its owner
 *   several hosts  tcp://<host of rank 0>:<20000 + hash mod 12000>, below the
 *                  ports that Linux assigns by itself (32768 and above)
 *
 * The number of restarts is part of it, so that processes of an earlier start
 * of the same job never meet later ones.
 */
#include "place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PORT_FIRST = 20000, PORTS = 12000 };

void gw__place_first_host(const char *list, char host[GW_PLACE_TEXT_BYTES])
{
    size_t n = 0;
    while (*list && *list != ',' && n + 1 < GW_PLACE_TEXT_BYTES) {
        if (*list != '[') {
            host[n++] = *list++;
            continue;
        }
        for (list++; *list && !strchr("-,]", *list); list++)
            if (n + 1 < GW_PLACE_TEXT_BYTES)
                host[n++] = *list;
        list += strcspn(list, "]");
        list += *list == ']';
    }
    host[n] = 0;
}

static uint64_t hash_of(const struct gw_place *place)
{
    const char *engine = gw_place_source_name(place->from[GW_PLACE_JOB].source);
    uint64_t hash = gw_hash(engine, strlen(engine), 0);
    hash = gw_hash(place->job, strlen(place->job), hash);
    return gw_hash(&place->restarts, sizeof place->restarts, hash);
}

static void meet_at(struct gw_place *place, enum gw_place_source source,
                    const char *how, const char *endpoint)
{
    struct gw_error never;
    if (gw__place_set(place, GW_PLACE_RENDEZVOUS, source, how, endpoint,
                      &never))
        place->rendezvous[0] = 0;
}

static void meet_inside(struct gw_place *place)
{
    char endpoint[GW_PLACE_TEXT_BYTES], how[96];
    const struct gw_place_origin *job = &place->from[GW_PLACE_JOB];
    snprintf(endpoint, sizeof endpoint, "ipc://@gradwire-%016" PRIx64 "-%u",
             hash_of(place), place->restarts);
    snprintf(how, sizeof how, "one host, socket named after %.60s", job->how);
    meet_at(place, job->source, how, endpoint);
}

void gw__place_meet_at(struct gw_place *place, enum gw_place_source source,
                       const char *how, const char *host)
{
    char endpoint[GW_PLACE_TEXT_BYTES], text[96];
    bool six = strchr(host, ':') && host[0] != '[';
    snprintf(endpoint, sizeof endpoint,
             six ? "tcp://[%.200s]:%u" : "tcp://%.200s:%u", host,
             PORT_FIRST + (unsigned)(hash_of(place) % PORTS));
    snprintf(text, sizeof text, "%.50s, port from the job", how);
    meet_at(place, source, text, endpoint);
}

static void meet_between(const struct gw__engine *engine,
                         const char *const *environment, struct gw_place *place)
{
    char host[GW_PLACE_TEXT_BYTES];
    const char *known = engine->first_host(environment, place, host);
    if (known)
        gw__place_meet_at(place, engine->source, known, host);
}

void gw__place_meet(const char *const *environment, struct gw_place *place)
{
    if (place->rendezvous[0] || place->size == 1 || !place->job[0])
        return;
    if (gw_place_one_host(place)) {
        meet_inside(place);
        return;
    }
    for (const struct gw__engine *e = gw__engines; e->source; e++)
        if (e->first_host && !place->rendezvous[0] &&
            (place->seen & 1U << e->source))
            meet_between(e, environment, place);
}
