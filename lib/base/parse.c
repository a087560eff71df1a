/* SPDX-License-Identifier: MIT
 *
 * Sizes and durations as users write them. K, M and G are powers of 1024, as in
 * nccl-tests; both "4M" and "4MiB" mean 4194304.
 */
#include "c_locale.h"

#include <gradwire/base.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit byte_units[] = {
    {"", 1},         {"B", 1},       {"K", 0x1p10},   {"KB", 0x1p10},
    {"KiB", 0x1p10}, {"M", 0x1p20},  {"MB", 0x1p20},  {"MiB", 0x1p20},
    {"G", 0x1p30},   {"GB", 0x1p30}, {"GiB", 0x1p30}, {NULL, 0},
};

static const struct unit time_units[] = {
    {"", 1e9},  {"ns", 1},   {"us", 1e3},   {"ms", 1e6},
    {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {NULL, 0},
};

/* NUMBER UNIT, without sign, in units; at most 2^63. */
static bool parse_quantity(const char *text, const struct unit *units,
                           uint64_t *value)
{
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return false;
    char *rest;
    double number = strtod_l(text, &rest, gw__c_locale());
    if (rest == text || (text[0] == '0' && tolower(text[1]) == 'x'))
        return false;
    for (; units->name; units++)
        if (strcasecmp_l(rest, units->name, gw__c_locale()) == 0) {
            double scaled = number * units->factor;
            if (!(scaled < 0x1p63))
                return false;
            *value = (uint64_t)llround(scaled);
            return true;
        }
    return false;
}

enum gw_err gw_parse_bytes(const char *text, uint64_t *bytes,
                           struct gw_error *why)
{
    if (parse_quantity(text, byte_units, bytes))
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\" is not a size; write 64, 4K, 16M or 1G", text);
}

enum gw_err gw_parse_duration(const char *text, uint64_t *ns,
                              struct gw_error *why)
{
    if (parse_quantity(text, time_units, ns))
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\" is not a duration; write 50us, 20ms, 1.5s or 2m",
                   text);
}

void gw_format_bytes(uint64_t bytes, char out[16])
{
    static const char suffixes[] = " KMGTPE";
    double value = (double)bytes;
    unsigned power = 0;
    while (value >= 1024 && power < sizeof suffixes - 2) {
        value /= 1024;
        power++;
    }
    char suffix[2] = {power ? suffixes[power] : 0, 0};
    bool whole = value == floor(value);
    int decimals = whole || value >= 100 ? 0 : value >= 10 ? 1 : 2;
    locale_t before = uselocale(gw__c_locale());
    snprintf(out, 16, "%.*f%s", decimals, value, suffix);
    uselocale(before);
}
