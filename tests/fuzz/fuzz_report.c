/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the frames that ranks write to the supervisor of a command, over the
 * network for ranks of another launcher. For any bytes in any pieces, they are
 * refused with an error or are frames inside the received data, and no more
 * memory is used than the largest frame needs.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_report.c
 *
 * The first byte is the length of the pieces.
 */
#include "common/launch/launch_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile unsigned sum; /* forces reads of all bytes */

static void expect(bool holds)
{
    if (!holds)
        abort();
}

/* Reads all complete frames; false: the data is invalid. */
static bool read_frames(struct frames *frames, size_t *read_bytes)
{
    struct frame frame;
    struct gw_error why = {.code = GW_OK};
    enum gw_err err;
    while ((err = frames_next(frames, &frame, &why)) == GW_OK) {
        expect(frame.bytes <= FRAME_BYTES_MAX);
        for (uint32_t i = 0; i < frame.bytes; i++)
            sum += frame.data[i];
        *read_bytes += FRAME_HEAD_BYTES + frame.bytes;
    }
    expect(err == GW_PENDING || (err == GW_EDATA && why.text[0]));
    return err == GW_PENDING;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct frames frames = {0};
    size_t chunk = size > 0 ? 1U + bytes[0] : 1, at = 1, read_bytes = 0;
    int ends[2];
    bool good = true;
    expect(pipe(ends) == 0);
    while (good && at < size) {
        size_t some = chunk < size - at ? chunk : size - at;
        expect(write(ends[1], bytes + at, some) == (ssize_t)some);
        expect(frames_pull(&frames, ends[0], NULL) == GW_OK);
        at += some;
        good = read_frames(&frames, &read_bytes);
        expect(frames.capacity <= FRAME_HEAD_BYTES + FRAME_BYTES_MAX);
        expect(read_bytes < at);
    }
    frames_fini(&frames);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
