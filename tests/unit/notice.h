/* SPDX-License-Identifier: MIT
 *
 * Hearing what the library notices (gw_notice_to), in a test.
 */
#ifndef NOTICE_H
#define NOTICE_H

/* From now on notices are heard. The last one will be where the result points.
 */
const char *notice_listen(void);
/* Until there were `count` of them. */
void notice_await(unsigned count);
unsigned notice_count(void);

#endif
