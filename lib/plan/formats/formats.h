/* SPDX-License-Identifier: MIT
 *
 * Schedules in the formats of others. Each reader has a file, or files, of its
 * own; formats.c finds the format by looking at the text.
 *
 *   msccl   MSCCL's XML, read and written
 *   trees   ForestColl's spanning trees, XML
 *   teccl   TE-CCL's flows, JSON: of whole chunks, or of volumes
 *   sccl    SCCL's and msccl-tools' algorithms, JSON
 *   goal    GOAL, read and written; only what we wrote says which data moves
 *
 * The text is not trusted: readers are bounded in memory and time. A refusal
 * begins with "NAME:LINE: ", or "NAME: " where a format has no lines, and is
 * GW_EDATA.
 */
#ifndef GW__FORMATS_H
#define GW__FORMATS_H

#include <gradwire/plan.h>

enum { GW__FORMAT_BYTES_MAX = 64 << 20 };

struct gw__format_text {
    const char *name; /* for errors */
    const char *bytes;
    size_t size;
};

/* The name of the format of a text, for people; NULL: it is a plan's text. */
const char *gw__format_of(const struct gw__format_text *text);
/* Reads a text of such a format. GW_EDATA, GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__format_read(const struct gw__format_text *text,
                                          struct gw_plan **plan,
                                          struct gw_error *why);

struct gw__xml;
struct json_t;

GW_MUST_CHECK enum gw_err gw__msccl_import(const struct gw__xml *xml,
                                           struct gw_plan **plan,
                                           struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__trees_import(const struct gw__xml *xml,
                                           struct gw_plan **plan,
                                           struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__teccl_import(const struct json_t *json,
                                           const char *name,
                                           struct gw_plan **plan,
                                           struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__teccl_volumes_import(const struct json_t *json,
                                                   const char *name,
                                                   struct gw_plan **plan,
                                                   struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__sccl_import(const struct json_t *json,
                                          const char *name,
                                          struct gw_plan **plan,
                                          struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__goal_import(const struct gw__format_text *text,
                                          struct gw_plan **plan,
                                          struct gw_error *why);

#endif
