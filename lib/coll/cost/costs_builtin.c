/* SPDX-License-Identifier: MIT
 *
 * Coefficients for an unmeasured machine: the result of `collrun calibrate` on
 * two cores of an EPYC (Zen 5), Linux 6, libzmq 4.3. A smaller or larger
 * machine has others, but mostly the same fastest algorithms.
 */
#include "calibration.h"

#include <string.h>

static const struct {
    const char *wire, *ranks, *prices; /* in the format of the file */
} builtins[] = {
    {"shm", "2",
     "{\"call_us\":0.23,\"leave_us\":0.44,\"lend_us\":0.059,"
     "\"load_us_per_byte_128K\":2.7e-06,"
     "\"load_us_per_byte_16K\":8.6e-06,"
     "\"load_us_per_byte_256M\":4.6e-05,"
     "\"load_us_per_byte_2M\":5.8e-06,"
     "\"load_us_per_byte_32M\":1.4e-05,"
     "\"load_us_per_byte_512K\":3.7e-06,"
     "\"load_us_per_byte_64M\":1.9e-05,"
     "\"load_us_per_byte_8M\":8.6e-06,\"look_us\":0.05,"
     "\"meet_us\":0.0053,\"move_us_per_byte_128K\":6e-06,"
     "\"move_us_per_byte_16K\":2.1e-06,"
     "\"move_us_per_byte_256M\":5.2e-05,"
     "\"move_us_per_byte_2M\":4.7e-06,"
     "\"move_us_per_byte_32M\":9.4e-06,"
     "\"move_us_per_byte_512K\":5e-06,"
     "\"move_us_per_byte_64M\":2.5e-05,"
     "\"move_us_per_byte_8M\":6.7e-06,\"post_us\":0.13,\"slice_us\":3,"
     "\"turn_us\":0.12}"},
    {"shm", "4",
     "{\"call_us\":1.1,\"leave_us\":2.4,\"lend_us\":0.17,"
     "\"load_us_per_byte_128K\":7.7e-06,"
     "\"load_us_per_byte_16K\":1.9e-05,"
     "\"load_us_per_byte_256M\":3.8e-05,"
     "\"load_us_per_byte_2M\":7.2e-06,"
     "\"load_us_per_byte_32M\":1.7e-05,"
     "\"load_us_per_byte_512K\":5.6e-06,"
     "\"load_us_per_byte_64M\":1.9e-05,"
     "\"load_us_per_byte_8M\":1.1e-05,\"meet_us\":0.71,"
     "\"move_us_per_byte_128K\":1.1e-05,"
     "\"move_us_per_byte_16K\":2e-05,"
     "\"move_us_per_byte_256M\":4.5e-05,"
     "\"move_us_per_byte_2M\":9.6e-06,"
     "\"move_us_per_byte_32M\":1.5e-05,"
     "\"move_us_per_byte_512K\":8e-06,"
     "\"move_us_per_byte_64M\":4.5e-05,\"move_us_per_byte_8M\":1e-05,"
     "\"pass_post_us\":0.076,\"pass_us\":0.12,\"post_us\":0.12,"
     "\"slice_us\":0.2,\"turn_us\":0.82}"},
    {"shm", "8",
     "{\"call_us\":3.9,\"leave_us\":5.6,\"lend_us\":0.06,"
     "\"load_us_per_byte_128K\":1e-05,"
     "\"load_us_per_byte_16K\":1.6e-05,"
     "\"load_us_per_byte_256M\":2.3e-05,"
     "\"load_us_per_byte_2M\":8.8e-06,\"load_us_per_byte_32M\":2e-05,"
     "\"load_us_per_byte_512K\":5e-06,"
     "\"load_us_per_byte_64M\":2.3e-05,"
     "\"load_us_per_byte_8M\":1.1e-05,\"look_us\":0.052,\"meet_us\":1.1,"
     "\"move_us_per_byte_128K\":8.5e-06,"
     "\"move_us_per_byte_16K\":3.8e-06,"
     "\"move_us_per_byte_256M\":2e-05,\"move_us_per_byte_2M\":1.1e-05,"
     "\"move_us_per_byte_32M\":1.3e-05,"
     "\"move_us_per_byte_512K\":9.4e-06,"
     "\"move_us_per_byte_64M\":2e-05,\"move_us_per_byte_8M\":1e-05,"
     "\"pass_post_us\":0.048,\"post_us\":0.1,\"slice_us\":1.9,"
     "\"turn_us\":2}"},
    {"ipc", "2",
     "{\"add_us_per_byte\":4e-06,\"call_us\":0.32,"
     "\"carry_us_per_byte_128K\":0.00015,"
     "\"carry_us_per_byte_1M\":1.4e-05,\"memory_us_per_byte\":1.4e-06,"
     "\"path_us_per_byte_128K\":3.6e-05,"
     "\"path_us_per_byte_1K\":0.0002,\"path_us_per_byte_1M\":8.2e-05,"
     "\"path_us_per_byte_32K\":0.00018,"
     "\"path_us_per_byte_8K\":0.00027,\"post_us\":1.2,\"slice_us\":35,"
     "\"wake_us\":6.4}"},
    {"ipc", "4",
     "{\"add_us_per_byte\":4.4e-07,\"call_us\":0.36,"
     "\"carry_us_per_byte_128K\":4.5e-05,"
     "\"carry_us_per_byte_1K\":1.8e-05,"
     "\"carry_us_per_byte_1M\":8.5e-05,"
     "\"carry_us_per_byte_32K\":8.3e-05,"
     "\"carry_us_per_byte_8K\":4.9e-05,\"memory_us_per_byte\":9.2e-07,"
     "\"path_us_per_byte_128K\":0.00017,"
     "\"path_us_per_byte_1K\":9.4e-05,\"path_us_per_byte_1M\":4.2e-05,"
     "\"path_us_per_byte_32K\":0.00017,"
     "\"path_us_per_byte_8K\":0.00036,\"post_us\":1.6,\"slice_us\":73,"
     "\"turn_us\":14,\"wake_us\":2.4}"},
    {"ipc", "8",
     "{\"call_us\":0.63,\"carry_us_per_byte_128K\":0.00012,"
     "\"carry_us_per_byte_1K\":0.00016,"
     "\"carry_us_per_byte_1M\":0.00019,"
     "\"carry_us_per_byte_32K\":0.00015,"
     "\"carry_us_per_byte_8K\":4.5e-05,\"memory_us_per_byte\":1.6e-05,"
     "\"path_us_per_byte_128K\":0.00015,"
     "\"path_us_per_byte_1K\":0.00018,\"path_us_per_byte_1M\":1.5e-05,"
     "\"path_us_per_byte_32K\":0.0001,\"path_us_per_byte_8K\":0.00016,"
     "\"post_us\":0.064,\"slice_us\":35,\"turn_us\":20,\"wake_us\":5.1}"},
    {"tcp", "2",
     "{\"call_us\":0.38,\"carry_us_per_byte_128K\":6.9e-05,"
     "\"carry_us_per_byte_1M\":9.4e-05,"
     "\"carry_us_per_byte_32K\":5.2e-05,"
     "\"carry_us_per_byte_8K\":0.00061,\"memory_us_per_byte\":2.9e-06,"
     "\"path_us_per_byte_128K\":6.3e-05,"
     "\"path_us_per_byte_1K\":0.00022,\"path_us_per_byte_1M\":2.7e-05,"
     "\"path_us_per_byte_32K\":0.00012,\"post_us\":1.2,\"slice_us\":32,"
     "\"turn_us\":7.2}"},
    {"tcp", "4",
     "{\"carry_us_per_byte_128K\":0.00011,"
     "\"carry_us_per_byte_1K\":0.00059,"
     "\"carry_us_per_byte_1M\":0.00013,"
     "\"carry_us_per_byte_32K\":0.00021,"
     "\"carry_us_per_byte_8K\":0.00011,\"memory_us_per_byte\":3.9e-06,"
     "\"path_us_per_byte_128K\":0.0002,"
     "\"path_us_per_byte_1M\":7.1e-05,"
     "\"path_us_per_byte_32K\":0.00016,"
     "\"path_us_per_byte_8K\":0.00088,\"post_us\":0.32,\"slice_us\":40,"
     "\"turn_us\":19,\"wake_us\":8}"},
    {"tcp", "8",
     "{\"add_us_per_byte\":1.7e-05,\"call_us\":0.52,"
     "\"carry_us_per_byte_128K\":0.00017,"
     "\"carry_us_per_byte_1K\":5.5e-05,"
     "\"carry_us_per_byte_1M\":0.00021,"
     "\"carry_us_per_byte_32K\":0.00019,"
     "\"carry_us_per_byte_8K\":0.00014,\"memory_us_per_byte\":7.7e-06,"
     "\"path_us_per_byte_128K\":3.2e-05,"
     "\"path_us_per_byte_1K\":0.00051,\"path_us_per_byte_1M\":2.7e-05,"
     "\"path_us_per_byte_32K\":8.3e-05,"
     "\"path_us_per_byte_8K\":4.4e-05,\"post_us\":0.074,"
     "\"slice_us\":9.6,\"turn_us\":23,\"wake_us\":6}"},
};

json_t *gw__builtin_prices(const char *wire)
{
    json_t *entry = json_object(), *ranks = json_object();
    for (unsigned i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].wire, wire) == 0)
            json_object_set_new(ranks, builtins[i].ranks,
                                json_loads(builtins[i].prices, 0, NULL));
    json_object_set_new(entry, "ranks", ranks);
    return entry;
}
