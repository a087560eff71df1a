/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the calibration file, which has the costs of wires on this machine and
 * the rules of `collrun tune`. For any content, each wire has finite costs, and
 * each call has an algorithm that supports it.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... \
 *         tests/fuzz/fuzz_calibration.c
 */
#include <gradwire/coll.h>
#include <gradwire/plan.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

/* An unnamed file; the variable has its path. */
static void write_file(const uint8_t *bytes, size_t size)
{
    static int fd = -1;
    char path[64];
    if (fd < 0) {
        fd = memfd_create("calibration", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        setenv("GRADWIRE_CALIBRATION", path, 1);
    }
    expect(ftruncate(fd, 0) == 0 &&
           pwrite(fd, bytes, size, 0) == (ssize_t)size);
}

static void try_wire(const char *wire, unsigned ranks)
{
    enum { MOST = 64 };
    struct gw_wire_costs costs;
    struct gw_candidate candidates[MOST];
    bool measured;
    gw_costs_among(wire, ranks, &costs, &measured);
    expect(isfinite(costs.memory_us_per_byte) &&
           isfinite(costs.cached_us_per_byte) && costs.cores > 0);
    for (enum gw_collective c = 0; c < GW_CUSTOM; c++) {
        size_t count = gw_choose(wire, c, ranks, 1000, 4, candidates, MOST);
        expect(count > 0 && candidates[0].algo);
        for (size_t i = 0; i < count && i < MOST; i++)
            expect(!isnan(candidates[i].predicted_us));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    write_file(bytes, size);
    try_wire("shm", 2 + (unsigned)size % 3);
    try_wire("tcp", 4);
    return 0;
}
