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

/* In json and jsonl: the object as a document with schema "ringctl VERB". */
bool tells_objects(void); /* is -o one of these? */
int tell_object(const char *verb, const json_t *object);

#endif
