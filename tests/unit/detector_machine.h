/* SPDX-License-Identifier: MIT
 *
 * A detector (cluster/detector/detector.h) that is a machine by itself, for the
 * simulator and the driver: START brings its configuration or nothing, ASKED a
 * struct detector_ask, and what it tells is a struct gw__notice.
 */
#ifndef TESTS_DETECTOR_MACHINE_H
#define TESTS_DETECTOR_MACHINE_H

#include <cluster/detector/detector.h>

struct detector_ask {
    bool stands; /* else: `view` */
    struct gw__view view;
    struct gw__standing standing;
};

extern const struct gw__machine_kind detector_machine;

#endif
