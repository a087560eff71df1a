/* SPDX-License-Identifier: MIT
 *
 * For tests that drive a machine of lib/cluster by hand: its actions land here.
 */
#ifndef TESTS_MAIL_H
#define TESTS_MAIL_H

#include <cluster/messages/protocol.h>

#include <check.h>

enum { MAIL_MOST = 256, MAIL_BYTES = 16384 };

struct letter {
    uint32_t to; /* a tell has none */
    size_t bytes;
    uint8_t data[MAIL_BYTES];
};

struct mail {
    unsigned sent_count, told_count;
    struct letter sent[MAIL_MOST], told[MAIL_MOST];
    uint64_t timer_ns; /* of timer 0 */
};

/* Its actions; valid as long as the mail. */
struct gw__actions mail_actions(struct mail *mail);
/* The oldest letter of this kind to this node, which is taken out; NULL: there
 * is none. Valid until the next letter. */
const struct letter *mail_take(struct mail *mail, uint32_t to,
                               enum gw__protocol talk);
/* The same of a told command; false: nothing was told. Fails the test when it
 * is no command. */
bool mail_command(struct mail *mail, struct gw__command *command);
void mail_clear(struct mail *mail);

#endif
