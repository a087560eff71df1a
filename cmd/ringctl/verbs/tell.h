/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What verbs print: one sentence of a change, or a whole object.
 */
#ifndef TELL_H
#define TELL_H

#include "common/attach.h"

/* A change that the answer tells: its sentence in the table; code, text, epoch
 * and what the answer's data has beside in json. Returns the exit status. */
int tell_answer(const char *verb, const json_t *answer);
/* Asks and tells; steals `request`, which has "verb". */
int ask_and_tell(json_t *request);

/* Is -o one of json and jsonl? */
bool tells_objects(void);
/* Then: the object as a document of one line, with schema "ringctl VERB". */
int tell_object(const char *verb, json_t *object);

#endif
