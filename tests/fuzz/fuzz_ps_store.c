/* SPDX-License-Identifier: MIT
 *
 * Fuzzes gw__store_load: any bytes are either refused and leave the store
 * unchanged, or equal those that the store then saves. A second try corrects
 * head and checksum, so that the fuzzer reaches the rows.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_ps_store.c
 */
#include <ps/store/store_parts.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static struct gw__store *make(uint32_t dense)
{
    struct gw_ps_table_config config = {.name = "fuzz",
                                        .width = 2,
                                        .updater = GW_PS_ADAGRAD,
                                        .rate = 0.1F,
                                        .epsilon = 0.1F};
    struct gw__updater updater;
    struct gw__store *store;
    expect(gw__updater_init(&updater, &config, NULL, NULL, 0, NULL) == GW_OK);
    expect(gw__store_new(&updater, 0, dense, &store, NULL) == GW_OK);
    return store;
}

static void try_load(uint32_t dense, const uint8_t *bytes, size_t size)
{
    struct gw__store *store = make(dense);
    struct gw_error why = {.code = GW_OK};
    uint64_t digest = gw__store_digest(store);
    if (gw__store_load(store, bytes, size, &why) != GW_OK) {
        expect(why.code == GW_EDATA && why.text[0]);
        expect(gw__store_digest(store) == digest);
        expect(gw__store_rows(store) == dense);
    } else {
        uint8_t *saved = malloc(size);
        expect(saved && gw__store_save(store, saved, size) == size);
        expect(memcmp(saved, bytes, size) == 0);
        free(saved);
    }
    gw__store_destroy(&store);
}

/* With a correct checksum. */
static void try_sealed(uint32_t dense, const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size);
    expect(copy != NULL);
    memcpy(copy, bytes, size);
    gw__store_seal(copy, size);
    try_load(dense, copy, size);
    free(copy);
}

/* The input as keys and rows after a head that fits them. */
static void try_body(const uint8_t *bytes, size_t size)
{
    struct gw__store *store = make(0);
    struct gw__store_head head;
    size_t row = sizeof(uint64_t) + 4 * sizeof(float);
    expect(gw__store_save(store, &head, sizeof head) == sizeof head);
    head.rows = (uint32_t)(size / row);
    size_t whole = sizeof head + head.rows * row;
    uint8_t *data = malloc(whole);
    expect(data != NULL);
    memcpy(data, &head, sizeof head);
    memcpy(data + sizeof head, bytes, whole - sizeof head);
    gw__store_seal(data, whole);
    try_load(0, data, whole);
    free(data);
    gw__store_destroy(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint32_t dense[] = {0, 3};
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++) {
        try_load(dense[i], bytes, size);
        if (size >= sizeof(struct gw__store_head))
            try_sealed(dense[i], bytes, size);
    }
    try_body(bytes, size);
    return 0;
}
