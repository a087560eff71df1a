/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A showing: events flow from the source into the player, and, when they are
 * due, into the state; then the picture is drawn. The back ends (run_*.c) say
 * when, and put the grid where it can be seen.
 */
#ifndef RINGTOP_SHOW_H
#define RINGTOP_SHOW_H

#include "ringtop/draw/draw.h"
#include "ringtop/source/orders.h"
#include "ringtop/source/source.h"

struct show {
    struct source *source;
    struct player player;
    struct state *state;
    struct view view;
    struct grid grid;
    const struct glyphs *glyphs;
    bool keys;
    bool leave;            /* when the run ends */
    bool closed;           /* the source has ended */
    uint64_t broken;       /* lines that are no event */
    uint64_t skips;        /* of the source, that are known here */
    struct orders *orders; /* NULL: nothing may be changed */
    char said[200];        /* how the last one ended */
    uint64_t said_until_ns;
    char notice[600];      /* what was wrong with the source; "": nothing */
    struct gw_error error; /* of the source, or GW_ETIMEOUT */
    uint64_t timeout_ns;   /* 0: none */
    uint64_t heard_ns;     /* when the source told something */
};

struct show_options {
    const char *path; /* of a recording, or "-"; NULL: */
    const char *run;  /* the run to attach to; NULL: the latest */
    bool read_only;   /* no orders */
    double speed;     /* 0: one that suits */
    bool ascii;
    uint64_t timeout_ns;
};

/* Opens the source. A recording is read to its end, so that its view knows from
 * the start what there is to come. GW_EDATA when there is no event in it. */
GW_MUST_CHECK enum gw_err show_init(struct show *show,
                                    const struct show_options *options,
                                    struct gw_error *why);
void show_fini(struct show *show);

/* Takes what the source has, waiting for it until `deadline_ns`. */
void show_pull(struct show *show, uint64_t deadline_ns);
/* Has the order carried out that the view took, and hears how the last one
 * ended. */
void show_orders(struct show *show);
/* Shows what is due now. */
void show_advance(struct show *show, uint64_t now_ns);
/* Shows the next `count` events, due or not. */
void show_events(struct show *show, size_t count);
/* Draws into show->grid, whose size must have been set. */
void show_draw(struct show *show);
/* Complains of whatever there is to complain of, and returns the exit status:
 * a broken source, a double count, an interruption. */
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
/* A film (film.h): an SVG page if `path` ends so, else an asciicast. */
int run_cast(struct show *show, const char *path, int width, int height);
/* The table of ranks at the end, in the format of -o. */
int run_report(struct show *show);

#endif
