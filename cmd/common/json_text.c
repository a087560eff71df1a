/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * JSON piece by piece, as a document that grows over minutes needs it; a file
 * name may hold any bytes, and the document must stay valid all the same.
 */
#include "output_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes the UTF-8 character at `s` has; 0 when it is none: a stray or
 * missing continuation, an overlong form, a surrogate, or above U+10FFFF. */
static unsigned character_bytes(const unsigned char *s)
{
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

static void put_ascii(FILE *file, unsigned char c)
{
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = strchr(named, c);
    if (at)
        fprintf(file, "\\%c", letters[at - named]);
    else if (c < 0x20 || c == 0x7f)
        fprintf(file, "\\u%04x", c);
    else
        fputc(c, file);
}

void put_json_text(FILE *file, const char *text)
{
    if (!text) {
        fputs("null", file);
        return;
    }
    fputc('"', file);
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        unsigned bytes = character_bytes(s);
        if (bytes == 1)
            put_ascii(file, *s);
        else if (bytes)
            fwrite(s, 1, bytes, file);
        else
            fputs("\\ufffd", file);
        s += bytes ? bytes : 1;
    }
    fputc('"', file);
}

void put_json_real(FILE *file, double real)
{
    char text[40];
    if (!isfinite(real)) {
        fputs("null", file);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, real);
        if (!(strtod(text, NULL) < real) && !(strtod(text, NULL) > real))
            break;
    }
    fputs(text, file);
}

void put_json_member(FILE *file, const struct field *field, union value value)
{
    put_json_text(file, field->name);
    fputc(':', file);
    switch (field->kind) {
    case FIELD_TEXT:
        put_json_text(file, value.text);
        break;
    case FIELD_INTEGER:
        fprintf(file, "%lld", (long long)value.integer);
        break;
    case FIELD_REAL:
        put_json_real(file, value.real);
        break;
    case FIELD_BOOL:
        fputs(value.boolean ? "true" : "false", file);
        break;
    }
}

void put_json_opening(FILE *file, const char *title)
{
    fputs("{\"schema\":", file);
    put_json_text(file, title);
    fputs(",\"version\":", file);
    put_json_text(file, GW_VERSION);
}

void put_json_ending(FILE *file, const struct gw_error *error, bool partial)
{
    enum gw_err code = error ? error->code : partial ? GW_EINTR : GW_OK;
    fprintf(file, ",\"partial\":%s,\"status\":%d", partial ? "true" : "false",
            gw_err_exit(code));
    if (!error)
        return;
    fputs(",\"code\":", file);
    put_json_text(file, gw_err_name(error->code));
    fputs(",\"error\":", file);
    put_json_text(file, error->text);
}
