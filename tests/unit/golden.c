/* SPDX-License-Identifier: MIT
 *
 * See golden.h.
 */
#include "golden.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *grid_lines(const struct grid *grid)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *output = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(output);
    for (int y = 0; y < grid->height; y++) {
        int width = grid->width;
        while (width > 0 && grid_at(grid, width - 1, y)->glyph == ' ')
            width--;
        for (int x = 0; x < width; x++) {
            char character[5];
            utf8_of(grid_at(grid, x, y)->glyph, character);
            fputs(character, output);
        }
        fputc('\n', output);
    }
    ck_assert_int_eq(fclose(output), 0);
    return text;
}

static void write_golden(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "%s cannot be written", path);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static char *read_golden(const char *path)
{
    enum { MOST = 1 << 16 };
    char *text = calloc(1, MOST);
    FILE *file = fopen(path, "r");
    ck_assert_msg(text && file, "%s cannot be read", path);
    ck_assert_uint_lt(fread(text, 1, MOST, file), MOST);
    fclose(file);
    return text;
}

void assert_golden_text(const char *text, const char *path)
{
    if (getenv("GOLDEN_WRITE"))
        write_golden(path, text);
    char *expected = read_golden(path);
    ck_assert_msg(strcmp(text, expected) == 0, "%s:\n%s\nis now\n%s", path,
                  expected, text);
    free(expected);
}

void assert_golden(const struct grid *grid, const char *name)
{
    char path[128], *seen = grid_lines(grid);
    snprintf(path, sizeof path, "tests/view/%s.txt", name);
    assert_golden_text(seen, path);
    free(seen);
}
