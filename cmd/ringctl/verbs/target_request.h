/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests about one node.
 */
#ifndef TARGET_REQUEST_H
#define TARGET_REQUEST_H

#include "run/target.h"

#include <jansson.h>

/* {"role": "worker", "node": 2} */
json_t *target_json(struct target target);
/* The same with "verb". */
json_t *target_request(const char *verb, struct target target);

#endif
