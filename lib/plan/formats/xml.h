/* SPDX-License-Identifier: MIT
 *
 * An XML text as a list of elements, each with its line and attributes, read by
 * expat. The text is not trusted: its size, depth and numbers of elements and
 * attributes are bounded, and a document type, which could define entities that
 * grow without bound, is refused.
 */
#ifndef GW__FORMATS_XML_H
#define GW__FORMATS_XML_H

#include <gradwire/base.h>

enum { GW__XML_NONE = -1, GW__XML_DEPTH_MAX = 8 };

struct gw__xml_attribute {
    const char *name;
    const char *value;
};

struct gw__xml_element {
    const char *name;
    unsigned line;
    int parent; /* element, or GW__XML_NONE */
    uint32_t attribute_begin, attribute_count;
};

/* Elements are in the order of their beginnings. */
struct gw__xml {
    const char *name; /* of the text, for errors; not owned */
    struct gw__xml_element *elements;
    size_t count;
    struct gw__xml_attribute *attributes;
    size_t attribute_count;
    struct gw__xml_text *texts; /* the memory of all names and values */
};

/* GW_EDATA: "NAME:LINE: reason"; GW_ENOMEM. On failure *xml is empty. */
GW_MUST_CHECK enum gw_err gw__xml_read(const char *text, size_t bytes,
                                       const char *name, struct gw__xml *xml,
                                       struct gw_error *why);
void gw__xml_fini(struct gw__xml *xml);

/* The value of an attribute; NULL: it is missing. */
const char *gw__xml_value(const struct gw__xml *xml, size_t element,
                          const char *attribute);

#endif
