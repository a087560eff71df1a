/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the text form of fault schedules (libFuzzer):
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_faults.c
 *     ./fuzz_faults -max_len=1024
 *
 * The first byte is the number of nodes. A text is refused with a position, or
 * it is a schedule whose printed form reads back equal, and under which a small
 * network runs without harm.
 */
#include <sim/sim.h>

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

/* Forwards the message, sets a timer and writes to disk. */
static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    void *driver = actions->driver;
    uint32_t *self = state;
    if (input->kind == GW__START)
        *self = input->from;
    actions->persist(driver, *self, self, sizeof *self);
    actions->set_timer(driver, *self, input->now_ns + 10000000);
    if (input->kind != GW__MESSAGE)
        actions->send(driver, *self / 2, self, sizeof *self);
}

static void run(const struct gw__faults *faults, unsigned nodes)
{
    static const struct gw__machine_kind kind = {"any", 4, step};
    static const struct gw__sim_options options = {
        .observers = {{{1}}, {{2}}, {{3}}}, .inputs_most = 2000};
    const struct gw__machine_kind *kinds[GW__NODES_MAX];
    struct gw__sim *sim;
    for (unsigned i = 0; i < nodes; i++)
        kinds[i] = &kind;
    check(gw__sim_new(kinds, nodes, &options, &sim, NULL) == GW_OK, "new");
    check(gw__sim_add_faults(sim, faults->items, faults->count, NULL) == GW_OK,
          "add");
    enum gw_err err = gw__sim_run_until(sim, NULL, GW__FAULT_NS_MAX, NULL);
    check(err == GW_OK || err == GW_EWRONG, "run: another error");
    gw__sim_destroy(&sim);
}

static void print_and_parse(const struct gw__faults *faults, unsigned nodes)
{
    static struct gw__faults again;
    struct gw_error why = {0};
    for (size_t i = 0; i < faults->count; i++) {
        char text[GW__FAULT_TEXT_MAX], twice[GW__FAULT_TEXT_MAX];
        gw__fault_format(&faults->items[i], text);
        check(gw__faults_parse(text, strlen(text), "again", nodes, &again,
                               &why) == GW_OK,
              why.text);
        check(again.count == 1, "print: not one fault");
        gw__fault_format(&again.items[0], twice);
        check(strcmp(text, twice) == 0, "print: another fault");
        check(gw__nodes_equal(again.items[0].nodes, faults->items[i].nodes) &&
                  again.items[0].at_ns == faults->items[i].at_ns &&
                  again.items[0].for_ns == faults->items[i].for_ns,
              "print: other values");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gw__faults faults;
    struct gw_error why = {0};
    if (size == 0)
        return 0;
    unsigned nodes = 1 + data[0] % GW__NODES_MAX;
    enum gw_err err = gw__faults_parse((const char *)data + 1, size - 1, "fuzz",
                                       nodes, &faults, &why);
    check(err == GW_OK || err == GW_EDATA, "parse: another error");
    check(err == GW_OK || strncmp(why.text, "fuzz:", 5) == 0,
          "parse: no place in the sentence");
    check(err == GW_OK || faults.count == 0, "parse: faults in spite of all");
    if (err)
        return 0;
    print_and_parse(&faults, nodes);
    run(&faults, nodes);
    return 0;
}
