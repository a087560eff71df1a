/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the text form of networks (libFuzzer):
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_network.c
 *     ./fuzz_network -max_len=1024
 *
 * A text is refused with a position, or it is a network whose printed form
 * reads back and prints the same. A layout of it, on a mesh chosen by the
 * text's hash, is refused with an error, or its pieces cover the network and no
 * operator takes summands.
 */
#include <gradwire/layout.h>

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

static char *printed(const struct gw_network *network, size_t *bytes)
{
    char *text = NULL;
    FILE *output = open_memstream(&text, bytes);
    check(output && gw_network_print(network, output, NULL) == GW_OK,
          "no page");
    fclose(output);
    return text;
}

static void check_text(const struct gw_network *network)
{
    size_t bytes, bytes_again;
    struct gw_network *again;
    char *text = printed(network, &bytes);
    check(gw_network_parse(text, bytes, "again", &again, NULL) == GW_OK,
          "what is printed does not read back");
    char *text_again = printed(again, &bytes_again);
    check(bytes == bytes_again && memcmp(text, text_again, bytes) == 0,
          "it reads back as something else");
    free(text);
    free(text_again);
    gw_network_destroy(&again);
}

static void check_layout(const struct gw_layout *layout)
{
    struct gw_layout_price price;
    check(layout->virtual_begin[0] == 0 &&
              layout->virtual_begin[layout->virtual_stages] ==
                  layout->operator_count,
          "pieces leave operators out");
    for (unsigned p = 0; p < layout->virtual_stages; p++)
        check(layout->virtual_begin[p] < layout->virtual_begin[p + 1],
              "an empty piece");
    for (unsigned i = 0; i < layout->operator_count; i++) {
        const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
        check(op_layout->split != GW_SPLIT_AUTO, "a split is left open");
        check(op_layout->in != GW_PARTIAL && op_layout->grad_out != GW_PARTIAL,
              "an operator takes summands");
        check(op_layout->forward.needed ==
                      (op_layout->forward.from != op_layout->forward.to) &&
                  op_layout->backward.needed ==
                      (op_layout->backward.from != op_layout->backward.to),
              "a conversion of nothing");
    }
    for (unsigned s = 0; s < layout->options.mesh.pipe; s++)
        gw_layout_price(layout, s, &price);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_network *network;
    struct gw_layout *layout;
    struct gw_error why = {0};
    uint64_t hash = gw_hash(data, size, 0);
    struct gw_layout_options options = {
        .mesh = {1 + hash % 8, 1 + hash / 8 % 8, 1 + hash / 64 % 8},
        .mode = (enum gw_data_mode)(hash / 512 % 3),
        .shard_group = hash / 2048 % 4,
        .micros = hash / 8192 % 4,
        .chunks = hash / 32768 % 4,
        .batch = 3360,
    };
    if (gw_network_parse((const char *)data, size, "t", &network, &why)) {
        check(why.code == GW_EDATA && strncmp(why.text, "t:", 2) == 0,
              "refused without a place");
        return 0;
    }
    check_text(network);
    if (gw_layout_new(network, &options, &layout, &why) == GW_OK)
        check_layout(layout);
    else
        check(why.code == GW_EINVAL && why.text[0], "refused without a word");
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
    return 0;
}
