/* SPDX-License-Identifier: MIT
 *
 * A detector (cluster/detector/detector.h) as a machine of its own, for the
 * simulator and the driver. START passes its configuration or nothing, ASKED a
 * struct detector_command, and its reports are struct gw__notice.
 */
#ifndef TESTS_DETECTOR_MACHINE_H
#define TESTS_DETECTOR_MACHINE_H

#include <cluster/detector/detector.h>

struct detector_command {
    bool stands; /* else: `view` */
    struct gw__view view;
    struct gw__progress_report report;
};

extern const struct gw__machine_kind detector_machine;

#endif
