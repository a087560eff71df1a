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
     "{\"call_us\":0.23,\"leave_us\":0.44,\"borrow_us\":0.059,"
     "\"load_us_per_byte_128K\":2.7e-06,"
     "\"load_us_per_byte_16K\":8.6e-06,"
     "\"load_us_per_byte_256M\":4.6e-05,"
     "\"load_us_per_byte_2M\":5.8e-06,"
     "\"load_us_per_byte_32M\":1.4e-05,"
     "\"load_us_per_byte_512K\":3.7e-06,"
     "\"load_us_per_byte_64M\":1.9e-05,"
     "\"load_us_per_byte_8M\":8.6e-06,\"poll_us\":0.05,"
     "\"rendezvous_us\":0.0053,\"move_us_per_byte_128K\":6e-06,"
     "\"move_us_per_byte_16K\":2.1e-06,"
     "\"move_us_per_byte_256M\":5.2e-05,"
     "\"move_us_per_byte_2M\":4.7e-06,"
     "\"move_us_per_byte_32M\":9.4e-06,"
     "\"move_us_per_byte_512K\":5e-06,"
     "\"move_us_per_byte_64M\":2.5e-05,"
     "\"move_us_per_byte_8M\":6.7e-06,\"post_us\":0.13,\"slice_us\":3,"
     "\"turn_us\":0.12}"},
    {"shm", "4",
     "{\"call_us\":1.1,\"leave_us\":2.4,\"borrow_us\":0.17,"
     "\"load_us_per_byte_128K\":7.7e-06,"
     "\"load_us_per_byte_16K\":1.9e-05,"
     "\"load_us_per_byte_256M\":3.8e-05,"
     "\"load_us_per_byte_2M\":7.2e-06,"
     "\"load_us_per_byte_32M\":1.7e-05,"
     "\"load_us_per_byte_512K\":5.6e-06,"
     "\"load_us_per_byte_64M\":1.9e-05,"
     "\"load_us_per_byte_8M\":1.1e-05,\"rendezvous_us\":0.71,"
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
     "{\"call_us\":3.9,\"leave_us\":5.6,\"borrow_us\":0.06,"
     "\"load_us_per_byte_128K\":1e-05,"
     "\"load_us_per_byte_16K\":1.6e-05,"
     "\"load_us_per_byte_256M\":2.3e-05,"
     "\"load_us_per_byte_2M\":8.8e-06,\"load_us_per_byte_32M\":2e-05,"
     "\"load_us_per_byte_512K\":5e-06,"
     "\"load_us_per_byte_64M\":2.3e-05,"
     "\"load_us_per_byte_8M\":1.1e-05,\"poll_us\":0.052,\"rendezvous_us\":1.1,"
     "\"move_us_per_byte_128K\":8.5e-06,"
     "\"move_us_per_byte_16K\":3.8e-06,"
     "\"move_us_per_byte_256M\":2e-05,\"move_us_per_byte_2M\":1.1e-05,"
     "\"move_us_per_byte_32M\":1.3e-05,"
     "\"move_us_per_byte_512K\":9.4e-06,"
     "\"move_us_per_byte_64M\":2e-05,\"move_us_per_byte_8M\":1e-05,"
     "\"pass_post_us\":0.048,\"post_us\":0.1,\"slice_us\":1.9,"
     "\"turn_us\":2}"},
    {"ipc", "2",
     "{\"add_us_per_byte\":7.3e-07,\"call_us\":0.5,"
     "\"carry_us_per_byte_128K\":3.8e-05,"
     "\"carry_us_per_byte_1K\":0.00067,\"carry_us_per_byte_1M\":0.00011,"
     "\"memory_us_per_byte\":5.2e-06,\"path_us_per_byte_128K\":0.0001,"
     "\"path_us_per_byte_1M\":4e-05,\"path_us_per_byte_32K\":0.00011,"
     "\"path_us_per_byte_8K\":0.00018,\"post_us\":2.6,\"slice_us\":54.0,"
     "\"turn_us\":1.4}"},
    {"ipc", "4",
     "{\"add_us_per_byte\":4.3e-05,\"call_us\":1.7,"
     "\"carry_us_per_byte_128K\":0.00012,"
     "\"carry_us_per_byte_1M\":0.00014,"
     "\"carry_us_per_byte_32K\":0.00012,"
     "\"carry_us_per_byte_8K\":0.00017,\"memory_us_per_byte\":1.1e-05,"
     "\"path_us_per_byte_128K\":0.00019,\"path_us_per_byte_1K\":0.00036,"
     "\"path_us_per_byte_1M\":6.6e-05,\"path_us_per_byte_32K\":0.00012,"
     "\"path_us_per_byte_8K\":0.00019,\"post_us\":1.2,"
     "\"slice_us\":110.0,\"turn_us\":6.7,\"wake_us\":1.8}"},
    {"ipc", "8",
     "{\"add_us_per_byte\":7.3e-05,\"call_us\":0.89,"
     "\"carry_us_per_byte_128K\":0.00016,"
     "\"carry_us_per_byte_1M\":0.00027,"
     "\"carry_us_per_byte_32K\":0.00011,"
     "\"carry_us_per_byte_8K\":0.00016,"
     "\"path_us_per_byte_128K\":7.4e-05,\"path_us_per_byte_1K\":0.0006,"
     "\"path_us_per_byte_1M\":5.4e-05,\"path_us_per_byte_32K\":6.2e-05,"
     "\"path_us_per_byte_8K\":0.00015,\"post_us\":0.66,\"slice_us\":7.5,"
     "\"turn_us\":19.0,\"wake_us\":3.6}"},
    {"tcp", "2",
     "{\"call_us\":1.4,\"carry_us_per_byte_128K\":0.00012,"
     "\"carry_us_per_byte_1M\":0.00031,"
     "\"carry_us_per_byte_32K\":1.4e-05,\"memory_us_per_byte\":3.4e-05,"
     "\"path_us_per_byte_128K\":0.00012,\"path_us_per_byte_1K\":0.00023,"
     "\"path_us_per_byte_32K\":0.00018,\"path_us_per_byte_8K\":0.00023,"
     "\"post_us\":6.9,\"slice_us\":50.0}"},
    {"tcp", "4",
     "{\"add_us_per_byte\":1e-05,\"call_us\":0.37,"
     "\"carry_us_per_byte_128K\":0.00025,"
     "\"carry_us_per_byte_1M\":0.00025,\"memory_us_per_byte\":9.3e-06,"
     "\"path_us_per_byte_128K\":0.00012,\"path_us_per_byte_1K\":0.0012,"
     "\"path_us_per_byte_1M\":7.6e-05,\"path_us_per_byte_32K\":0.00038,"
     "\"path_us_per_byte_8K\":9.3e-05,\"post_us\":3.8,"
     "\"slice_us\":120.0,\"turn_us\":12.0,\"wake_us\":3.3}"},
    {"tcp", "8",
     "{\"add_us_per_byte\":2.3e-05,\"carry_us_per_byte_128K\":0.00025,"
     "\"carry_us_per_byte_1M\":0.00035,"
     "\"carry_us_per_byte_32K\":4.3e-05,\"memory_us_per_byte\":2.7e-05,"
     "\"path_us_per_byte_128K\":9.9e-05,\"path_us_per_byte_1K\":0.0023,"
     "\"path_us_per_byte_1M\":0.00016,\"path_us_per_byte_32K\":0.00018,"
     "\"path_us_per_byte_8K\":0.00049,\"post_us\":1.8,\"slice_us\":12.0,"
     "\"turn_us\":27.0,\"wake_us\":7.1}"},
    {"zmq", "2",
     "{\"carry_us_per_byte_1K\":0.0036,\"carry_us_per_byte_1M\":0.00035,"
     "\"memory_us_per_byte\":4.5e-05,\"path_us_per_byte_128K\":0.00024,"
     "\"path_us_per_byte_32K\":0.00043,\"path_us_per_byte_8K\":0.00077,"
     "\"post_us\":1.1,\"slice_us\":25.0,\"turn_us\":45.0,"
     "\"wake_us\":8.6}"},
    {"zmq", "4",
     "{\"call_us\":0.52,\"carry_us_per_byte_1K\":5.8e-05,"
     "\"carry_us_per_byte_1M\":0.00043,"
     "\"carry_us_per_byte_32K\":0.00062,\"memory_us_per_byte\":3.8e-06,"
     "\"path_us_per_byte_128K\":0.00085,\"path_us_per_byte_1K\":0.0011,"
     "\"path_us_per_byte_1M\":0.00022,\"path_us_per_byte_32K\":0.00067,"
     "\"path_us_per_byte_8K\":0.0027,\"post_us\":0.36,\"slice_us\":8.9,"
     "\"turn_us\":59.0,\"wake_us\":13.0}"},
    {"zmq", "8",
     "{\"carry_us_per_byte_128K\":0.00038,"
     "\"carry_us_per_byte_1M\":0.00042,"
     "\"carry_us_per_byte_32K\":0.00034,"
     "\"carry_us_per_byte_8K\":0.00079,"
     "\"path_us_per_byte_128K\":0.00042,\"path_us_per_byte_1K\":0.0025,"
     "\"path_us_per_byte_1M\":7e-05,\"path_us_per_byte_32K\":0.0012,"
     "\"path_us_per_byte_8K\":0.0013,\"post_us\":0.42,\"slice_us\":58.0,"
     "\"turn_us\":80.0,\"wake_us\":16.0}"},
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
