/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the conditions of wait and expect. A text is refused with an error, or
 * it is a condition, and then either it or its negation holds.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_condition.c
 */
#include "run/condition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

/* Brackets use one level of the allowed nesting. */
static void try_opposite(const char *text, const struct condition *condition,
                         const struct condition_values *values)
{
    size_t room = strlen(text) + 4;
    char *opposite = malloc(room);
    struct condition *other = NULL;
    expect(opposite != NULL);
    snprintf(opposite, room, "!(%s)", text);
    if (!condition_parse(opposite, &other, NULL))
        expect(condition_holds(other, values) !=
               condition_holds(condition, values));
    condition_destroy(&other);
    free(opposite);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1), printed[256];
    struct condition *condition = NULL;
    struct gw_error why = {.code = GW_OK};
    struct condition_values values;
    expect(text != NULL);
    memcpy(text, bytes, size);
    text[size] = 0;
    for (unsigned i = 0; i < COND_NAMES; i++)
        values.of[i] = (double)(size * (i + 1) % 7);
    if (condition_parse(text, &condition, &why)) {
        expect(!condition && why.code == GW_EINVAL && why.text[0]);
    } else {
        condition_explain(condition, &values, printed, sizeof printed);
        expect(memchr(printed, 0, sizeof printed) != NULL);
        try_opposite(text, condition, &values);
    }
    condition_destroy(&condition);
    free(text);
    return 0;
}
