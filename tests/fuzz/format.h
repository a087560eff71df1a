/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the readers of schedules in other formats. A text is refused with its
 * name and a reason, or it is a plan that verifies, has a price, prints to a text
 * that parses to the same plan, and can be exported and read again.
 */
#ifndef FUZZ_FORMAT_H
#define FUZZ_FORMAT_H

#include <gradwire/plan.h>
#include <plan/index.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check_same(const struct gw_plan *plan, const char *text,
                       size_t bytes, const char *what)
{
    struct gw_plan *again = NULL;
    struct gw_error why = {0};
    enum gw_err err = gw_plan_parse(text, bytes, "again", 0, &again, &why);
    check(err == GW_OK, why.text);
    check(gw_plan_hash(plan) == gw_plan_hash(again), what);
    gw_plan_destroy(&again);
}

static void check_export(const struct gw_plan *plan, enum gw_format format)
{
    const struct gw_export options = {
        .format = format, .count = 100, .elem_bytes = 4};
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    enum gw_err err = gw_plan_export(plan, &options, file, NULL);
    fclose(file);
    check(err == GW_OK || err == GW_ENOTSUP, "export: failed");
    if (err == GW_OK && format <= GW_FORMAT_GOAL)
        check_same(plan, text, bytes, "export: another plan");
    free(text);
}

static void check_plan(const struct gw_plan *plan)
{
    struct gw_verdict verdict;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    check(gw_plan_verify(plan, 0, &verdict, NULL) == GW_OK,
          "import: the plan is wrong");
    check(file && gw_plan_print(plan, file, NULL) == GW_OK, "print: failed");
    fclose(file);
    check_same(plan, text, bytes, "print: another plan");
    free(text);
    for (int format = 0; format < GW_FORMATS; format++)
        check_export(plan, (enum gw_format)format);
}

/* Only texts that begin like this one, so that a fuzzer stays with its format. */
static int fuzz_format(const uint8_t *data, size_t size, const char *begin)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    size_t length = strlen(begin);
    if (size < length || memcmp(data, begin, length) != 0)
        return -1;
    enum gw_err err =
        gw_plan_parse((const char *)data, size, "fuzz", 0, &plan, &why);
    check((err == GW_OK) == (plan != NULL), "import: plan and result disagree");
    check(err == GW_OK || err == GW_EDATA, "import: another error");
    check(err == GW_OK || strncmp(why.text, "fuzz:", 5) == 0,
          "import: no name in the sentence");
    if (plan)
        check_plan(plan);
    gw_plan_destroy(&plan);
    return 0;
}

#endif
