/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See visible.h.
 */
#include "visible.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

unsigned utf8_bytes(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned bytes = *s < 0x80   ? 1
                     : *s < 0xc2 ? 0
                     : *s < 0xe0 ? 2
                     : *s < 0xf0 ? 3
                     : *s < 0xf5 ? 4
                                 : 0;
    for (unsigned i = 1; i < bytes; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90);
    bool surrogate = *s == 0xed && s[1] >= 0xa0;
    bool too_large = *s == 0xf4 && s[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : bytes;
}

/* A control character of ASCII, or U+0080 to U+009F. */
static bool is_control(const char *s)
{
    unsigned char first = (unsigned char)s[0];
    return first < 0x20 || first == 0x7f ||
           (first == 0xc2 && (unsigned char)s[1] < 0xa0);
}

const char *visible(const char *text, char *out, size_t room)
{
    enum { ESCAPED = 4 };
    size_t used = 0;
    while (*text) {
        unsigned bytes = utf8_bytes(text);
        bool plain = bytes > 0 && !is_control(text);
        if (!plain)
            bytes = 1;
        if (used + (plain ? bytes : ESCAPED) >= room)
            break;
        if (plain)
            memcpy(out + used, text, bytes);
        else
            snprintf(out + used, ESCAPED + 1, "\\x%02x", (unsigned char)*text);
        used += plain ? bytes : ESCAPED;
        text += bytes;
    }
    out[used] = 0;
    return out;
}
