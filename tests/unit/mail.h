/* SPDX-License-Identifier: MIT
 *
 * For tests that drive a machine of lib/cluster by hand: mail receives the
 * machine's actions.
 */
#ifndef TESTS_MAIL_H
#define TESTS_MAIL_H

#include <cluster/messages/protocol.h>

#include <check.h>

enum { MAIL_MOST = 640, MAIL_BYTES = 16384 };

struct sent_message {
    uint32_t to; /* unset for a report */
    size_t bytes;
    uint8_t data[MAIL_BYTES];
};

struct mail {
    unsigned sent_count, notified_count;
    struct sent_message sent[MAIL_MOST], notified[MAIL_MOST];
    uint64_t timer_ns; /* of timer 0 */
};

/* The machine's actions, which write to `mail`; valid as long as it. */
struct gw__actions mail_actions(struct mail *mail);
/* Removes and returns the oldest message of this kind to this node; NULL: there
 * is none. Valid until the next message. */
const struct sent_message *mail_pop(struct mail *mail, uint32_t to,
                                    enum gw__protocol kind);
/* The same for a reported command; false: there is no report. A report that is
 * not a command fails the test. */
bool mail_command(struct mail *mail, struct gw__command *command);
void mail_clear(struct mail *mail);

#endif
