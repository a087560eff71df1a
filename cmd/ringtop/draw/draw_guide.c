/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a page shows: one line below it that names what to look for, and, on the
 * key "?", the meaning of its signs in a box over the page, which goes on
 * living behind it.
 */
#include "draw.h"

#include <string.h>

enum { SIGNS = 9, SIGN_WIDTH = 9, BOX_WIDTH = 76, MARGIN = 20 };

struct guide {
    const char *look_for;
    struct {
        const char *sign, *means;
    } signs[SIGNS];
};

static const struct guide overview = {
    "Look for the longest wait: the member in \"waits on\" is the late one.",
    {{"busy", "in the op; late: the others are in it, this one is not"},
     {"step 3/6", "the third of six steps is done; above: of the slowest"},
     {"phase", "reduce: chunks are added up; spread: sums are passed on"},
     {"waits on", "the member whose chunk must come next, and since when"},
     {"3+ 4=", "a chunk with the data of 3 members; of all 4: complete"},
     {"[3+] 2!", "changed by the last event; a member counted twice: a defect"},
     {"(0) c1", "a member of the ring; chunk 1 on its way, along the arrows"},
     {"n1 x", "node 1 is gone: its copies no longer count"}}};

static const struct guide overview_of_ps = {
    "Look for servers that are not alive, and for slots without a primary, P.",
    {{"P/s/l", "slots that it serves, holds in sync, is copying"},
     {"P s l", "the slot's primary, a secondary, a learner that copies it"},
     {"!", "the slot is lost: no server has it"},
     {"lease", "how long the primary may serve without the controllers"},
     {"clock", "finished work items of a worker"},
     {"ahead", "its distance from the slowest worker: its staleness"},
     {"waited", "share of its time in which it waited for others"}}};

static const struct guide overview_of_pipe = {
    "Look for the stage that rests least: it sets the pace of the others.",
    {{"F B", "forward and backward pass, with the micro-batch's number"},
     {"I W", "backward for the input; for the weights"},
     {"dots", "idle time: the bubble is its mean share over the stages"},
     {"works", "share of the last step in passes"},
     {"waits", "share before and between passes; rests: after the last"},
     {"held", "activations in memory, and their maximum"}}};

static const struct guide pages[PAGES] = {
    [PAGE_RING] =
        {"Look for a chunk that does not move: its link or receiver is slow.",
         {{"(2)", "a member: node 2 as in ringctl; rank 0 is at the top left"},
          {"arrows", "the order of the ring: chunks travel this way"},
          {"c1", "chunk 1 on its way; its place is estimated from usual times"},
          {"2/6", "steps of the op that are done; or the member's state"},
          {"3>1 c0",
           "no edge has room for this chunk, or none leads from 3 to 1"},
          {"node DEAD", "inside: a node that is no longer in the ring"}}},
    [PAGE_CHUNKS] =
        {"Look for the row that falls behind: counts grow along the ring to =.",
         {{"n1 c2", "row: node 1 (r1: rank 1); column: chunk 2 of the data"},
          {"3+",
           "this copy contains the data of 3 members; others are missing"},
          {"4=", "complete: the data of all members that count"},
          {"2!", "a member's data is in it twice: this must never happen"},
          {".", "nothing has arrived yet"},
          {"[3+]", "changed by the last event"},
          {"x -", "the member is gone: its copies no longer count"}}},
    [PAGE_SLOTS] = {"Look for a column without P: no server serves this slot.",
                    {{"P", "primary: serves the slot"},
                     {"s", "secondary: has the same content"},
                     {"l", "learner: is copying it"},
                     {"!", "lost: no server has it any more"}}},
    [PAGE_CLOCKS] =
        {"Look for the smallest clock: the others wait for it or run ahead.",
         {{"clock", "finished work items of the worker"},
          {"ahead", "its distance from the slowest worker"},
          {"e b p", "data epoch, batch and part of its current work item"},
          {"waited", "share of its time in which it waited for others"},
          {"staleness",
           "work items by the clocks that their worker was ahead"}}},
    [PAGE_REQUESTS] =
        {"Look for the oldest request: its server is slow, or has failed.",
         {{". a p #", "a part of the batch: free, assigned, pushed, done"},
          {"w1 -o> s1", "a push on its way from worker 1 to server 1, its age"},
          {"w2 <o- s0", "a pull whose answer is on its way back"},
          {"slot 5", "a replica of it is being copied"}}},
    [PAGE_PIPELINE] =
        {"Look for the dots between passes: idle time, which is the bubble.",
         {{"F3 B3", "forward, backward pass of micro-batch 3, shaded while it "
                    "runs"},
          {"I W", "backward for the input; for the weights"},
          {"f b", "passes of the stage's second chunk"},
          {"dots", "idle time"},
          {"rests", "share of the last step after the stage's last pass"},
          {"held", "activations in memory, and their maximum"}}},
    [PAGE_EVENTS] =
        {"Look for the first suspicion or loss: later lines follow from it.",
         {{"0.0123", "seconds since the first event"},
          {"op 3", "a call by all members, and its time"},
          {"epoch 2", "a new view, with so many members"},
          {"forward", "the interrupted op keeps the dead member's data"},
          {"exclude", "the interrupted op goes on without them"}}},
    [PAGE_CONTROLLERS] =
        {"Look for one leader in the newest term, and logs of equal length.",
         {{"leads", "the others follow it; each decision is its log entry"},
          {"term", "number of the election"},
          {"vote", "the controller for which it voted in this term"},
          {"applied", "log entries that it has executed"}}},
    [PAGE_FAILOVER] =
        {"Look for the longest step from one bar to the next: it costs most.",
         {{"noticed", "a member reported the failure"},
          {"confirmed", "the controllers declared the member dead"},
          {"view", "the ring without it was installed"},
          {"decided", "the fate of the interrupted op: forward or exclude"},
          {"resumed", "the slowest survivor completed this op"},
          {"chunks", "kept if a copy at one member was; else redone"},
          {"copies", "one per chunk and member: kept and redone"}}},
    [PAGE_LOSS] =
        {"Look for a curve that falls after a failure as fast as before it.",
         {{"bars", "the mean loss of some steps, from the least to the most"},
          {"steps", "the first and the last step of the curve"}}},
};

static const struct guide *guide_of(const struct picture *p)
{
    enum page page = page_shown(p);
    if (page != PAGE_OVERVIEW)
        return &pages[page];
    return p->state->ps.here     ? &overview_of_ps
           : p->state->pipe.here ? &overview_of_pipe
                                 : &overview;
}

int draw_look_for(const struct picture *p, const struct area *area)
{
    enum { ROWS_MIN = 14 };
    const char *text = guide_of(p)->look_for;
    if (area->height < ROWS_MIN || (int)strlen(text) + 2 > area->width)
        return 0;
    area_text(area, 1, area->height - 1, STYLE_DIM, text);
    return 1;
}

/* Wrapped; returns the row below. Without an area: only counts. */
static int draw_wrapped(const struct area *area, int x, int y, int room,
                        const char *text)
{
    do {
        int length = wrap_length(text, room);
        if (area)
            area_print(area, x, y, STYLE_PLAIN, "%.*s", length, text);
        y++;
        text += length;
        text += *text == ' ';
    } while (*text);
    return y;
}

static int draw_signs(const struct guide *guide, const struct area *area,
                      int width)
{
    int y = draw_wrapped(area, 2, 0, width - 3, guide->look_for);
    for (unsigned i = 0; i < SIGNS && guide->signs[i].sign; i++) {
        if (area)
            area_text(area, 2, y, STYLE_STRONG, guide->signs[i].sign);
        y = draw_wrapped(area, 3 + SIGN_WIDTH, y, width - SIGN_WIDTH - 4,
                         guide->signs[i].means);
    }
    return y;
}

void draw_guide(const struct picture *p, const struct area *area)
{
    const struct guide *guide = guide_of(p);
    bool wide = area->width >= BOX_WIDTH + MARGIN;
    int width = wide ? BOX_WIDTH : area->width;
    int height = draw_signs(guide, NULL, width) + 1;
    height = height < area->height ? height : area->height;
    struct area box = area_part(area, area->width - width,
                                area->height - height, width, height);
    for (int y = 0; y < height; y++)
        area_fill(&box, y, STYLE_PLAIN);
    struct area body =
        draw_title(p, &box, "%s: any key closes it", page_name(page_shown(p)));
    for (int y = 0; y < body.height && wide; y++)
        area_put(&body, 0, y, STYLE_DIM, glyph(p->glyphs->down));
    draw_signs(guide, &body, width);
}
