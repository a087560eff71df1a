/* SPDX-License-Identifier: MIT
 *
 * Reads and writes texts for programs as in the C locale, whatever locale the
 * process has: 1.5 has a point in Berlin, and MIB is MiB in Ankara, where the
 * lower case of I is a different letter.
 */
#ifndef GW__BASE_C_LOCALE_H
#define GW__BASE_C_LOCALE_H

#include <locale.h>

/* For strtod_l and similar functions, and for uselocale; it lives as long as
 * the process. Without memory it is the locale of the process. */
locale_t gw__c_locale(void);

#endif
