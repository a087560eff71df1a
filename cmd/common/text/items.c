/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See items.h.
 */
#include "items.h"

#include <stdio.h>
#include <string.h>

bool items_next(const char **rest, char *item, size_t size)
{
    const char *begin = *rest;
    if (!begin)
        return false;
    size_t length = strcspn(begin, ",");
    snprintf(item, size, "%.*s", (int)length, begin);
    *rest = begin[length] ? begin + length + 1 : NULL;
    return true;
}
