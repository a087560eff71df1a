/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The way from the source to the picture: events flow into the player and, when
 * they are due, into the state; then the picture is drawn. The back ends
 * (run_*.c) set the pace and output the grid.
 */
#ifndef RINGTOP_SHOW_H
#define RINGTOP_SHOW_H

#include "moment.h"
#include "ringtop/draw/draw.h"
#include "ringtop/source/control_client.h"
#include "ringtop/source/source.h"

struct show {
    struct source *source;
    struct player player;
    struct events_until until; /* of a recording: the moment to show */
    struct state *state;
    struct view view;
    struct grid grid;
    const struct glyphs *glyphs;
    bool keys;
    bool leave;                     /* when the run ends */
    bool closed;                    /* the source has ended */
    uint64_t broken;                /* invalid lines */
    uint64_t skips;                 /* skips of the source seen here so far */
    struct control_client *control; /* NULL: read-only */
    char answer[200];               /* the result of the last order */
    uint64_t answer_until_ns;
    char notice[600];      /* the error of the source; "": none */
    struct gw_error error; /* of the source, or GW_ETIMEOUT */
    uint64_t timeout_ns;   /* 0: none */
    uint64_t received_ns;  /* the time of the last event or status */
};

struct show_options {
    const char *path; /* of a recording, or "-"; NULL: */
    const char *run;  /* the run to attach to; NULL: the latest */
    bool read_only;   /* no orders */
    double speed;     /* 0: one that suits */
    bool ascii;
    uint64_t timeout_ns;
    struct moment moment; /* of a recording */
};

/* Opens the source. A recording is read to its end, so that its view knows all
 * ranks and ops from the start. GW_EDATA when it contains no event. */
GW_MUST_CHECK enum gw_err show_init(struct show *show,
                                    const struct show_options *options,
                                    struct gw_error *why);
void show_fini(struct show *show);

/* Takes the source's events, waiting for them until `deadline_ns`. */
void show_pull(struct show *show, uint64_t deadline_ns);
/* Starts the order that the view has taken, and fetches the result of the last
 * one. */
void show_control(struct show *show);
/* Shows the events that are due. */
void show_advance(struct show *show, uint64_t now_ns);
/* Shows the events before number `end`, due or not. */
void show_events(struct show *show, size_t end);
/* Shows the moment of the options, and freezes there; without one, nothing. */
void show_moment(struct show *show);
/* Draws into show->grid, whose size must have been set. */
void show_draw(struct show *show);
/* Reports a broken source, a double count or an interruption, and returns the
 * exit status. */
int show_verdict(const struct show *show);

/* ---- the back ends; each returns the exit status ---- */

struct batch_options {
    unsigned frames;
    uint64_t every_ns; /* of a live run */
    int width, height;
    enum page page;
};
int run_screen(struct show *show);
int run_batch(struct show *show, const struct batch_options *options);
/* A recording (recording/): an SVG page if `path` ends so, else an asciicast. */
int run_cast(struct show *show, const char *path, int width, int height);
/* The table of ranks at the end, in the format of -o. */
int run_report(struct show *show);

#endif
