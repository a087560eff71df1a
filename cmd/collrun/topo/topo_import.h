/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Topologies of other programs (collrun topo): each reader makes the text of a
 * topology (gradwire-topology(5)), which is then parsed like any other.
 */
#ifndef TOPO_IMPORT_H
#define TOPO_IMPORT_H

#include <gradwire/base.h>

/* Text that grows. Once memory has run out, `full` is set and nothing is
 * added. */
struct topo_text {
    char *bytes;
    size_t length, room;
    bool full;
};
void topo_text_add(struct topo_text *text, const char *format, ...)
    GW_PRINTF(2, 3);
void topo_text_free(struct topo_text *text);

/* A name of the topology from a name of the other program: characters that a
 * name may not have become `_`. */
void topo_text_name(const char *from, char name[32]);

/* The text of the other program, and the new text. */
struct topo_source {
    const char *name; /* of the file, for errors */
    const char *bytes;
    size_t length;
    struct topo_text *text;
};

/* The readers. GW_EDATA: "NAME:LINE: reason"; GW_ENOMEM. */
GW_MUST_CHECK enum gw_err topo_read_smi(const struct topo_source *source,
                                        struct gw_error *why);
/* hwloc's, NCCL's or SimGrid's, by the first element. */
GW_MUST_CHECK enum gw_err topo_read_xml(const struct topo_source *source,
                                        struct gw_error *why);

/* ---- XML ---- */

enum { TOPO_XML_DEPTH_MAX = 64 };

/* A document as events, in which `state` belongs to the reader. */
struct topo_xml {
    const struct topo_source *source;
    void *parser; /* expat's */
    unsigned depth;
    struct gw_error error; /* the first one; code GW_OK: none */
    void *state;
};

/* The value of an attribute; NULL: it is missing. */
const char *topo_xml_value(const char *const *attributes, const char *name);
/* Records an error at the present line. */
void topo_xml_fail(struct topo_xml *xml, const char *format, ...)
    GW_PRINTF(2, 3);

/* A kind of document: called at the begin and end of each element, while no
 * error has been recorded, and after the last one. */
struct topo_dialect {
    const char *root; /* the first element */
    size_t state_bytes;
    void (*begin)(struct topo_xml *xml, const char *name,
                  const char *const *attributes);
    void (*end)(struct topo_xml *xml, const char *name);
    void (*finish)(struct topo_xml *xml);
};
extern const struct topo_dialect topo_hwloc, topo_nccl, topo_simgrid;

#endif
