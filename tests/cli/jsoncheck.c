/* SPDX-License-Identifier: MIT
 *
 * For the tests of the tools' output: jsoncheck [-l] [KEY...] reads JSON from
 * its input and fails, with the position, if it is not valid. With -l each line
 * is a document of its own, and the last one is used. KEYs select a value in
 * the document (a number is an index), which is printed. "#" is the length of
 * an array.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *read_lines(FILE *file, json_error_t *error)
{
    static char line[1 << 20];
    json_t *last = NULL;
    while (fgets(line, sizeof line, file)) {
        json_decref(last);
        last = json_loads(line, JSON_REJECT_DUPLICATES, error);
        if (!last)
            return NULL;
    }
    return last ? last : json_null();
}

static json_t *into(json_t *value, const char *key)
{
    if (strcmp(key, "#") == 0)
        return json_integer((json_int_t)json_array_size(value));
    if (json_is_array(value))
        return json_array_get(value, strtoul(key, NULL, 10));
    return json_object_get(value, key);
}

int main(int argc, char **argv)
{
    json_error_t error = {.text = ""};
    int first = argc > 1 && strcmp(argv[1], "-l") == 0 ? 2 : 1;
    json_t *value = first == 2
                        ? read_lines(stdin, &error)
                        : json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        fprintf(stderr, "line %d: %s\n", error.line, error.text);
        return 1;
    }
    for (int i = first; i < argc && value; i++)
        value = into(value, argv[i]);
    if (json_is_string(value))
        puts(json_string_value(value));
    else if (first < argc &&
             (!value || json_dumpf(value, stdout, JSON_ENCODE_ANY)))
        return 2;
    return 0;
}
