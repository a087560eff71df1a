/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Handing over to ringtop, the live view.
 */
#ifndef VIEW_RUN_H
#define VIEW_RUN_H

/* Runs ringtop, the one beside this program or else in $PATH, with `words`
 * (NULL-terminated, the first of them "ringtop"); returns its exit status. */
int view_run(char *const *words);

#endif
