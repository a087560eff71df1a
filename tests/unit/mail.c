/* SPDX-License-Identifier: MIT
 *
 * The actions of a machine; see mail.h.
 */
#include "mail.h"

#include <string.h>

static void keep(struct sent_message *messages, unsigned *count, uint32_t to,
                 const void *data, size_t bytes)
{
    ck_assert_uint_lt(*count, MAIL_MOST);
    ck_assert_uint_le(bytes, MAIL_BYTES);
    ck_assert_uint_gt(bytes, 0);
    struct sent_message *message = &messages[(*count)++];
    message->to = to;
    message->bytes = bytes;
    memcpy(message->data, data, bytes);
}

static void on_send(void *driver, uint32_t to, const void *data, size_t bytes)
{
    struct mail *mail = driver;
    keep(mail->sent, &mail->sent_count, to, data, bytes);
}

static void on_notify(void *driver, const void *data, size_t bytes)
{
    struct mail *mail = driver;
    keep(mail->notified, &mail->notified_count, 0, data, bytes);
}

static void on_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    struct mail *mail = driver;
    ck_assert_uint_eq(timer, 0);
    mail->timer_ns = at_ns;
}

struct gw__actions mail_actions(struct mail *mail)
{
    return (struct gw__actions){.driver = mail,
                                .send = on_send,
                                .notify = on_notify,
                                .set_timer = on_timer};
}

/* Moves the message to a place of its own. */
static const struct sent_message *remove_at(struct sent_message *messages,
                                            unsigned *count, unsigned i)
{
    static struct sent_message out;
    out = messages[i];
    (*count)--;
    memmove(messages + i, messages + i + 1, (*count - i) * sizeof *messages);
    return &out;
}

const struct sent_message *mail_pop(struct mail *mail, uint32_t to,
                                    enum gw__protocol kind)
{
    for (unsigned i = 0; i < mail->sent_count; i++)
        if (mail->sent[i].to == to && mail->sent[i].data[0] == kind)
            return remove_at(mail->sent, &mail->sent_count, i);
    return NULL;
}

bool mail_command(struct mail *mail, struct gw__command *command)
{
    struct gw_error why = {0};
    if (mail->notified_count == 0)
        return false;
    const struct sent_message *message =
        remove_at(mail->notified, &mail->notified_count, 0);
    enum gw_err err =
        gw__command_decode(message->data, message->bytes, command, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return true;
}

void mail_clear(struct mail *mail)
{
    mail->sent_count = mail->notified_count = 0;
}
