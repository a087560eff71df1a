/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests about one node.
 */
#ifndef NODE_VERB_H
#define NODE_VERB_H

#include "target.h"

#include <jansson.h>

/* {"role": "worker", "node": 2} */
json_t *target_json(struct target target);
/* The same with "verb". */
json_t *target_request(const char *verb, struct target target);

#endif
