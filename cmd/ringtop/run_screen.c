/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The live view on a terminal: 25 pictures a second, keys handled at once.
 */
#include "common/command.h"
#include "screen.h"
#include "show.h"

#include <poll.h>
#include <unistd.h>

static const uint64_t FRAME_NS = 40000000;

static enum gw_err draw_screen(struct show *show, struct gw_error *why)
{
    int width, height;
    screen_size(&width, &height);
    if ((width != show->grid.width || height != show->grid.height) &&
        grid_size(&show->grid, width, height, why))
        return why->code;
    show_draw(show);
    screen_show(&show->grid);
    return GW_OK;
}

/* Waits for a key, for the source, or for the next picture's time. */
static void wait_for_something(const struct show *show, uint64_t until_ns)
{
    struct pollfd fds[2] = {
        {.fd = screen_fd(), .events = POLLIN},
        {.fd = show->closed ? -1 : show->source->fd, .events = POLLIN}};
    uint64_t now_ns = gw_now_ns();
    if (until_ns > now_ns)
        (void)poll(fds, 2, (int)((until_ns - now_ns) / 1000000) + 1);
}

static bool handle_keys(struct show *show)
{
    int key;
    bool any = false;
    if (!show->view.prompt) /* the answer stays while it is shown */
        state_usual_node(show->state, show->view.usual);
    while ((key = screen_key())) {
        view_key(&show->view, &show->player, key, gw_now_ns());
        any = true;
    }
    return any;
}

static enum gw_err show_live(struct show *show, struct gw_error *why)
{
    uint64_t next_ns = 0;
    bool over = false;
    while (!show->view.quit && !interrupted && !over) {
        bool keys = handle_keys(show);
        show_control(show);
        show_pull(show, 0);
        show_advance(show, gw_now_ns());
        if (keys || gw_now_ns() >= next_ns) {
            if (draw_screen(show, why))
                return why->code;
            next_ns = gw_now_ns() + FRAME_NS;
        }
        over = show->leave && player_at_end(&show->player);
        if (!over)
            wait_for_something(show, next_ns);
    }
    return GW_OK;
}

int run_screen(struct show *show)
{
    struct gw_error why;
    if (screen_open(color_on(STDOUT_FILENO), &why))
        return complain(&why);
    show->keys = true;
    enum gw_err err = show_live(show, &why);
    screen_close();
    return err ? complain(&why) : show_verdict(show);
}
