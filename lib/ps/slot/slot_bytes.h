/* SPDX-License-Identifier: MIT
 *
 * Between slot_save.c and slot_load.c.
 */
#ifndef GW__PS_SLOT_BYTES_H
#define GW__PS_SLOT_BYTES_H

#define GW__SAVED_MAGIC 0x31535767u /* "gWS1" */

#endif
