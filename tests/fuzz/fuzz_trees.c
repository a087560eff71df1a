/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the reader of ForestColl's trees (libFuzzer); see format.h:
 *
 *     ./fuzz_trees -max_len=4096 tests/formats
 */
#include "format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_format(data, size, "<trees");
}
