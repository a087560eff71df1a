/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See json_get.h.
 */
#include "json_get.h"

#include <math.h>

const char *text_of(const json_t *object, const char *name,
                    const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : otherwise;
}

int64_t integer_of(const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_boolean(value))
        return json_is_true(value);
    return json_is_number(value) ? (int64_t)json_number_value(value)
                                 : otherwise;
}

double real_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
