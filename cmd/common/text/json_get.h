/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading answers of a supervisor, whose members may be missing.
 */
#ifndef JSON_GET_H
#define JSON_GET_H

#include <jansson.h>
#include <stdint.h>

/* A member of an object, or `otherwise` if it is missing. */
const char *text_of(const json_t *object, const char *name,
                    const char *otherwise);
int64_t integer_of(const json_t *object, const char *name, int64_t otherwise);
double real_of(const json_t *object, const char *name); /* or NaN */

#endif
