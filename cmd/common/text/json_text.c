/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * JSON written piece by piece, for a document that grows over minutes. A file
 * name may hold any bytes, and the document must stay valid all the same.
 */
#include "common/command.h"
#include "common/output/output_format.h"
#include "visible.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    while (*text) {
        unsigned bytes = utf8_bytes(text);
        if (bytes == 1)
            put_ascii(file, (unsigned char)*text);
        else if (bytes)
            fwrite(text, 1, bytes, file);
        else
            fputs("\\ufffd", file);
        text += bytes ? bytes : 1;
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

void put_json_provenance(FILE *file, const struct provenance *provenance)
{
    fputs(",\"provenance\":", file);
    for (unsigned i = 0; i < PROVENANCE_FIELDS; i++) {
        fputc(i ? ',' : '{', file);
        put_json_member(file, &provenance_fields[i], provenance->values[i]);
    }
    fputc('}', file);
}

void put_json_ending(FILE *file, const struct gw_error *error, bool partial)
{
    enum gw_err code = error ? error->code : partial ? GW_EINTR : GW_OK;
    fprintf(file, ",\"partial\":%s,\"status\":%d", partial ? "true" : "false",
            exit_status(code));
    if (!error)
        return;
    fputs(",\"code\":", file);
    put_json_text(file, gw_err_name(error->code));
    fputs(",\"error\":", file);
    put_json_text(file, error->text);
}
