/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the messages of the control channel and the endpoints that peers
 * report. Any bytes are either refused with an error or valid.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...
 *     tests/fuzz/fuzz_control_channel.c
 */
#include <wire/control_channel/control_channel_parts.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { NODE = 1, TOKEN = 7 };

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void try_frame(const uint8_t *bytes, size_t size)
{
    static uint8_t again[GW__CONTROL_CHANNEL_FRAME_BULK];
    struct gw__control_channel_head head;
    struct gw_error why = {.code = GW_OK};
    if (gw__control_channel_frame_read(bytes, size, NODE, TOKEN, &head, &why)) {
        expect(why.code == GW_EDATA && why.text[0]);
        return;
    }
    expect(head.from < GW__CONTROL_CHANNEL_NODES && head.from != NODE);
    expect(head.to == NODE && head.token == TOKEN);
    expect(size >= sizeof head && size <= GW__CONTROL_CHANNEL_FRAME_BULK);
    gw__control_channel_frame_seal(&head, bytes + sizeof head,
                                   size - sizeof head, again);
    expect(memcmp(again, bytes, size) == 0);
}

/* A header of the right sender, with some of the input's bytes. */
static void try_addressed(const uint8_t *bytes, size_t size)
{
    struct gw__control_channel_head head;
    uint8_t *copy = malloc(size);
    if (copy && size >= sizeof head) {
        memcpy(&head, bytes, sizeof head);
        head.from %= GW__CONTROL_CHANNEL_NODES;
        head.to = bytes[6] % 2 ? NODE : head.to;
        head.token = bytes[7] % 2 ? TOKEN : head.token;
        gw__control_channel_frame_seal(&head, bytes + sizeof head,
                                       size - sizeof head, copy);
        try_frame(copy, size);
    }
    free(copy);
}

static void try_endpoint(const uint8_t *bytes, size_t size, const char *prefix)
{
    char endpoint[2 * GW__CONTROL_CHANNEL_ENDPOINT_MAX] = "";
    struct gw_error why = {.code = GW_OK};
    size_t head = strlen(prefix);
    memcpy(endpoint, prefix, head);
    memcpy(endpoint + head, bytes,
           size < sizeof endpoint - head ? size : sizeof endpoint - head - 1);
    if (gw__control_channel_check_endpoint(endpoint, &why)) {
        expect(why.code == GW_EINVAL && why.text[0]);
        return;
    }
    expect(strlen(endpoint) < GW__CONTROL_CHANNEL_ENDPOINT_MAX);
    expect(strpbrk(endpoint, " \t\r\n") == NULL);
    expect(strncmp(endpoint, "ipc://@", 7) == 0 ||
           (strncmp(endpoint, "tcp://", 6) == 0 && !strpbrk(endpoint, "*;@")));
    expect(gw__control_channel_check_listen(endpoint, true, NULL) == GW_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    try_frame(bytes, size);
    try_addressed(bytes, size);
    try_endpoint(bytes, size, "");
    try_endpoint(bytes, size, "ipc://@");
    try_endpoint(bytes, size, "tcp://127.0.0.1:");
    try_endpoint(bytes, size, "tcp://");
    return 0;
}
