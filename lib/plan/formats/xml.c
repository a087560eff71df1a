/* SPDX-License-Identifier: MIT
 *
 * Reads XML with expat into a list of elements; see xml.h.
 */
#include "xml.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_MAX = 1 << 20, ATTRIBUTES_MAX = 24, VALUE_BYTES_MAX = 4096 };

/* A block of strings; blocks do not move, so pointers into them stay. */
struct gw__xml_text {
    struct gw__xml_text *next;
    size_t used, size;
    char bytes[];
};

struct xml_reader {
    XML_Parser parser;
    struct gw__xml *xml;
    size_t element_room, attribute_room;
    int open[GW__XML_DEPTH_MAX];
    unsigned depth;
    struct gw_error error;
};

static unsigned line_of(const struct xml_reader *r)
{
    return (unsigned)XML_GetCurrentLineNumber(r->parser);
}

static void refuse_xml(struct xml_reader *r, const char *reason)
{
    if (!r->error.code)
        gw_fail(&r->error, GW_EDATA, "%.200s:%u: %s", r->xml->name, line_of(r),
                reason);
    XML_StopParser(r->parser, XML_FALSE);
}

static void run_out(struct xml_reader *r)
{
    if (!r->error.code)
        gw_fail(&r->error, GW_ENOMEM, "%.200s", r->xml->name);
    XML_StopParser(r->parser, XML_FALSE);
}

static bool grow_list(struct xml_reader *r, void **list, size_t count,
                      size_t *room, size_t item)
{
    if (count < *room)
        return true;
    size_t larger = *room ? 2 * *room : 256;
    void *moved = realloc(*list, larger * item);
    if (!moved) {
        run_out(r);
        return false;
    }
    *list = moved;
    *room = larger;
    return true;
}

static const char *keep_text(struct xml_reader *r, const char *text)
{
    enum { BLOCK = 1 << 16 };
    size_t bytes = strlen(text) + 1;
    struct gw__xml_text *block = r->xml->texts;
    if (!block || block->size - block->used < bytes) {
        size_t size = bytes > BLOCK ? bytes : BLOCK;
        block = malloc(sizeof *block + size);
        if (!block) {
            run_out(r);
            return NULL;
        }
        block->next = r->xml->texts;
        block->used = 0;
        block->size = size;
        r->xml->texts = block;
    }
    char *kept = block->bytes + block->used;
    memcpy(kept, text, bytes);
    block->used += bytes;
    return kept;
}

static bool add_attribute(struct xml_reader *r, const char *name,
                          const char *value)
{
    struct gw__xml *xml = r->xml;
    void *list = xml->attributes;
    bool grown = grow_list(r, &list, xml->attribute_count, &r->attribute_room,
                           sizeof *xml->attributes);
    xml->attributes = list;
    if (!grown)
        return false;
    if (strlen(value) > VALUE_BYTES_MAX) {
        refuse_xml(r, "the value of an attribute is longer than 4096 bytes");
        return false;
    }
    struct gw__xml_attribute kept = {keep_text(r, name), keep_text(r, value)};
    if (!kept.name || !kept.value)
        return false;
    xml->attributes[xml->attribute_count++] = kept;
    return true;
}

static bool add_attributes(struct xml_reader *r, const char **attributes)
{
    unsigned count = 0;
    for (; attributes[2 * count]; count++) {
        if (count == ATTRIBUTES_MAX) {
            refuse_xml(r, "an element has more than 24 attributes");
            return false;
        }
        if (!add_attribute(r, attributes[2 * count], attributes[2 * count + 1]))
            return false;
    }
    return true;
}

static void begin_element(void *context, const char *name,
                          const char **attributes)
{
    struct xml_reader *r = context;
    struct gw__xml *xml = r->xml;
    if (r->error.code)
        return;
    if (r->depth == GW__XML_DEPTH_MAX) {
        refuse_xml(r, "elements are nested more than 8 levels deep");
        return;
    }
    if (xml->count == ELEMENTS_MAX) {
        refuse_xml(r, "the text has more than 1048576 elements");
        return;
    }
    void *list = xml->elements;
    bool grown = grow_list(r, &list, xml->count, &r->element_room,
                           sizeof *xml->elements);
    xml->elements = list;
    uint32_t begin = (uint32_t)xml->attribute_count;
    const char *kept = grown ? keep_text(r, name) : NULL;
    if (!kept || !add_attributes(r, attributes))
        return;
    xml->elements[xml->count] = (struct gw__xml_element){
        .name = kept,
        .line = line_of(r),
        .parent = r->depth ? r->open[r->depth - 1] : GW__XML_NONE,
        .attribute_begin = begin,
        .attribute_count = (uint32_t)xml->attribute_count - begin,
    };
    r->open[r->depth++] = (int)xml->count++;
}

static void end_element(void *context, const char *name)
{
    struct xml_reader *r = context;
    (void)name;
    if (!r->error.code)
        r->depth--;
}

static void begin_doctype(void *context, const char *name, const char *system,
                          const char *public, int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    refuse_xml(context, "a document type is not allowed");
}

static void parse_xml(struct xml_reader *r, const char *text, size_t bytes)
{
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, begin_element, end_element);
    XML_SetStartDoctypeDeclHandler(r->parser, begin_doctype);
    enum XML_Status status = XML_Parse(r->parser, text, (int)bytes, XML_TRUE);
    if (status == XML_STATUS_OK || r->error.code)
        return;
    enum XML_Error code = XML_GetErrorCode(r->parser);
    if (code == XML_ERROR_NO_MEMORY)
        run_out(r);
    else
        gw_fail(&r->error, GW_EDATA, "%.200s:%u: not well-formed XML: %s",
                r->xml->name, line_of(r), XML_ErrorString(code));
}

enum gw_err gw__xml_read(const char *text, size_t bytes, const char *name,
                         struct gw__xml *xml, struct gw_error *why)
{
    struct xml_reader r = {.xml = xml, .parser = XML_ParserCreate(NULL)};
    *xml = (struct gw__xml){.name = name};
    if (!r.parser)
        return gw_fail(why, GW_ENOMEM, "%.200s", name);
    parse_xml(&r, text, bytes);
    XML_ParserFree(r.parser);
    if (!r.error.code)
        return GW_OK;
    gw__xml_fini(xml);
    return gw_fail(why, r.error.code, "%s", r.error.text);
}

void gw__xml_fini(struct gw__xml *xml)
{
    while (xml->texts) {
        struct gw__xml_text *next = xml->texts->next;
        free(xml->texts);
        xml->texts = next;
    }
    free(xml->elements);
    free(xml->attributes);
    *xml = (struct gw__xml){.name = xml->name};
}

const char *gw__xml_value(const struct gw__xml *xml, size_t element,
                          const char *attribute)
{
    const struct gw__xml_element *e = &xml->elements[element];
    for (uint32_t i = 0; i < e->attribute_count; i++) {
        const struct gw__xml_attribute *a =
            &xml->attributes[e->attribute_begin + i];
        if (strcmp(a->name, attribute) == 0)
            return a->value;
    }
    return NULL;
}
