/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `psnode train linear -`: rows on standard input. A thread of this command
 * writes them into a new folder as they arrive, from which the workers read
 * them (learn/row_stream.h).
 */
#ifndef PSNODE_TRAIN_STREAM_H
#define PSNODE_TRAIN_STREAM_H

#include <gradwire/gradwire.h>

/* Makes the folder, and the files in it; *folder lives as long as the process.
 */
GW_MUST_CHECK enum gw_err train_stream_open(const char **folder,
                                            struct gw_error *why);
/* Begins to read; does nothing when no stream is open. */
GW_MUST_CHECK enum gw_err train_stream_begin(struct gw_error *why);
/* Stops reading, and removes the folder. */
void train_stream_end(void);

#endif
