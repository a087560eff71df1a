/* SPDX-License-Identifier: MIT
 *
 * For tests that break a library's own memory in a way that it does not handle:
 * the leak check of the address sanitizer is off for the process of the test.
 */
#ifndef LEAKS_H
#define LEAKS_H

/* Call it with the reason in a comment. */
void leaks_are_allowed(void);

#endif
