/* SPDX-License-Identifier: MIT
 *
 * The actions of a machine; see mail.h.
 */
#include "mail.h"

#include <string.h>

static void keep(struct letter *letters, unsigned *count, uint32_t to,
                 const void *data, size_t bytes)
{
    ck_assert_uint_lt(*count, MAIL_MOST);
    ck_assert_uint_le(bytes, MAIL_BYTES);
    ck_assert_uint_gt(bytes, 0);
    struct letter *letter = &letters[(*count)++];
    letter->to = to;
    letter->bytes = bytes;
    memcpy(letter->data, data, bytes);
}

static void take_send(void *driver, uint32_t to, const void *data, size_t bytes)
{
    struct mail *mail = driver;
    keep(mail->sent, &mail->sent_count, to, data, bytes);
}

static void take_tell(void *driver, const void *data, size_t bytes)
{
    struct mail *mail = driver;
    keep(mail->told, &mail->told_count, 0, data, bytes);
}

static void take_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    struct mail *mail = driver;
    ck_assert_uint_eq(timer, 0);
    mail->timer_ns = at_ns;
}

struct gw__actions mail_actions(struct mail *mail)
{
    return (struct gw__actions){.driver = mail,
                                .send = take_send,
                                .notify = take_tell,
                                .set_timer = take_timer};
}

/* Moves the message to a place of its own. */
static const struct letter *take_out(struct letter *letters, unsigned *count,
                                     unsigned i)
{
    static struct letter out;
    out = letters[i];
    (*count)--;
    memmove(letters + i, letters + i + 1, (*count - i) * sizeof *letters);
    return &out;
}

const struct letter *mail_take(struct mail *mail, uint32_t to,
                               enum gw__protocol talk)
{
    for (unsigned i = 0; i < mail->sent_count; i++)
        if (mail->sent[i].to == to && mail->sent[i].data[0] == talk)
            return take_out(mail->sent, &mail->sent_count, i);
    return NULL;
}

bool mail_command(struct mail *mail, struct gw__command *command)
{
    struct gw_error why = {0};
    if (mail->told_count == 0)
        return false;
    const struct letter *letter = take_out(mail->told, &mail->told_count, 0);
    enum gw_err err =
        gw__command_decode(letter->data, letter->bytes, command, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return true;
}

void mail_clear(struct mail *mail)
{
    mail->sent_count = mail->told_count = 0;
}
