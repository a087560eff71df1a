/* SPDX-License-Identifier: MIT
 *
 * The pictures in the tests of the live view: a state with generated events, a
 * view, and a grid. Each test begins with an empty scene.
 */
#ifndef SCENE_H
#define SCENE_H

#include "golden.h"
#include "ringtop/draw/draw.h"
#include "tape.h"

struct scene {
    struct tape tape;
    struct state *state;
    struct player player;
    struct view view;
    struct grid grid;
    struct picture picture;
};
extern struct scene scene;

/* For a checked fixture. */
void scene_begin(void);
void scene_end(void);

/* Puts an op that runs the text of a plan on the tape. */
void scene_record(const char *text, uint32_t op);
/* Shows the events of the tape from `first` to `end`. */
void scene_feed(size_t first, size_t end);
/* Two ring all-reduces of 3 ranks, the second one in its second step. */
void scene_feed_ring(void);
/* Rank 2 of 3 dies in the first step; the others continue without it. */
void scene_feed_failure(void);
/* A loss that falls. */
void scene_feed_losses(unsigned count);

void scene_draw(int width, int height);
/* Every page, without and with the keys, and explained. */
void scene_draw_all(int width, int height);
/* Whether the last picture contains the text. */
bool scene_shows(const char *text);

#endif
