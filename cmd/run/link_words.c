/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See link_words.h.
 */
#include "link_words.h"

#include "common/text/json_get.h"
#include "common/text/suggest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Microseconds, the item of the request. */
static enum gw_err parse_time(const char *text, json_int_t *value,
                              struct gw_error *why)
{
    uint64_t ns;
    if (gw_parse_duration(text, &ns, why))
        return why ? why->code : GW_EINVAL;
    uint64_t us = (ns + 500) / 1000;
    if (us > UINT32_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%s is more than one hour; use at most 1h", text);
    *value = (json_int_t)us;
    return GW_OK;
}

static enum gw_err parse_rate(const char *text, json_int_t *value,
                              struct gw_error *why)
{
    char number[48];
    uint64_t bytes;
    size_t length = strlen(text);
    bool a_second = length > 2 && strcmp(text + length - 2, "/s") == 0;
    snprintf(number, sizeof number, "%.*s", (int)(length - (a_second ? 2 : 0)),
             text);
    if (gw_parse_bytes(number, &bytes, why))
        return gw_fail(why, GW_EINVAL,
                       "\"%.40s\" is not a rate; use bytes per second, such "
                       "as 100M, or 0 for no limit",
                       text);
    *value = (json_int_t)bytes;
    return GW_OK;
}

/* Millionths. */
static enum gw_err parse_share(const char *text, json_int_t *value,
                               struct gw_error *why)
{
    char *end;
    double share = strtod(text, &end);
    double percent = strcmp(end, "%") == 0 ? share : 100 * share;
    if (end == text || (*end && strcmp(end, "%") != 0) || !(percent >= 0) ||
        percent > 100)
        return gw_fail(why, GW_EINVAL,
                       "\"%.40s\" is not a share; use for example 1%% or 0.01",
                       text);
    *value = (json_int_t)llround(percent * 1e4);
    return GW_OK;
}

static const struct word {
    const char *name, *field;
    /* NULL: has no value, and means `alone` */
    enum gw_err (*parse)(const char *, json_int_t *, struct gw_error *);
    int alone;
} known[] = {
    {"delay", "delay_us", parse_time, 0},
    {"jitter", "jitter_us", parse_time, 0},
    {"rate", "rate", parse_rate, 0},
    {"loss", "loss_ppm", parse_share, 0},
    {"down", "down", NULL, true},
    {"up", "down", NULL, false},
    {"clear", NULL, NULL, 0},
};

static const struct word *find_word(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    return NULL;
}

static enum gw_err unknown(const char *name, struct gw_error *why)
{
    struct suggestion suggestion;
    char hint[96];
    suggestion_begin(&suggestion, name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        suggestion_offer(&suggestion, known[i].name);
    return gw_fail(why, GW_EINVAL,
                   "unknown property \"%.40s\" of a link%s (delay TIME, "
                   "jitter TIME, rate SIZE, loss PERCENT, down, up, clear)",
                   name, suggestion_text(&suggestion, hint));
}

static void clear(json_t *fields)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].parse)
            json_object_set_new(fields, known[i].field, json_integer(0));
    json_object_set_new(fields, "down", json_false());
}

/* Takes one word and its value, if any; *used: how many words. */
static enum gw_err parse_word(int count, char *const *words, json_t *fields,
                              int *used, struct gw_error *why)
{
    const struct word *word = find_word(words[0]);
    json_int_t value = 0;
    *used = word && word->parse ? 2 : 1;
    if (!word)
        return unknown(words[0], why);
    if (*used > count)
        return gw_fail(why, GW_EINVAL, "%s needs a value", words[0]);
    if (word->parse && word->parse(words[1], &value, why))
        return gw_wrap(why, GW_EINVAL, "%s", words[0]);
    if (!word->field)
        clear(fields);
    else
        json_object_set_new(fields, word->field,
                            word->parse ? json_integer(value)
                                        : json_boolean(word->alone));
    return GW_OK;
}

enum gw_err link_words_parse(int count, char *const *words, json_t **fields,
                             struct gw_error *why)
{
    *fields = json_object();
    enum gw_err code = GW_OK;
    for (int used = 0, at = 0; !code && at < count; at += used)
        code = parse_word(count - at, words + at, *fields, &used, why);
    if (!code)
        return GW_OK;
    json_decref(*fields);
    *fields = NULL;
    return code;
}

static void print_time(const char *name, int64_t us, char *out, size_t room)
{
    size_t used = strlen(out);
    if (us >= 1000)
        snprintf(out + used, room - used, "%s %.6gms, ", name,
                 (double)us / 1000);
    else if (us > 0)
        snprintf(out + used, room - used, "%s %" PRId64 "us, ", name, us);
}

void link_words_print(const json_t *link, char *out, size_t room)
{
    int64_t rate = integer_of(link, "rate", 0);
    int64_t loss = integer_of(link, "loss_ppm", 0);
    char size[16];
    *out = 0;
    print_time("delay", integer_of(link, "delay_us", 0), out, room);
    print_time("jitter", integer_of(link, "jitter_us", 0), out, room);
    size_t used = strlen(out);
    gw_format_bytes((uint64_t)rate, size);
    if (rate > 0)
        snprintf(out + used, room - used, "rate %s/s, ", size);
    used = strlen(out);
    if (loss > 0)
        snprintf(out + used, room - used, "loss %.4g%%, ", (double)loss / 1e4);
    used = strlen(out);
    bool down = integer_of(link, "down", 0) != 0;
    const char *end = down ? "down" : used ? "up" : "no emulation";
    snprintf(out + used, room - used, "%s", end);
}
