/* SPDX-License-Identifier: MIT
 *
 * Texts for programs are read and written as in C, whatever locale the process
 * has chosen: 1.5 has a point in Berlin, and MIB is MiB in Ankara, where the
 * small letter of I is another.
 */
#ifndef GW__BASE_C_LOCALE_H
#define GW__BASE_C_LOCALE_H

#include <locale.h>

/* For strtod_l and its kin, and for uselocale; lives as long as the process.
 * Where there is no memory for it: that of the process. */
locale_t gw__c_locale(void);

#endif
