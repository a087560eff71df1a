/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the text form of topologies and its users (libFuzzer):
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_topology.c
 *     ./fuzz_topology -max_len=1024 labs/topologies
 *
 * A text is refused with a position, or it is a topology that prints to a text
 * which prints the same again, whose links and paths can be listed, and on
 * which a small plan runs to its end in virtual time or exceeds the limit of
 * time.
 */
#include <gradwire/topology.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RANKS_MAX = 24 };

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static char *print(const struct gw_topology *topology, size_t *bytes)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, bytes);
    check(file && gw_topology_print(topology, file, NULL) == GW_OK,
          "print: failed");
    fclose(file);
    return text;
}

static void print_and_parse(const struct gw_topology *topology)
{
    size_t bytes, bytes_again;
    struct gw_topology *again = NULL;
    struct gw_error why = {0};
    char *text = print(topology, &bytes);
    check(gw_topology_parse(text, bytes, "again", &again, &why) == GW_OK,
          why.text);
    char *text_again = print(again, &bytes_again);
    check(bytes == bytes_again && memcmp(text, text_again, bytes) == 0,
          "print: another topology");
    gw_topology_destroy(&again);
    free(text_again);
    free(text);
}

static void check_links(const struct gw_topology *topology, unsigned ranks)
{
    char name[64];
    uint64_t rate, latency_ns;
    for (unsigned i = 0; i < gw_topology_links(topology) && i < 256; i++)
        gw_topology_link_name(topology, i, name);
    for (unsigned src = 0; src < ranks; src++)
        gw_topology_path_sum(topology, src, (src + 1) % ranks, &rate,
                             &latency_ns);
}

static void simulate(const struct gw_topology *topology, unsigned ranks,
                     const char *algo)
{
    struct gw_plan *plan;
    struct gw_topology_result *result;
    struct gw_algo_args args = {.ranks = ranks};
    check(gw_plan_make(GW_ALLREDUCE, algo, &args, &plan, NULL) == GW_OK,
          "plan: failed");
    struct gw_topology_run simulation = {.plan = plan,
                                         .count = 1000,
                                         .elem_bytes = 4,
                                         .message_us = 1,
                                         .reduce_us_per_byte = 0.001};
    enum gw_err err =
        gw_topology_simulate(topology, &simulation, &result, NULL);
    check(err == GW_OK || err == GW_EINVAL, "simulate: another error");
    for (unsigned rank = 0; !err && rank < ranks; rank++)
        check(result->rank_us[rank] <= result->time_us,
              "simulate: a rank ends after the end");
    gw_topology_result_destroy(&result);
    gw_plan_destroy(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_topology *topology;
    struct gw_error why = {0};
    enum gw_err err =
        gw_topology_parse((const char *)data, size, "fuzz", &topology, &why);
    check((err == GW_OK) == (topology != NULL), "parse: topology and result");
    check(err == GW_OK || err == GW_EDATA, "parse: another error");
    check(err == GW_OK || strncmp(why.text, "fuzz:", 5) == 0,
          "parse: no place in the sentence");
    if (!topology)
        return 0;
    print_and_parse(topology);
    for (unsigned order = GW_ORDER_FILE; order <= GW_ORDER_INTERLEAVED;
         order++) {
        gw_topology_order(topology, (enum gw_rank_order)order);
        unsigned ranks = gw_topology_ranks(topology);
        check(ranks > 0, "order: no ranks");
        ranks = ranks < RANKS_MAX ? ranks : RANKS_MAX;
        check_links(topology, ranks);
        simulate(topology, ranks,
                 order == GW_ORDER_RACKS ? "ring" : "partitioned");
    }
    gw_topology_destroy(&topology);
    return 0;
}
