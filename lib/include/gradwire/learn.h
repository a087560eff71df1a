/* SPDX-License-Identifier: MIT
 *
 * Models and data readers that the runs train.
 */
#ifndef GRADWIRE_LEARN_H
#define GRADWIRE_LEARN_H

#include <gradwire/base.h>

#endif
