/* SPDX-License-Identifier: MIT
 *
 * Reads the launch environment. The engines are read in order, and each adds
 * the fields that the earlier ones have not set. An engine that contradicts the
 * earlier ones in rank or size describes another job (for example the step that
 * started mpirun, not mpirun's own job) and is ignored as a whole.
 */
#include "launch_env.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *gw_launch_source_name(enum gw_launch_env_source source)
{
    static const char *const names[] = {
#define X(name, word) word,
        GW_LAUNCH_SOURCES(X)
#undef X
    };
    return (unsigned)source < GW_LAUNCH_SOURCE_COUNT ? names[source] : "?";
}

const char *gw_launch_field_name(enum gw_launch_env_field field)
{
    static const char *const names[] = {
#define X(name, word) word,
        GW_LAUNCH_FIELDS(X)
#undef X
    };
    return (unsigned)field < GW_LAUNCH_FIELD_COUNT ? names[field] : "?";
}

bool gw__launch_env_knows(const struct gw_launch_env *env,
                          enum gw_launch_env_field field)
{
    return env->from[field].source != GW_LAUNCH_NONE;
}

bool gw_launch_env_one_host(const struct gw_launch_env *env)
{
    return env->size == 1 ||
           (env->local_size > 0 && env->local_size == env->size);
}

/* ---- one variable ---- */

static const char *value_of(const char *const *environment, const char *name,
                            size_t length)
{
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 &&
            (*environment)[length] == '=')
            return (*environment)[length + 1] ? *environment + length + 1
                                              : NULL;
    return NULL;
}

const char *gw__launch_env_lookup(const char *const *environment,
                                  const char *names, char name[64])
{
    while (names && *names) {
        size_t length = strcspn(names, "|");
        const char *value = value_of(environment, names, length);
        if (value) {
            if (name)
                snprintf(name, 64, "%.*s", (int)length, names);
            return value;
        }
        names += length + (names[length] == '|');
    }
    return NULL;
}

static unsigned *number_field(struct gw_launch_env *env,
                              enum gw_launch_env_field field)
{
    switch (field) {
    case GW_LAUNCH_RANK:
        return &env->rank;
    case GW_LAUNCH_SIZE:
        return &env->size;
    case GW_LAUNCH_LOCAL_RANK:
        return &env->local_rank;
    case GW_LAUNCH_LOCAL_SIZE:
        return &env->local_size;
    case GW_LAUNCH_RESTARTS:
        return &env->restarts;
    case GW_LAUNCH_MIN_SIZE:
        return &env->min_size;
    case GW_LAUNCH_MAX_SIZE:
        return &env->max_size;
    default:
        return NULL;
    }
}

static enum gw_err set_number(unsigned *number, const char *how,
                              const char *text, struct gw_error *why)
{
    enum { MOST = 1 << 20 };
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || value > MOST)
        return gw_fail(why, GW_EINVAL, "%s: \"%.40s\" is not a number", how,
                       text);
    *number = (unsigned)value;
    return GW_OK;
}

static enum gw_err set_incarnation(struct gw_launch_env *env, const char *how,
                                   const char *text, struct gw_error *why)
{
    if (strspn(text, "0123456789abcdef") != 32 || text[32])
        return gw_fail(why, GW_EINVAL,
                       "%s: \"%.40s\" must have 32 hexadecimal digits", how,
                       text);
    char half[17];
    for (unsigned i = 0; i < 2; i++) {
        snprintf(half, sizeof half, "%.16s", text + (size_t)16 * i);
        env->incarnation[i] = strtoull(half, NULL, 16);
    }
    return GW_OK;
}

static enum gw_err set_text(char *target, size_t bytes, const char *how,
                            const char *text, struct gw_error *why)
{
    if (strlen(text) >= bytes)
        return gw_fail(why, GW_EINVAL, "%s must have at most %zu characters",
                       how, bytes - 1);
    memcpy(target, text, strlen(text) + 1);
    return GW_OK;
}

enum gw_err gw__launch_env_set(struct gw_launch_env *env,
                               enum gw_launch_env_field field,
                               enum gw_launch_env_source source,
                               const char *how, const char *text,
                               struct gw_error *why)
{
    enum gw_err err;
    if (number_field(env, field))
        err = set_number(number_field(env, field), how, text, why);
    else if (field == GW_LAUNCH_INCARNATION)
        err = set_incarnation(env, how, text, why);
    else if (field == GW_LAUNCH_RENDEZVOUS)
        err = set_text(env->rendezvous, sizeof env->rendezvous, how, text, why);
    else if (field == GW_LAUNCH_JOB)
        err = set_text(env->job, sizeof env->job, how, text, why);
    else
        err = set_text(env->wire, sizeof env->wire, how, text, why);
    if (err)
        return err;
    env->from[field].source = source;
    snprintf(env->from[field].how, sizeof env->from[field].how, "%s", how);
    return GW_OK;
}

void gw_launch_env_value(const struct gw_launch_env *env,
                         enum gw_launch_env_field field,
                         char text[GW_LAUNCH_TEXT_BYTES])
{
    struct gw_launch_env copy = *env;
    const unsigned *number = number_field(&copy, field);
    if (!gw__launch_env_knows(env, field))
        snprintf(text, GW_LAUNCH_TEXT_BYTES, "-");
    else if (number)
        snprintf(text, GW_LAUNCH_TEXT_BYTES, "%u", *number);
    else if (field == GW_LAUNCH_INCARNATION)
        snprintf(text, GW_LAUNCH_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64,
                 env->incarnation[0], env->incarnation[1]);
    else
        snprintf(text, GW_LAUNCH_TEXT_BYTES, "%s",
                 field == GW_LAUNCH_RENDEZVOUS ? env->rendezvous
                 : field == GW_LAUNCH_JOB      ? env->job
                                               : env->wire);
}

/* ---- one engine ---- */

/* Reads the fields of one engine; the result must be empty before. */
static enum gw_err read_engine(const struct gw__engine *engine,
                               const char *const *environment,
                               struct gw_launch_env *found,
                               struct gw_error *why)
{
    for (enum gw_launch_env_field f = 0; f < GW_LAUNCH_FIELD_COUNT; f++) {
        char name[64];
        const char *text =
            gw__launch_env_lookup(environment, engine->variables[f], name);
        if (text &&
            gw__launch_env_set(found, f, engine->source, name, text, why))
            return why->code;
    }
    return engine->more ? engine->more(environment, found, why) : GW_OK;
}

static bool contradicts(const struct gw_launch_env *found,
                        const struct gw_launch_env *env)
{
    bool rank = gw__launch_env_knows(found, GW_LAUNCH_RANK) &&
                gw__launch_env_knows(env, GW_LAUNCH_RANK);
    bool size = gw__launch_env_knows(found, GW_LAUNCH_SIZE) &&
                gw__launch_env_knows(env, GW_LAUNCH_SIZE);
    return (rank && found->rank != env->rank) ||
           (size && found->size != env->size);
}

static void lay_over(struct gw_launch_env *env,
                     const struct gw_launch_env *found)
{
    for (enum gw_launch_env_field f = 0; f < GW_LAUNCH_FIELD_COUNT; f++) {
        if (gw__launch_env_knows(env, f) || !gw__launch_env_knows(found, f))
            continue;
        struct gw_error never;
        char text[GW_LAUNCH_TEXT_BYTES];
        gw_launch_env_value(found, f, text);
        /* Cannot fail: the field was set from the same text before. */
        if (gw__launch_env_set(env, f, found->from[f].source,
                               found->from[f].how, text, &never))
            continue;
    }
}

/* Does the engine describe ranks at all? GW_* may add to another engine, so for
 * it a rendezvous or a wire alone is enough. */
static bool speaks(const struct gw__engine *engine,
                   const struct gw_launch_env *found)
{
    return engine->source == GW_LAUNCH_GW ||
           gw__launch_env_knows(found, GW_LAUNCH_RANK) ||
           gw__launch_env_knows(found, GW_LAUNCH_SIZE);
}

static enum gw_err apply_engine(const struct gw__engine *engine,
                                const char *const *environment,
                                struct gw_launch_env *env, struct gw_error *why)
{
    struct gw_launch_env found = {.rank = 0};
    if (engine->counts && !engine->counts(environment))
        return GW_OK;
    enum gw_err err = read_engine(engine, environment, &found, why);
    if (err)
        return gw_wrap(why, err, "%s", gw_launch_source_name(engine->source));
    if (!speaks(engine, &found))
        return GW_OK;
    if (gw__launch_env_knows(&found, GW_LAUNCH_RANK) ||
        gw__launch_env_knows(&found, GW_LAUNCH_SIZE))
        env->seen |= 1U << engine->source;
    if (!contradicts(&found, env))
        lay_over(env, &found);
    return GW_OK;
}

/* ---- all of them ---- */

static const char *variable(enum gw_launch_env_source source,
                            enum gw_launch_env_field field)
{
    for (const struct gw__engine *e = gw__engines; e->source; e++)
        if (e->source == source)
            return e->variables[field];
    return NULL;
}

static enum gw_err half_set(const struct gw_launch_env *env,
                            enum gw_launch_env_field known,
                            enum gw_launch_env_field missing,
                            struct gw_error *why)
{
    const struct gw_launch_env_origin *from = &env->from[known];
    const char *names = variable(from->source, missing);
    char value[GW_LAUNCH_TEXT_BYTES], own[64] = "GW_SIZE";
    gw_launch_env_value(env, known, value);
    if (names)
        snprintf(own, sizeof own, "%.*s", (int)strcspn(names, "|"), names);
    return gw_fail(why, GW_EINVAL, "%s is %.20s, but %s is not set%s",
                   from->how, value, own,
                   names ? "" : "; this launcher does not set the size");
}

static enum gw_err check_bounds(const struct gw_launch_env *env,
                                struct gw_error *why)
{
    if (gw__launch_env_knows(env, GW_LAUNCH_MIN_SIZE) !=
        gw__launch_env_knows(env, GW_LAUNCH_MAX_SIZE))
        return gw_fail(
            why, GW_EINVAL,
            "only one of GW_MIN_SIZE and GW_MAX_SIZE is set; set both");
    if (env->min_size > env->max_size)
        return gw_fail(
            why, GW_EINVAL,
            "GW_MIN_SIZE is %u; it must not exceed GW_MAX_SIZE, which is %u",
            env->min_size, env->max_size);
    return GW_OK;
}

static enum gw_err check_placement(const struct gw_launch_env *env,
                                   struct gw_error *why)
{
    bool rank = gw__launch_env_knows(env, GW_LAUNCH_RANK);
    bool size = gw__launch_env_knows(env, GW_LAUNCH_SIZE);
    if (rank && !size)
        return half_set(env, GW_LAUNCH_RANK, GW_LAUNCH_SIZE, why);
    if (size && !rank)
        return half_set(env, GW_LAUNCH_SIZE, GW_LAUNCH_RANK, why);
    if (env->rank >= env->size)
        return gw_fail(why, GW_EINVAL,
                       "%s is %u, but there are only %u ranks by %s",
                       env->from[GW_LAUNCH_RANK].how, env->rank, env->size,
                       env->from[GW_LAUNCH_SIZE].how);
    return check_bounds(env, why);
}

enum gw_err gw_launch_env_read(const char *const *environment,
                               struct gw_launch_env *env, struct gw_error *why)
{
    struct gw_error own;
    why = why ? why : &own;
    *env = (struct gw_launch_env){.rank = 0};
    for (const struct gw__engine *e = gw__engines; e->source; e++)
        if (apply_engine(e, environment, env, why))
            return why->code;
    if (!gw__launch_env_knows(env, GW_LAUNCH_RANK) &&
        !gw__launch_env_knows(env, GW_LAUNCH_SIZE)) {
        env->size = 1;
        return check_bounds(env, why);
    }
    env->source = env->from[GW_LAUNCH_RANK].source;
    if (check_placement(env, why))
        return why->code;
    gw__launch_env_rendezvous(environment, env);
    return GW_OK;
}
