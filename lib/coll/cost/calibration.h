/* SPDX-License-Identifier: MIT
 *
 * The calibration file (gradwire-rules(5)): costs.c keeps what the wires cost
 * in it, tuning_table.c reads which algorithms were measured to be the fastest, and
 * tuning_table_store.c puts them there. This is what they share: where the file is,
 * and that a writer replaces it at once.
 */
#ifndef GW__CALIBRATION_H
#define GW__CALIBRATION_H

#include <gradwire/coll.h>

#include <jansson.h>

/* The file's content, the caller's to json_decref; NULL when there is none, or
 * none that can be read. */
json_t *gw__calibration_load(void);
/* The same for a writer: an object, empty if there was none; GW_EINVAL when
 * there is no place for a file. */
enum gw_err gw__calibration_edit(json_t **file, struct gw_error *why);
/* Puts `file` there, beside the old one and then over it, and lets it go, also
 * on failure. */
enum gw_err gw__calibration_save(json_t *file, struct gw_error *why);
/* Member `name` of `parent`, made when it is no object. */
json_t *gw__calibration_member(json_t *parent, const char *name);

/* What the file would have for the wire's numbers of ranks, of a machine that
 * was not measured; the caller's to json_decref. */
json_t *gw__builtin_prices(const char *wire);
/* gw_costs_among, from a file that was loaded; without figures for 0 ranks. */
void gw__costs_of(json_t *file, const char *wire, unsigned ranks,
                  struct gw_wire_costs *costs, bool *measured);

#endif
