/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the headers of the messenger's messages. Any bytes are either refused
 * with an error or valid.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_messenger.c
 */
#include <wire/messenger/messenger_frame.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const struct gw__messenger_head mine = {
    .to = 1, .token = 7, .to_high = 2, .to_low = 3};

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void try_head(const uint8_t *bytes, size_t size)
{
    uint8_t again[sizeof(struct gw__messenger_head)];
    struct gw__messenger_head head;
    struct gw_error why = {.code = GW_OK};
    if (gw__messenger_head_read(bytes, size, &mine, &head, &why)) {
        expect(why.code == GW_EDATA && why.text[0]);
        return;
    }
    expect(size == sizeof head);
    expect(head.from < GW__MESSENGER_NODES && head.from != mine.to);
    expect(head.to == mine.to && head.token == mine.token);
    expect(head.to_high == mine.to_high && head.to_low == mine.to_low);
    expect(head.part_count >= 1 && head.part_count <= GW__MESSENGER_PARTS);
    for (unsigned i = head.part_count; i < GW__MESSENGER_PARTS; i++)
        expect(head.bytes[i] == 0);
    gw__messenger_head_seal(&head, again);
    expect(memcmp(again, bytes, size) == 0);
}

/* A header of the right sender, with some of the input's bytes. */
static void try_addressed(const uint8_t *bytes, size_t size)
{
    struct gw__messenger_head head;
    uint8_t frame[sizeof head];
    if (size < sizeof head)
        return;
    memcpy(&head, bytes, sizeof head);
    uint8_t kept = bytes[0]; /* fields that keep the input's bytes */
    head.from = kept & 1 ? head.from : head.from % GW__MESSENGER_NODES;
    head.to = kept & 2 ? head.to : mine.to;
    head.token = kept & 4 ? head.token : mine.token;
    head.to_high = kept & 8 ? head.to_high : mine.to_high;
    head.to_low = kept & 8 ? head.to_low : mine.to_low;
    if (!(kept & 16)) {
        head.part_count = head.part_count % GW__MESSENGER_PARTS + 1;
        for (unsigned i = head.part_count; i < GW__MESSENGER_PARTS; i++)
            head.bytes[i] = 0;
    }
    gw__messenger_head_seal(&head, frame);
    try_head(frame, sizeof frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    try_head(bytes, size);
    try_addressed(bytes, size);
    return 0;
}
