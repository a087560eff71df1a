/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the reader of SCCL's algorithms (libFuzzer); see format.h:
 *
 *     ./fuzz_sccl -max_len=4096 tests/formats
 */
#include "format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_format(data, size, "{\"msccl_type\"");
}
