/* SPDX-License-Identifier: MIT
 *
 * Sends notices to the handler set by gw_notice_to (gradwire/base.h).
 */
#ifndef GW__NOTICE_H
#define GW__NOTICE_H

#include <gradwire/base.h>

/* One sentence, from any thread. The library reports each fact once. */
void gw__notice(const char *format, ...) GW_PRINTF(1, 2);

#endif
