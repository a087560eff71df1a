/* SPDX-License-Identifier: MIT
 *
 * Telling what gw_notice_to (gradwire/base.h) has named.
 */
#ifndef GW__NOTICE_H
#define GW__NOTICE_H

#include <gradwire/base.h>

/* One sentence, from any thread. The library itself says each thing once. */
void gw__notice(const char *format, ...) GW_PRINTF(1, 2);

#endif
