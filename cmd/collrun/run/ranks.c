/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading "2,4,8".
 */
#include "ranks.h"

#include <ctype.h>
#include <stdlib.h>

enum { RANKS_MOST = 1024 };

static bool is_there(const unsigned *ranks, unsigned count, unsigned long one)
{
    for (unsigned i = 0; i < count; i++)
        if (ranks[i] == one)
            return true;
    return false;
}

enum gw_err ranks_parse(const char *text, unsigned least, unsigned *ranks,
                        unsigned room, unsigned *count, struct gw_error *why)
{
    const char *rest = text;
    char *end;
    for (*count = 0; isdigit((unsigned char)*rest); rest = end + 1) {
        unsigned long one = strtoul(rest, &end, 10);
        if (one < least || one > RANKS_MOST)
            return gw_fail(
                why, GW_EINVAL,
                "--ranks: each number must be from %u to %d, not %.60s", least,
                RANKS_MOST, rest);
        if (!is_there(ranks, *count, one)) {
            if (*count == room)
                return gw_fail(why, GW_EINVAL,
                               "--ranks: too many numbers; use at most %u",
                               room);
            ranks[(*count)++] = (unsigned)one;
        }
        if (!*end)
            return GW_OK;
        if (*end != ',')
            break;
    }
    return gw_fail(why, GW_EINVAL,
                   "--ranks must be numbers separated by commas, such as "
                   "2,4,8, not \"%.60s\"",
                   text);
}
