/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The commands of an experiment, and the files that they name.
 */
#ifndef INPUTS_H
#define INPUTS_H

#include <gradwire/gradwire.h>

/* Copies the commands from the file `from` to DIRECTORY/commands. Each file
 * that a command reads (a model's data, a topology, a fault schedule) becomes a
 * symbolic link in DIRECTORY/inputs, and the command names that. Files are
 * searched for as `up` does: as given, then in $GRADWIRE_DATA. */
GW_MUST_CHECK enum gw_err
inputs_collect(const char *from, const char *directory, struct gw_error *why);

/* Checks commands that may come from a stranger. GW_EDATA: a command that does
 * not belong to a run, a plug-in, or a file outside of the archive. */
GW_MUST_CHECK enum gw_err inputs_check(const char *file, struct gw_error *why);

#endif
