/* SPDX-License-Identifier: MIT
 *
 * The calibration file (gradwire-tuning(5)), shared by three modules: costs.c
 * stores the costs of the wires in it, tuning_table.c reads the fastest
 * measured algorithms, and tuning_table_store.c writes them. Writers replace
 * the file atomically.
 */
#ifndef GW__CALIBRATION_H
#define GW__CALIBRATION_H

#include "base/cache.h"

#include <gradwire/coll.h>

#include <jansson.h>

/* The path of the file, which need not exist; false: there is none, or it is
 * too long. */
bool gw__calibration_path(char path[GW__PATH_BYTES]);
/* The file's content; the caller must json_decref it. NULL if there is no
 * readable file. */
json_t *gw__calibration_load(void);
/* The same for a writer: an object, empty if there was none. GW_EINVAL if there
 * is no path for the file. */
enum gw_err gw__calibration_edit(json_t **file, struct gw_error *why);
/* Replaces the file by `file`, through a temporary file and a rename, and
 * releases `file`, also on failure. */
enum gw_err gw__calibration_save(json_t *file, struct gw_error *why);
/* Member `name` of `parent`, created if it is not an object. */
json_t *gw__calibration_member(json_t *parent, const char *name);

/* The calibration of an unmeasured machine, for all its numbers of ranks on the
 * wire. The caller must json_decref it. */
json_t *gw__builtin_prices(const char *wire);
/* gw_costs_among on a loaded file; 0 ranks: without coefficients. */
void gw__costs_of(json_t *file, const char *wire, unsigned ranks,
                  struct gw_wire_costs *costs, bool *measured);

#endif
