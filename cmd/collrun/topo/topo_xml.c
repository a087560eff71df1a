/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * XML as events, read by expat. The text is not trusted: its depth is bounded,
 * and entities, which could grow without bound, are refused. A document type
 * that only names a file, as hwloc and SimGrid write it, is never fetched.
 */
#include "topo_import.h"

#include <expat.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct topo_dialect *const dialects[] = {&topo_hwloc, &topo_nccl,
                                                      &topo_simgrid};

struct document {
    struct topo_xml xml; /* must be first: readers get its address */
    const struct topo_dialect *dialect;
};

const char *topo_xml_value(const char *const *attributes, const char *name)
{
    for (size_t i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return NULL;
}

void topo_xml_fail(struct topo_xml *xml, const char *format, ...)
{
    char text[160];
    va_list arguments;
    if (xml->error.code)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    gw_fail(&xml->error, GW_EDATA, "%.80s:%lu: %s", xml->source->name,
            (unsigned long)XML_GetCurrentLineNumber(xml->parser), text);
    XML_StopParser(xml->parser, XML_FALSE);
}

static void find_dialect(struct document *d, const char *name)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (strcmp(dialects[i]->root, name) == 0)
            d->dialect = dialects[i];
    if (!d->dialect) {
        topo_xml_fail(&d->xml,
                      "<%.40s> begins no topology that is known; it must be "
                      "hwloc's <topology>, NCCL's <system> or SimGrid's "
                      "<platform>",
                      name);
        return;
    }
    d->xml.state = calloc(1, d->dialect->state_bytes);
    if (!d->xml.state)
        gw_fail(&d->xml.error, GW_ENOMEM, "%.80s", d->xml.source->name);
}

static void begin_element(void *context, const char *name,
                          const char **attributes)
{
    struct document *d = context;
    if (d->xml.error.code)
        return;
    if (!d->dialect)
        find_dialect(d, name);
    if (++d->xml.depth > TOPO_XML_DEPTH_MAX)
        topo_xml_fail(&d->xml, "elements are nested more than %d deep",
                      TOPO_XML_DEPTH_MAX);
    if (!d->xml.error.code)
        d->dialect->begin(&d->xml, name, (const char *const *)attributes);
}

static void end_element(void *context, const char *name)
{
    struct document *d = context;
    if (!d->xml.error.code)
        d->dialect->end(&d->xml, name);
    d->xml.depth--;
}

static void refuse_entity(void *context, const char *name, int is_parameter,
                          const char *value, int length, const char *base,
                          const char *system, const char *public,
                          const char *notation)
{
    struct document *d = context;
    (void)is_parameter;
    (void)value;
    (void)length;
    (void)base;
    (void)system;
    (void)public;
    (void)notation;
    topo_xml_fail(&d->xml, "entity `%.40s`: entities are not supported", name);
}

static enum gw_err parse_document(struct document *d, struct gw_error *why)
{
    const struct topo_source *source = d->xml.source;
    XML_SetUserData(d->xml.parser, d);
    XML_SetElementHandler(d->xml.parser, begin_element, end_element);
    XML_SetEntityDeclHandler(d->xml.parser, refuse_entity);
    enum XML_Status status =
        XML_Parse(d->xml.parser, source->bytes, (int)source->length, 1);
    if (!d->xml.error.code && status != XML_STATUS_OK)
        return gw_fail(why, GW_EDATA, "%.80s:%lu: %s", source->name,
                       (unsigned long)XML_GetCurrentLineNumber(d->xml.parser),
                       XML_ErrorString(XML_GetErrorCode(d->xml.parser)));
    if (!d->xml.error.code)
        d->dialect->finish(&d->xml);
    return d->xml.error.code
               ? gw_fail(why, d->xml.error.code, "%s", d->xml.error.text)
               : GW_OK;
}

enum gw_err topo_read_xml(const struct topo_source *source,
                          struct gw_error *why)
{
    struct document d = {.xml = {.source = source}};
    d.xml.parser = XML_ParserCreate(NULL);
    if (!d.xml.parser)
        return gw_fail(why, GW_ENOMEM, "%.80s", source->name);
    enum gw_err err = parse_document(&d, why);
    XML_ParserFree(d.xml.parser);
    free(d.xml.state);
    return err;
}
