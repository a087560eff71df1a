/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the unpacking of bundles: any bytes are refused, or the unpacked
 * messages are inside the bundle, one after the other.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_ps_bundle.c
 *
 * The magic number is correct if the input's first byte is odd.
 */
#include <ps/messages/bundle.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile unsigned sum; /* forces reads of all bytes */

static void free_message(struct gw__message_in *message)
{
    free((void *)(uintptr_t)message->parts[0].data);
    free(message);
}

static struct gw__message_in *message_of(const uint8_t *bytes, size_t size)
{
    static const uint8_t magic[4] = {'g', 'W', 'B', '1'};
    struct gw__message_in *message = calloc(1, sizeof *message);
    uint8_t *data = malloc(size + 1);
    if (!message || !data)
        abort();
    memcpy(data, bytes, size);
    if (size >= sizeof magic && bytes[0] % 2 == 1)
        memcpy(data, magic, sizeof magic);
    message->part_count = 1;
    message->parts[0] = (struct gw__messenger_part){data, size};
    message->free = free_message;
    atomic_init(&message->holds, 1);
    return message;
}

static unsigned sum_of(const struct gw__message_in *incoming)
{
    unsigned bytes = 0;
    for (unsigned p = 0; p < incoming->part_count; p++)
        for (size_t i = 0; i < incoming->parts[p].bytes; i++)
            bytes += ((const uint8_t *)incoming->parts[p].data)[i];
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gw__message_in *message = message_of(bytes, size);
    unsigned count;
    size_t at = 0;
    enum gw_err err = gw__bundle_check(message, &count, NULL);
    for (unsigned i = 0; !err && i < count; i++) {
        struct gw__message_in *incoming = gw__bundle_next(message, &at);
        if (!incoming)
            continue;
        sum += sum_of(incoming);
        gw__message_in_release(incoming);
    }
    if (!err && at != size && count > 0)
        abort();
    gw__message_in_release(message);
    return 0;
}
