/* SPDX-License-Identifier: MIT
 *
 * The format that slot_save.c and slot_load.c share.
 */
#ifndef GW__PS_SLOT_BYTES_H
#define GW__PS_SLOT_BYTES_H

#define GW__SAVED_MAGIC 0x32535767u /* "gWS2" */

#endif
