/* SPDX-License-Identifier: MIT
 *
 * A file as a text in memory: see source.h. It may be a pipe, so its size is
 * known only after reading.
 */
#include "file.h"
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL and errno. */
static char *read_to_end(FILE *file, size_t limit, size_t *bytes)
{
    size_t capacity = 0;
    char *text = NULL;
    *bytes = 0;
    do {
        if (*bytes == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            char *moved = realloc(text, capacity + 1);
            if (!moved)
                goto fail;
            text = moved;
        }
        *bytes += fread(text + *bytes, 1, capacity - *bytes, file);
        if (ferror(file))
            goto fail;
    } while (*bytes <= limit && !feof(file));
    text[*bytes] = 0;
    return text;
fail:
    free(text);
    return NULL;
}

enum gw_err gw__text_load(const char *path, size_t limit, char **text,
                          size_t *bytes, struct gw_error *why)
{
    *text = NULL;
    FILE *file = gw__file_stream(path, why);
    if (!file)
        return why ? why->code : GW_EDATA;
    *text = read_to_end(file, limit, bytes);
    int number = errno;
    fclose(file);
    if (*text)
        return GW_OK;
    if (number == ENOMEM || number == EINTR) {
        errno = number;
        return gw_fail_errno(why, "%.200s", path);
    }
    return gw_fail(why, GW_EDATA, "%.200s: %s", path, strerror(number));
}
