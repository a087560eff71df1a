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
#include "launch_env.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PORT_FIRST = 20000, PORTS = 12000 };

void gw__launch_env_first_host(const char *list,
                               char host[GW_LAUNCH_TEXT_BYTES])
{
    size_t n = 0;
    while (*list && *list != ',' && n + 1 < GW_LAUNCH_TEXT_BYTES) {
        if (*list != '[') {
            host[n++] = *list++;
            continue;
        }
        for (list++; *list && !strchr("-,]", *list); list++)
            if (n + 1 < GW_LAUNCH_TEXT_BYTES)
                host[n++] = *list;
        list += strcspn(list, "]");
        list += *list == ']';
    }
    host[n] = 0;
}

static uint64_t hash_of(const struct gw_launch_env *env)
{
    const char *engine = gw_launch_source_name(env->from[GW_LAUNCH_JOB].source);
    uint64_t hash = gw_hash(engine, strlen(engine), 0);
    hash = gw_hash(env->job, strlen(env->job), hash);
    return gw_hash(&env->restarts, sizeof env->restarts, hash);
}

static void rendezvous_at(struct gw_launch_env *env,
                          enum gw_launch_env_source source, const char *how,
                          const char *endpoint)
{
    struct gw_error never;
    if (gw__launch_env_set(env, GW_LAUNCH_RENDEZVOUS, source, how, endpoint,
                           &never))
        env->rendezvous[0] = 0;
}

static void rendezvous_inside(struct gw_launch_env *env)
{
    char endpoint[GW_LAUNCH_TEXT_BYTES], how[96];
    const struct gw_launch_env_origin *job = &env->from[GW_LAUNCH_JOB];
    snprintf(endpoint, sizeof endpoint, "ipc://@gradwire-%016" PRIx64 "-%u",
             hash_of(env), env->restarts);
    snprintf(how, sizeof how, "one host, socket named after %.60s", job->how);
    rendezvous_at(env, job->source, how, endpoint);
}

void gw__launch_env_rendezvous_at(struct gw_launch_env *env,
                                  enum gw_launch_env_source source,
                                  const char *how, const char *host)
{
    char endpoint[GW_LAUNCH_TEXT_BYTES], text[96];
    bool six = strchr(host, ':') && host[0] != '[';
    snprintf(endpoint, sizeof endpoint,
             six ? "tcp://[%.200s]:%u" : "tcp://%.200s:%u", host,
             PORT_FIRST + (unsigned)(hash_of(env) % PORTS));
    snprintf(text, sizeof text, "%.50s, port from the job", how);
    rendezvous_at(env, source, text, endpoint);
}

static void rendezvous_between(const struct gw__engine *engine,
                               const char *const *environment,
                               struct gw_launch_env *env)
{
    char host[GW_LAUNCH_TEXT_BYTES];
    const char *known = engine->first_host(environment, env, host);
    if (known)
        gw__launch_env_rendezvous_at(env, engine->source, known, host);
}

void gw__launch_env_rendezvous(const char *const *environment,
                               struct gw_launch_env *env)
{
    if (env->rendezvous[0] || env->size == 1 || !env->job[0])
        return;
    if (gw_launch_env_one_host(env)) {
        rendezvous_inside(env);
        return;
    }
    for (const struct gw__engine *e = gw__engines; e->source; e++)
        if (e->first_host && !env->rendezvous[0] &&
            (env->seen & 1U << e->source))
            rendezvous_between(e, environment, env);
}
