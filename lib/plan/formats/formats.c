/* SPDX-License-Identifier: MIT
 *
 * Finds the format of a schedule and reads it. XML begins with `<`, JSON
 * with `{`, GOAL with `num_ranks`, possibly after comments. A plan's text begins
 * with the name of a collective.
 */
#include "formats.h"

#include "xml.h"

#include <jansson.h>

#include <string.h>

static bool begins_at(const struct gw__format_text *text, size_t at,
                      const char *word)
{
    size_t length = strlen(word);
    return text->size - at >= length &&
           memcmp(text->bytes + at, word, length) == 0;
}

static size_t line_end(const struct gw__format_text *text, size_t at)
{
    const char *end = memchr(text->bytes + at, '\n', text->size - at);
    return end ? (size_t)(end - text->bytes) : text->size;
}

/* The first byte that is neither blank nor, for GOAL, in a comment. */
static size_t first_byte(const struct gw__format_text *text)
{
    size_t at = begins_at(text, 0, "\xef\xbb\xbf") ? 3 : 0;
    while (at < text->size) {
        char c = text->bytes[at];
        if (begins_at(text, at, "//"))
            at = line_end(text, at);
        else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
            at++;
        else
            break;
    }
    return at;
}

const char *gw__format_of(const struct gw__format_text *text)
{
    size_t at = first_byte(text);
    if (at == text->size)
        return NULL;
    if (text->bytes[at] == '<')
        return "XML";
    if (text->bytes[at] == '{')
        return "JSON";
    return begins_at(text, at, "num_ranks") ? "GOAL" : NULL;
}

static enum gw_err read_xml(const struct gw__format_text *text,
                            struct gw_plan **plan, struct gw_error *why)
{
    struct gw__xml xml;
    enum gw_err err =
        gw__xml_read(text->bytes, text->size, text->name, &xml, why);
    if (err)
        return err;
    const char *root = xml.elements[0].name;
    if (strcmp(root, "algo") == 0)
        err = gw__msccl_import(&xml, plan, why);
    else if (strcmp(root, "trees") == 0 || strcmp(root, "tree") == 0)
        err = gw__trees_import(&xml, plan, why);
    else
        err = gw_fail(why, GW_EDATA,
                      "%.200s:%u: <%.32s> is unknown; MSCCL's XML begins with "
                      "<algo>, ForestColl's with <trees>",
                      text->name, xml.elements[0].line, root);
    gw__xml_fini(&xml);
    return err;
}

/* jansson limits the depth of nesting itself. */
static enum gw_err read_json(const struct gw__format_text *text,
                             struct gw_plan **plan, struct gw_error *why)
{
    json_error_t error;
    json_t *json =
        json_loadb(text->bytes, text->size, JSON_REJECT_DUPLICATES, &error);
    enum gw_err err;
    if (!json)
        return gw_fail(why, GW_EDATA, "%.200s:%d: not JSON: %.120s", text->name,
                       error.line, error.text);
    if (json_object_get(json, "msccl_type") ||
        json_object_get(json, "sccl_type"))
        err = gw__sccl_import(json, text->name, plan, why);
    else if (json_object_get(json, "7-Flows"))
        err = gw__teccl_import(json, text->name, plan, why);
    else if (json_object_get(json, "6-Flows"))
        err = gw__teccl_volumes_import(json, text->name, plan, why);
    else
        err = gw_fail(why, GW_EDATA,
                      "%.200s: this JSON is unknown; TE-CCL's has the key "
                      "\"7-Flows\" or \"6-Flows\", SCCL's \"msccl_type\"",
                      text->name);
    json_decref(json);
    return err;
}

enum gw_err gw__format_read(const struct gw__format_text *text,
                            struct gw_plan **plan, struct gw_error *why)
{
    const char *format = gw__format_of(text);
    *plan = NULL;
    if (text->size > GW__FORMAT_BYTES_MAX)
        return gw_fail(why, GW_EDATA, "%.200s: the text has more than %d bytes",
                       text->name, GW__FORMAT_BYTES_MAX);
    if (format && strcmp(format, "XML") == 0)
        return read_xml(text, plan, why);
    if (format && strcmp(format, "JSON") == 0)
        return read_json(text, plan, why);
    return gw__goal_import(text, plan, why);
}
