/* SPDX-License-Identifier: MIT
 *
 * Reads the launch environment. The engines are read in order, and each adds
 * the fields that the earlier ones have not set. An engine that contradicts the
 * earlier ones in rank or size describes another job (for example the step that
 * started mpirun, not mpirun's own job) and is ignored as a whole.
 */
#include "place.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *gw_place_source_name(enum gw_place_source source)
{
    static const char *const names[] = {
#define X(name, word) word,
        GW_PLACE_SOURCES(X)
#undef X
    };
    return (unsigned)source < GW_PLACE_SOURCE_COUNT ? names[source] : "?";
}

const char *gw_place_field_name(enum gw_place_field field)
{
    static const char *const names[] = {
#define X(name, word) word,
        GW_PLACE_FIELDS(X)
#undef X
    };
    return (unsigned)field < GW_PLACE_FIELD_COUNT ? names[field] : "?";
}

bool gw__place_knows(const struct gw_place *place, enum gw_place_field field)
{
    return place->from[field].source != GW_PLACE_NOBODY;
}

bool gw_place_one_host(const struct gw_place *place)
{
    return place->size == 1 ||
           (place->local_size > 0 && place->local_size == place->size);
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

const char *gw__place_look(const char *const *environment, const char *names,
                           char name[64])
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

static unsigned *number_field(struct gw_place *place, enum gw_place_field field)
{
    switch (field) {
    case GW_PLACE_RANK:
        return &place->rank;
    case GW_PLACE_SIZE:
        return &place->size;
    case GW_PLACE_LOCAL_RANK:
        return &place->local_rank;
    case GW_PLACE_LOCAL_SIZE:
        return &place->local_size;
    case GW_PLACE_RESTARTS:
        return &place->restarts;
    case GW_PLACE_MIN_SIZE:
        return &place->min_size;
    case GW_PLACE_MAX_SIZE:
        return &place->max_size;
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

static enum gw_err set_incarnation(struct gw_place *place, const char *how,
                                   const char *text, struct gw_error *why)
{
    if (strspn(text, "0123456789abcdef") != 32 || text[32])
        return gw_fail(why, GW_EINVAL,
                       "%s: \"%.40s\" must have 32 hexadecimal digits", how,
                       text);
    char half[17];
    for (unsigned i = 0; i < 2; i++) {
        snprintf(half, sizeof half, "%.16s", text + (size_t)16 * i);
        place->incarnation[i] = strtoull(half, NULL, 16);
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

enum gw_err gw__place_set(struct gw_place *place, enum gw_place_field field,
                          enum gw_place_source source, const char *how,
                          const char *text, struct gw_error *why)
{
    enum gw_err err;
    if (number_field(place, field))
        err = set_number(number_field(place, field), how, text, why);
    else if (field == GW_PLACE_INCARNATION)
        err = set_incarnation(place, how, text, why);
    else if (field == GW_PLACE_RENDEZVOUS)
        err = set_text(place->rendezvous, sizeof place->rendezvous, how, text,
                       why);
    else if (field == GW_PLACE_JOB)
        err = set_text(place->job, sizeof place->job, how, text, why);
    else
        err = set_text(place->wire, sizeof place->wire, how, text, why);
    if (err)
        return err;
    place->from[field].source = source;
    snprintf(place->from[field].how, sizeof place->from[field].how, "%s", how);
    return GW_OK;
}

void gw_place_value(const struct gw_place *place, enum gw_place_field field,
                    char text[GW_PLACE_TEXT_BYTES])
{
    struct gw_place copy = *place;
    const unsigned *number = number_field(&copy, field);
    if (!gw__place_knows(place, field))
        snprintf(text, GW_PLACE_TEXT_BYTES, "-");
    else if (number)
        snprintf(text, GW_PLACE_TEXT_BYTES, "%u", *number);
    else if (field == GW_PLACE_INCARNATION)
        snprintf(text, GW_PLACE_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64,
                 place->incarnation[0], place->incarnation[1]);
    else
        snprintf(text, GW_PLACE_TEXT_BYTES, "%s",
                 field == GW_PLACE_RENDEZVOUS ? place->rendezvous
                 : field == GW_PLACE_JOB      ? place->job
                                              : place->wire);
}

/* ---- one engine ---- */

/* Reads the fields of one engine; the result must be empty before. */
static enum gw_err read_engine(const struct gw__engine *engine,
                               const char *const *environment,
                               struct gw_place *said, struct gw_error *why)
{
    for (enum gw_place_field f = 0; f < GW_PLACE_FIELD_COUNT; f++) {
        char name[64];
        const char *text =
            gw__place_look(environment, engine->variables[f], name);
        if (text && gw__place_set(said, f, engine->source, name, text, why))
            return why->code;
    }
    return engine->more ? engine->more(environment, said, why) : GW_OK;
}

static bool contradicts(const struct gw_place *said,
                        const struct gw_place *place)
{
    bool rank = gw__place_knows(said, GW_PLACE_RANK) &&
                gw__place_knows(place, GW_PLACE_RANK);
    bool size = gw__place_knows(said, GW_PLACE_SIZE) &&
                gw__place_knows(place, GW_PLACE_SIZE);
    return (rank && said->rank != place->rank) ||
           (size && said->size != place->size);
}

static void lay_over(struct gw_place *place, const struct gw_place *said)
{
    for (enum gw_place_field f = 0; f < GW_PLACE_FIELD_COUNT; f++) {
        if (gw__place_knows(place, f) || !gw__place_knows(said, f))
            continue;
        struct gw_error never;
        char text[GW_PLACE_TEXT_BYTES];
        gw_place_value(said, f, text);
        /* Cannot fail: the field was set from the same text before. */
        if (gw__place_set(place, f, said->from[f].source, said->from[f].how,
                          text, &never))
            continue;
    }
}

/* Does the engine describe ranks at all? GW_* may add to another engine, so for
 * it a rendezvous or a wire alone is enough. */
static bool speaks(const struct gw__engine *engine, const struct gw_place *said)
{
    return engine->source == GW_PLACE_GW ||
           gw__place_knows(said, GW_PLACE_RANK) ||
           gw__place_knows(said, GW_PLACE_SIZE);
}

static enum gw_err ask_engine(const struct gw__engine *engine,
                              const char *const *environment,
                              struct gw_place *place, struct gw_error *why)
{
    struct gw_place said = {.rank = 0};
    if (engine->counts && !engine->counts(environment))
        return GW_OK;
    enum gw_err err = read_engine(engine, environment, &said, why);
    if (err)
        return gw_wrap(why, err, "%s", gw_place_source_name(engine->source));
    if (!speaks(engine, &said))
        return GW_OK;
    if (gw__place_knows(&said, GW_PLACE_RANK) ||
        gw__place_knows(&said, GW_PLACE_SIZE))
        place->seen |= 1U << engine->source;
    if (!contradicts(&said, place))
        lay_over(place, &said);
    return GW_OK;
}

/* ---- all of them ---- */

static const char *variable(enum gw_place_source source,
                            enum gw_place_field field)
{
    for (const struct gw__engine *e = gw__engines; e->source; e++)
        if (e->source == source)
            return e->variables[field];
    return NULL;
}

static enum gw_err half_set(const struct gw_place *place,
                            enum gw_place_field known,
                            enum gw_place_field missing, struct gw_error *why)
{
    const struct gw_place_origin *from = &place->from[known];
    const char *names = variable(from->source, missing);
    char value[GW_PLACE_TEXT_BYTES], own[64] = "GW_SIZE";
    gw_place_value(place, known, value);
    if (names)
        snprintf(own, sizeof own, "%.*s", (int)strcspn(names, "|"), names);
    return gw_fail(why, GW_EINVAL, "%s is %.20s, but %s is not set%s",
                   from->how, value, own,
                   names ? "" : "; this launcher does not set the size");
}

static enum gw_err check_bounds(const struct gw_place *place,
                                struct gw_error *why)
{
    if (gw__place_knows(place, GW_PLACE_MIN_SIZE) !=
        gw__place_knows(place, GW_PLACE_MAX_SIZE))
        return gw_fail(
            why, GW_EINVAL,
            "only one of GW_MIN_SIZE and GW_MAX_SIZE is set; set both");
    if (place->min_size > place->max_size)
        return gw_fail(
            why, GW_EINVAL,
            "GW_MIN_SIZE is %u; it must not exceed GW_MAX_SIZE, which is %u",
            place->min_size, place->max_size);
    return GW_OK;
}

static enum gw_err check_placement(const struct gw_place *place,
                                   struct gw_error *why)
{
    bool rank = gw__place_knows(place, GW_PLACE_RANK);
    bool size = gw__place_knows(place, GW_PLACE_SIZE);
    if (rank && !size)
        return half_set(place, GW_PLACE_RANK, GW_PLACE_SIZE, why);
    if (size && !rank)
        return half_set(place, GW_PLACE_SIZE, GW_PLACE_RANK, why);
    if (place->rank >= place->size)
        return gw_fail(why, GW_EINVAL,
                       "%s is %u, but there are only %u ranks by %s",
                       place->from[GW_PLACE_RANK].how, place->rank, place->size,
                       place->from[GW_PLACE_SIZE].how);
    return check_bounds(place, why);
}

enum gw_err gw_place_read(const char *const *environment,
                          struct gw_place *place, struct gw_error *why)
{
    struct gw_error own;
    why = why ? why : &own;
    *place = (struct gw_place){.rank = 0};
    for (const struct gw__engine *e = gw__engines; e->source; e++)
        if (ask_engine(e, environment, place, why))
            return why->code;
    if (!gw__place_knows(place, GW_PLACE_RANK) &&
        !gw__place_knows(place, GW_PLACE_SIZE)) {
        place->size = 1;
        return check_bounds(place, why);
    }
    place->source = place->from[GW_PLACE_RANK].source;
    if (check_placement(place, why))
        return why->code;
    gw__place_meet(environment, place);
    return GW_OK;
}
