/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running ringtop, the live view.
 */
#ifndef VIEW_RUN_H
#define VIEW_RUN_H

/* Runs ringtop, from this program's directory or else from $PATH, with `words`
 * (NULL-terminated, the first of them "ringtop"); returns its exit status. */
int view_run(char *const *words);

#endif
