/* SPDX-License-Identifier: MIT
 *
 * For tests of the member machine: a member that the test drives. The test
 * supplies membership updates, and records the member's messages and reports.
 * Node 4 is the member, 0 and 1 are controllers, 5 and 6 other members.
 */
#ifndef TESTS_MEMBER_HAND_H
#define TESTS_MEMBER_HAND_H

#include <cluster/member/member.h>

#include <check.h>

#define MS UINT64_C(1000000)

enum {
    SELF = 4,
    LEFT = 5,
    RIGHT = 6,
    NOTIFICATIONS_MOST = 64,
    SENT_MOST = 256
};

struct member_sent {
    uint32_t to;
    size_t bytes;
    uint8_t data[3072];
};

struct member_hand {
    bool inspects;      /* local processes can be inspected */
    unsigned inspected; /* inspected nodes, as bits */
    void *state;
    uint64_t now_ns;
    uint64_t due_ns;      /* of its own timer */
    uint64_t detector_ns; /* of the detector's */
    struct gw__notification
        notification[NOTIFICATIONS_MOST]; /* reports other than NEWS */
    unsigned notification_count;
    struct member_sent sent[SENT_MOST];
    unsigned sent_count;
    struct gw__membership_update update; /* the next update to deliver */
    bool in_ps;                          /* a worker outside the ring */
    bool drawn; /* its number is random until a controller assigns one */
};
extern struct member_hand hand;

/* For a checked fixture. */
void hand_setup(void);
void hand_teardown(void);

void hand_input(enum gw__input_kind kind, uint32_t from, const void *data,
                size_t bytes);
void hand_submit(const struct gw__member_request *request);
/* Advances the time by `ms`; the timer fires when it is due. */
void hand_pass(uint64_t ms);
/* The same, with the detector's timer. */
void hand_pass_watching(uint64_t ms);
struct gw__id hand_id_of(unsigned node);

/* Forgets all messages and reports so far. */
void hand_clear(void);
/* The report of this kind; NULL: there is none. */
const struct gw__notification *
hand_notification(enum gw__notification_kind kind);
/* The last request of this kind that was sent; false: there is none. */
bool hand_request(enum gw__command_kind kind, struct gw__command *command);
/* A controller answers a request that was sent. */
void hand_answer(const struct gw__command *command, enum gw_err code,
                 const char *text);

/* Controller 0 delivers hand.news, with the next log index or with this one. */
void hand_send_update(void);
void hand_send_update_at(uint64_t index);
void hand_ring_is(uint64_t epoch, unsigned count, const unsigned *nodes);

void hand_start(enum gw__role role);
/* Puts the member into the ring of 4, 5 and 6, in epoch 1, with no op under
 * way. */
void hand_in_ring(void);
/* A flush begins: node 6 is removed. */
void hand_flush_begins(uint64_t epoch);
void hand_give_report(uint64_t flush_epoch);
/* A controller forwards the report of a node. */
void hand_reported(uint64_t flush_epoch, unsigned node);
void hand_is_decided(void);

#endif
