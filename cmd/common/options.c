/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options common to all commands, and the conversion of option values. The
 * error of each kind of value names the valid values.
 */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct common_options common = {
    .output = "table",
    .color = "auto",
    .seed = 1,
};
struct requested requested;

const struct option_spec common_specs[] = {
    {"output", 'o', OPTION_CHOICE, &common.output, "FORMAT",
     "Output format: table, json, jsonl or csv.", "table|json|jsonl|csv"},
    {"seed", 0, OPTION_SEED, &common.seed, "N",
     "Seed of all random numbers; \"random\" draws one.", "random"},
    {"timeout", 0, OPTION_DURATION, &common.timeout_ns, "TIME",
     "Give up after TIME without progress, such as 500ms or 5s.", NULL},
    {"color", 0, OPTION_CHOICE, &common.color, "WHEN",
     "Colour: auto, always or never.", "auto|always|never"},
    {"verbose", 'v', OPTION_FLAG, &common.verbose, NULL,
     "Show all columns and more messages.", NULL},
    {"help", 'h', OPTION_FLAG, &requested.help_long, NULL,
     "Show this help with examples and defaults; -h shows a short form.", NULL},
    {"version", 0, OPTION_FLAG, &requested.version, NULL,
     "Show the versions of the tool and of libzmq.", NULL},
    {0},
};

static enum gw_err not_a(const char *typed, const char *wanted,
                         const char *text, struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL, "%s must be %s, not \"%.60s\"", typed,
                   wanted, text);
}

static enum gw_err assign_unsigned(unsigned *target, const char *typed,
                                   const char *text, struct gw_error *why)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || number > UINT32_MAX)
        return not_a(typed, "a whole number", text, why);
    *target = (unsigned)number;
    return GW_OK;
}

static enum gw_err assign_count(unsigned *target, const char *typed,
                                const char *text, struct gw_error *why)
{
    unsigned number = 0;
    enum gw_err err = assign_unsigned(&number, typed, text, why);
    if (!err && number == 0)
        return gw_fail(why, GW_EINVAL, "%s must be at least 1", typed);
    if (!err)
        *target = number;
    return err;
}

static enum gw_err assign_seed(uint64_t *target, const char *typed,
                               const char *text, struct gw_error *why)
{
    if (strcmp(text, "random") == 0) {
        uint32_t drawn; /* short enough to be typed again */
        if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
            return gw_fail_errno(why, "%s random", typed);
        *target = drawn;
        return GW_OK;
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 0);
    bool whole = isdigit((unsigned char)*text) && !*end && !errno;
    if (!whole || number > INT64_MAX) /* as it is printed */
        return not_a(typed, "a whole number or \"random\"", text, why);
    *target = number;
    return GW_OK;
}

static enum gw_err assign_real(double *target, const char *typed,
                               const char *text, struct gw_error *why)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number))
        return not_a(typed, "a number", text, why);
    *target = number;
    return GW_OK;
}

static enum gw_err assign_bytes(uint64_t *target, const char *typed,
                                const char *text, struct gw_error *why)
{
    if (gw_parse_bytes(text, target, why))
        return not_a(typed, "a size such as 64, 1K, 4M", text, why);
    return GW_OK;
}

static enum gw_err assign_duration(uint64_t *target, const char *typed,
                                   const char *text, struct gw_error *why)
{
    if (gw_parse_duration(text, target, why))
        return not_a(typed, "a time such as 20us, 5ms, 1.5s", text, why);
    return GW_OK;
}

static enum gw_err assign_choice(const struct option_spec *spec,
                                 const char *typed, const char *text,
                                 struct gw_error *why)
{
    struct suggestion suggestion;
    char word[64], hint[96];
    suggestion_begin(&suggestion, text);
    for (const char *rest = spec->choices; choice_next(&rest, word);) {
        if (strcmp(word, text) == 0) {
            *(const char **)spec->target = text;
            return GW_OK;
        }
        suggestion_offer(&suggestion, word);
    }
    return gw_fail(why, GW_EINVAL, "%s must be one of %s, not \"%.60s\"%s",
                   typed, spec->choices, text,
                   suggestion_text(&suggestion, hint));
}

/* A list is somebody's until the process ends. */
static enum gw_err assign_list(const char **target, const char *text,
                               struct gw_error *why)
{
    static struct list {
        struct list *next;
        char text[];
    } * lists;
    if (!*target) {
        *target = text;
        return GW_OK;
    }
    size_t room = strlen(*target) + strlen(text) + 2;
    struct list *list = malloc(sizeof *list + room);
    if (!list)
        return gw_fail(why, GW_ENOMEM, "no memory for options");
    list->next = lists;
    lists = list;
    snprintf(list->text, room, "%s%s%s", *target, **target ? "," : "", text);
    *target = list->text;
    return GW_OK;
}

enum gw_err option_assign(const struct option_spec *spec, const char *typed,
                          const char *text, struct gw_error *why)
{
    switch (spec->kind) {
    case OPTION_FLAG:
        *(bool *)spec->target = true;
        return GW_OK;
    case OPTION_UNSIGNED:
        return assign_unsigned(spec->target, typed, text, why);
    case OPTION_COUNT:
        return assign_count(spec->target, typed, text, why);
    case OPTION_BYTES:
        return assign_bytes(spec->target, typed, text, why);
    case OPTION_DURATION:
        return assign_duration(spec->target, typed, text, why);
    case OPTION_REAL:
        return assign_real(spec->target, typed, text, why);
    case OPTION_TEXT:
        *(const char **)spec->target = text;
        return GW_OK;
    case OPTION_LIST:
        return assign_list(spec->target, text, why);
    case OPTION_CHOICE:
        return assign_choice(spec, typed, text, why);
    case OPTION_SEED:
        return assign_seed(spec->target, typed, text, why);
    }
    return gw_fail(why, GW_EINTERNAL, "%s has an unknown kind of value", typed);
}

static void format_duration(uint64_t ns, char out[64])
{
    if (ns % 1000000000 == 0)
        snprintf(out, 64, "%llus", (unsigned long long)ns / 1000000000);
    else if (ns % 1000000 == 0)
        snprintf(out, 64, "%llums", (unsigned long long)ns / 1000000);
    else
        snprintf(out, 64, "%gus", (double)ns / 1e3);
}

void option_default(const struct option_spec *spec, char out[64])
{
    const void *target = spec->target;
    *out = 0;
    if ((spec->kind == OPTION_UNSIGNED || spec->kind == OPTION_COUNT) &&
        *(const unsigned *)target && *(const unsigned *)target != UINT32_MAX)
        snprintf(out, 64, "%u", *(const unsigned *)target);
    if (spec->kind == OPTION_REAL && !isnan(*(const double *)target))
        snprintf(out, 64, "%g", *(const double *)target);
    if (spec->kind == OPTION_BYTES && *(const uint64_t *)target)
        gw_format_bytes(*(const uint64_t *)target, out);
    if (spec->kind == OPTION_DURATION && *(const uint64_t *)target)
        format_duration(*(const uint64_t *)target, out);
    if (spec->kind == OPTION_SEED)
        snprintf(out, 64, "%llu",
                 (unsigned long long)*(const uint64_t *)target);
    if ((spec->kind == OPTION_TEXT || spec->kind == OPTION_LIST ||
         spec->kind == OPTION_CHOICE) &&
        *(const char *const *)target)
        snprintf(out, 64, "%s", *(const char *const *)target);
}
