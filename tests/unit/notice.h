/* SPDX-License-Identifier: MIT
 *
 * Recording the library's notices (gw_notice_to) in a test.
 */
#ifndef NOTICE_H
#define NOTICE_H

/* Starts recording. The result points to the last notice. */
const char *notice_listen(void);
/* Waits until there were `count` of them. */
void notice_await(unsigned count);
unsigned notice_count(void);

#endif
