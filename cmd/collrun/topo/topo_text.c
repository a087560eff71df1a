/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text that grows, and names for it (topo_import.h).
 */
#include "topo_import.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void topo_text_add(struct topo_text *text, const char *format, ...)
{
    va_list arguments;
    if (text->room - text->length < 512) {
        size_t room = 2 * text->room + 4096;
        char *moved = text->full ? NULL : realloc(text->bytes, room);
        if (!moved) {
            text->full = true;
            return;
        }
        text->bytes = moved;
        text->room = room;
    }
    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->length,
                           text->room - text->length, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= text->room - text->length)
        text->full = true;
    else
        text->length += (size_t)length;
}

void topo_text_free(struct topo_text *text)
{
    free(text->bytes);
    *text = (struct topo_text){0};
}

void topo_text_name(const char *from, char name[32])
{
    size_t length = 0;
    for (; from[length] && length < 31; length++) {
        unsigned char c = (unsigned char)from[length];
        name[length] = (char)(isalnum(c) || c == '.' || c == '-' ? c : '_');
    }
    name[length] = 0;
    if (length == 0)
        snprintf(name, 32, "unnamed");
}
