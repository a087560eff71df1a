/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the text form of plans and its users (libFuzzer):
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_plan.c
 *     ./fuzz_plan -max_len=2048 labs/plans
 *
 * The last byte is the caller's P. A text that is a plan must verify or be
 * refused without harm, have a price, and print to a text that parses to the
 * same plan.
 */
#include <gradwire/plan.h>
#include <plan/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small, so that the fuzzer spends its time on new texts. */
static const struct gw__text_limits limits = {
    .bytes = 1 << 16, .transfers = 5000, .work = 50000};
enum { CHUNKS_MAX = 1 << 12, RANKS_MAX = 1 << 9 };

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void verify(const struct gw_plan *plan)
{
    struct gw_verdict verdict;
    enum gw_err err = gw_plan_verify(plan, 2, &verdict, NULL);
    check(err == GW_OK || err == GW_EPLAN, "verify: neither right nor wrong");
    check((err == GW_OK) == (verdict.fault == GW_FAULT_NONE),
          "verify: fault and result disagree");
    check((err == GW_OK) == (*verdict.sentence == 0),
          "verify: sentence and result disagree");
}

static void price(const struct gw_plan *plan)
{
    static const struct gw_cost_model model = {1, 1, 1};
    struct gw_price price;
    check(gw_plan_price(plan, 1000, 4, &model, &price, NULL) == GW_OK,
          "price: failed");
    check(price.messages <= plan->transfer_count, "price: too many messages");
}

static void print_and_parse(const struct gw_plan *plan)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gw_plan *again = NULL;
    struct gw_error why = {0};
    FILE *file = open_memstream(&text, &bytes);
    check(file && gw_plan_print(plan, file, NULL) == GW_OK, "print: failed");
    fclose(file);
    enum gw_err err = gw_plan_parse(text, bytes, "again", 0, &again, &why);
    check(err == GW_OK, why.text);
    check(gw_plan_hash(plan) == gw_plan_hash(again) &&
              strcmp(plan->algo, again->algo) == 0,
          "print: another plan");
    gw_plan_destroy(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    if (size == 0)
        return 0;
    enum gw_err err =
        gw__plan_parse_within(&limits, (const char *)data, size, "fuzz",
                              data[size - 1] % 17, &plan, &why);
    check((err == GW_OK) == (plan != NULL), "parse: plan and result disagree");
    check(err == GW_OK || err == GW_EDATA, "parse: another error");
    check(err == GW_OK || strncmp(why.text, "fuzz:", 5) == 0,
          "parse: no place in the sentence");
    if (!plan)
        return 0;
    if (plan->ranks <= RANKS_MAX && plan->chunks <= CHUNKS_MAX) {
        verify(plan);
        price(plan);
    }
    print_and_parse(plan);
    gw_plan_destroy(&plan);
    return 0;
}
