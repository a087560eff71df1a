/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The picture: a pure function of the state, the user's choices (view), the
 * time (player) and the size of the grid. Each panel is a file, draw_PANEL.c,
 * and fits any area; draw.c lays them out.
 */
#ifndef RINGTOP_DRAW_H
#define RINGTOP_DRAW_H

#include "glyphs.h"
#include "grid.h"
#include "ringtop/state/state.h"
#include "ringtop/view.h"

enum { SMALLEST_WIDTH = 40, SMALLEST_HEIGHT = 10 };

struct picture {
    const struct state *state; /* settled */
    const struct view *view;
    const struct player *player;
    const struct glyphs *glyphs;
    bool keys;          /* there is a keyboard: show the keys */
    const char *notice; /* the error of the source; NULL: none */
    const char *answer; /* the result of an order; NULL: none */
};

/* Fills the grid. */
void draw(const struct picture *picture, struct grid *grid);

/* ---- panels ---- */

void draw_header(const struct picture *picture, const struct area *area);
void draw_keys(const struct picture *picture, const struct area *area);
void draw_ranks(const struct picture *picture, const struct area *area);
/* The height that the table of ranks needs. */
int draw_ranks_height(const struct picture *picture);
void draw_ring(const struct picture *picture, const struct area *area);
void draw_chunks(const struct picture *picture, const struct area *area);
/* The width and height that the matrix needs. */
int draw_chunks_width(const struct picture *picture);
int draw_chunks_height(const struct picture *picture);
void draw_events(const struct picture *picture, const struct area *area);
void draw_failover(const struct picture *picture, const struct area *area);
void draw_controllers(const struct picture *picture, const struct area *area);
void draw_loss(const struct picture *picture, const struct area *area);
/* Parameter servers: the overview, and its panels. */
void draw_ps(const struct picture *picture, const struct area *area);
void draw_servers(const struct picture *picture, const struct area *area);
void draw_slots(const struct picture *picture, const struct area *area);
void draw_clocks(const struct picture *picture, const struct area *area);
void draw_requests(const struct picture *picture, const struct area *area);
/* The heights that the table and the matrix need. */
int draw_servers_height(const struct picture *picture);
int draw_slots_height(const struct picture *picture, int width);
/* The recoveries of servers and workers, from the status of the run. */
void draw_recoveries(const struct picture *picture, const struct area *area);
/* A pipeline: the overview, the page, and its panels. */
void draw_pipe_overview(const struct picture *picture, const struct area *area);
void draw_pipeline(const struct picture *picture, const struct area *area);
/* A step as a Gantt chart: a title, and one row per stage. */
void draw_gantt(const struct picture *picture, const struct area *area,
                const struct pipe_step *step);
void draw_pipe_stages(const struct picture *picture, const struct area *area);
/* One line: time and bubble, measured and predicted, and the steps so far. */
void draw_pipe_sums(const struct picture *picture, const struct area *area);
void draw_help(const struct picture *picture, const struct area *area);
/* The meaning of the page's signs, in a box over it. */
void draw_guide(const struct picture *picture, const struct area *area);
/* The line that names what to look for, at the bottom of the page if there is
 * room; returns its height. */
int draw_look_for(const struct picture *picture, const struct area *area);
/* The page, or the run's own one instead. */
enum page page_shown(const struct picture *picture);
/* How much of the text fits a line of `room` columns. */
int wrap_length(const char *text, int room);

/* "-- TITLE ----------" above a panel; returns the area below it. */
struct area draw_title(const struct picture *picture, const struct area *area,
                       const char *format, ...) GW_PRINTF(3, 4);
/* The first character of a glyph's text. */
uint32_t glyph(const char *text);

/* A stage of a failure: its name, its time, and a bar. */
void draw_stage(const struct picture *picture, const struct area *area, int y,
                const char *name, uint64_t ns, uint64_t longest_ns);
/* The row `number` of `rates`, on a scale common to all `count` rows. */
void draw_sparkline(const struct picture *picture, const struct rates *rates,
                    unsigned count, unsigned number, char *out, size_t size);
/* The first of `count` lines to show in `rows`, with `wanted` lines above it.
 */
unsigned list_top(unsigned wanted, unsigned count, int rows);
/* The servers to show; returns how many. */
unsigned server_order(const struct picture *picture,
                      unsigned order[PS_SERVERS]);
/* The displayed name and style of a state of a server or worker. */
const char *ps_state_name(const char *state);
enum style ps_state_style(const char *state);
/* The sort weight of a style: bad ones first, then warnings. */
uint64_t ps_state_weight(enum style style);
/* Known, and not gone for long, unless the user wants to see these, too. */
bool rank_is_shown(const struct picture *picture, unsigned rank);
/* The ranks to show, in the chosen order; returns how many. */
unsigned rank_order(const struct picture *picture, unsigned order[RANKS_MAX]);
/* "busy", "DEAD"; and its style. */
const char *rank_condition_name(enum condition condition);
enum style rank_condition_style(enum condition condition);

#endif
