/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What repeats a run: its commands as a script, and lockstep.
 */
#ifndef SUPERVISOR_EXPERIMENT_H
#define SUPERVISOR_EXPERIMENT_H

#include <jansson.h>

struct run;

/* ---- supervisor_commands.c: the file `commands` ---- */

void commands_begin(struct run *run);
void commands_add(struct run *run, const json_t *request);
void commands_end(struct run *run);

/* ---- supervisor_lockstep.c ---- */

/* Injects the next fault when all members hold at its place. */
void lockstep_update(struct run *run);
void lockstep_status(const struct run *run, json_t *status);

#endif
