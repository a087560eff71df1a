/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of verbs: one sentence about a change, or a whole object.
 */
#ifndef ANSWER_OUTPUT_H
#define ANSWER_OUTPUT_H

#include "common/rpc_client.h"

/* A change, from its answer: the sentence in the table; code, text, epoch and
 * the other members of the answer's data in json. Returns the exit status. */
int report_answer(const char *verb, const json_t *answer);
/* Sends the request and prints the answer; steals `request`, which has "verb".
 */
int request_and_report(json_t *request);

/* Is -o one of json and jsonl? */
bool is_json_output(void);
/* If so: prints the object as a document of one line, with schema "ringctl
 * VERB". */
int report_object(const char *verb, json_t *object);

#endif
