/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the reader of GOAL (libFuzzer); see format.h:
 *
 *     ./fuzz_goal -max_len=4096 tests/formats
 */
#include "format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool goal = size > 1 && (data[0] == 'n' || data[0] == '/');
    return goal ? fuzz_format(data, size, "") : -1;
}
