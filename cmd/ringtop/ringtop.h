/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one command of ringtop, which is the tool itself.
 */
#ifndef RINGTOP_H
#define RINGTOP_H

#include "common/command.h"

extern const struct command command_top;

#endif
