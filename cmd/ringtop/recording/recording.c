/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See recording.h.
 */
#include "recording.h"

#include "common/command.h"

static void pull_until(struct show *show, uint64_t due_ns)
{
    while (!show->closed && gw_now_ns() < due_ns && !interrupted)
        show_pull(show, due_ns);
}

enum gw_err recording_play(struct show *show, uint64_t frame_ns,
                           recording_picture *picture, void *developer,
                           uint64_t *end_ns, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    uint64_t begin_ns = gw_now_ns(), now_ns = begin_ns;
    while (!err && !interrupted) {
        if (show->player.live)
            pull_until(show, now_ns + frame_ns);
        now_ns += frame_ns;
        show_advance(show, now_ns);
        show_draw(show);
        err = picture(developer, &show->grid, now_ns - begin_ns, why);
        if (player_at_end(&show->player))
            break;
    }
    *end_ns = now_ns + frame_ns - begin_ns;
    return err;
}
