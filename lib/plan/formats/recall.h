/* SPDX-License-Identifier: MIT
 *
 * What an exported file keeps of its plan. Foreign formats have no steps, so the
 * writers note, where readers of the format ignore it, the place of each
 * transfer: "INDEX STEP TRANSFER", the index in the plan, the step from 1, and
 * the transfer as in a plan's text. From these notes and the header a reader
 * gets back the same plan.
 */
#ifndef GW__FORMATS_RECALL_H
#define GW__FORMATS_RECALL_H

#include <gradwire/plan.h>

struct gw__note {
    unsigned long index, step;
    const char *text; /* the transfer; up to `length` bytes */
    size_t length;
};

/* Parses "INDEX STEP TRANSFER". */
bool gw__note_parse(const char *text, size_t length, struct gw__note *note);
/* Writes the note of a transfer. */
enum { GW__NOTE_TEXT = 96 };
const char *gw__note_text(const struct gw_plan *plan, size_t transfer,
                          char out[GW__NOTE_TEXT]);
/* The plan of a header, such as "allreduce ranks=2 chunks=1", and of the notes
 * of all its transfers, which it sorts. GW_EDATA: the notes are not those of a
 * plan, or that is wrong. */
GW_MUST_CHECK enum gw_err gw__recall(const char *header, size_t length,
                                     struct gw__note *notes, size_t count,
                                     const char *name, struct gw_plan **plan,
                                     struct gw_error *why);

#endif
