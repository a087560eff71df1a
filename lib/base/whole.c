/* SPDX-License-Identifier: MIT
 *
 * See whole.h.
 */
#include "whole.h"

#include "source.h"

bool gw__whole_read(const char **text, uint64_t most, uint64_t *number)
{
    const char *at = *text;
    uint64_t value = 0;
    for (; gw__is_digit(*at); at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    if (at == *text || value > most)
        return false;
    *text = at;
    *number = value;
    return true;
}
