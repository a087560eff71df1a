/* SPDX-License-Identifier: MIT
 *
 * The reader of jsonl.c's output: one line, one event. Unknown members are
 * skipped, so that an old tool reads a newer recording. Known ones must have
 * the right type and range.
 */
#include <gradwire/event.h>

#include <jansson.h>
#include <string.h>

static enum gw_err parse_kind(const json_t *line, struct gw_event *event,
                              struct gw_error *why)
{
    const char *name = json_string_value(json_object_get(line, "kind"));
    if (!name)
        return gw_fail(why, GW_EDATA, "\"kind\" is missing or not a string");
    for (unsigned kind = 0; kind < GW_EVENT_KINDS; kind++)
        if (strcmp(name, gw_event_name(kind)) == 0) {
            event->kind = kind;
            return GW_OK;
        }
    return gw_fail(why, GW_EDATA, "\"%.40s\" is not a kind of event", name);
}

/* An integer in [least, most]; an absent one is `absent`. */
static enum gw_err parse_integer(const json_t *line, const char *name,
                                 int64_t least, int64_t most, int64_t absent,
                                 int64_t *value, struct gw_error *why)
{
    const json_t *member = json_object_get(line, name);
    *value = member ? json_integer_value(member) : absent;
    if (!member)
        return GW_OK;
    if (json_is_integer(member) && *value >= least && *value <= most)
        return GW_OK;
    return gw_fail(why, GW_EDATA, "\"%s\" must be an integer from %lld to %lld",
                   name, (long long)least, (long long)most);
}

static enum gw_err parse_places(const json_t *line, struct gw_event *event,
                                struct gw_error *why)
{
    struct {
        const char *name;
        uint32_t *place;
    } fields[] = {
        {"rank", &event->rank}, {"peer", &event->peer},
        {"op", &event->op},     {"epoch", &event->epoch},
        {"step", &event->step}, {"chunk", &event->chunk},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        int64_t value;
        enum gw_err code = parse_integer(line, fields[i].name, 0, GW_NONE - 1,
                                         GW_NONE, &value, why);
        if (code)
            return code;
        *fields[i].place = (uint32_t)value;
    }
    return GW_OK;
}

static enum gw_err parse_values(const json_t *line, struct gw_event *event,
                                struct gw_error *why)
{
    int64_t time_ns, bytes;
    enum gw_err code =
        parse_integer(line, "time_ns", 0, INT64_MAX, 0, &time_ns, why);
    if (!code)
        code = parse_integer(line, "bytes", 0, INT64_MAX, 0, &bytes, why);
    if (!code)
        code = parse_integer(line, "value", INT64_MIN, INT64_MAX, 0,
                             &event->value, why);
    if (code)
        return code;
    event->time_ns = (uint64_t)time_ns;
    event->bytes = (uint64_t)bytes;
    return GW_OK;
}

enum gw_err gw_event_parse(const char *line, struct gw_event *event,
                           struct gw_error *why)
{
    json_error_t error;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    if (!object)
        return gw_fail(why, GW_EDATA, "column %d: %s", error.column,
                       error.text);
    struct gw_event read = {0};
    enum gw_err code = GW_OK;
    if (!json_is_object(object))
        code = gw_fail(why, GW_EDATA, "an event must be a JSON object");
    if (!code)
        code = parse_kind(object, &read, why);
    if (!code)
        code = parse_places(object, &read, why);
    if (!code)
        code = parse_values(object, &read, why);
    json_decref(object);
    if (!code)
        *event = read;
    return code;
}
