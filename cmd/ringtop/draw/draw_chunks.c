/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The accumulation matrix: rank x chunk, the number of ranks whose data each
 * copy contains. "2+" is a partial value, "3=" a complete one, "3!" one that
 * counts a rank twice, "." none. Brackets mark the change of the last event.
 */
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>

enum { LABEL_COLUMNS = 7 };

static int digits(unsigned number)
{
    return snprintf(NULL, 0, "%u", number);
}

/* A count, its sign, and brackets; or the name of the chunk. */
static int cell_columns(const struct picture *p)
{
    const struct op *op = state_op(p->state);
    unsigned chunks = state_chunks(p->state);
    unsigned full = op && op_grows(op) ? op->full : 1;
    int count = 1 + digits(full), name = 1 + digits(chunks ? chunks - 1 : 0);
    return 3 + (count > name ? count : name);
}

static unsigned known_ranks(const struct picture *p, unsigned list[RANKS_MAX])
{
    unsigned count = 0;
    for (unsigned r = 0; r < p->state->rank_count; r++)
        if (rank_is_shown(p, r))
            list[count++] = r;
    return count;
}

int draw_chunks_width(const struct picture *p)
{
    unsigned chunks = state_chunks(p->state);
    return LABEL_COLUMNS + (int)chunks * cell_columns(p);
}

int draw_chunks_height(const struct picture *p)
{
    unsigned list[RANKS_MAX];
    return 2 + (int)known_ranks(p, list);
}

/* ---- */

static bool fresh(const struct state *s, const struct op *op, unsigned rank,
                  unsigned chunk)
{
    return s->last.kind == GW_EV_APPLY && s->last.op == op->op &&
           s->last.rank == rank && s->last.chunk == chunk;
}

static void draw_copy(const struct picture *p, const struct area *cell,
                      unsigned rank, unsigned chunk)
{
    const struct op *op = state_op(p->state);
    struct copy copy = op_copy(op, rank, chunk);
    bool complete = op_complete(op, rank, copy);
    bool new = fresh(p->state, op, rank, chunk);
    char text[24] = ".";
    if (copy.count > 0)
        snprintf(text, sizeof text, "%u%c", copy.count,
                 copy.doubled ? '!'
                 : complete   ? '='
                              : '+');
    enum style style = copy.doubled     ? STYLE_BAD
                       : new            ? STYLE_CHUNK
                       : complete       ? STYLE_GOOD
                       : copy.count > 0 ? STYLE_PLAIN
                                        : STYLE_DIM;
    area_print(cell, 0, 0, style, "%c%s%s", new ? '[' : ' ', text,
               new ? "]" : "");
}

static void draw_row(const struct picture *p, const struct area *area, int y,
                     unsigned rank, unsigned first, unsigned count)
{
    bool gone = state_gone(p->state, rank) || p->state->ranks[rank].out;
    int columns = cell_columns(p);
    area_print(area, 1, y, gone ? STYLE_DIM : STYLE_PLAIN, "%c%u%s",
               *state_noun(p->state), rank, gone ? " x" : "");
    for (unsigned i = 0; i < count; i++) {
        struct area cell = area_part(area, LABEL_COLUMNS - 1 + (int)i * columns,
                                     y, columns, 1);
        if (gone)
            area_text(&cell, 1, 0, STYLE_DIM, "-");
        else
            draw_copy(p, &cell, rank, first + i);
    }
}

static void draw_legend(const struct picture *p, const struct area *area, int y)
{
    const struct op *op = state_op(p->state);
    if (op_grows(op))
        area_print(area, 1, y, STYLE_DIM, "2+ of two, %u= of all, 2! one twice",
                   op->full);
    else
        area_text(area, 1, y, STYLE_DIM, "1= has arrived, . not yet");
}

static const char *nothing_to_show(const struct picture *p)
{
    const struct op *op = state_op(p->state);
    if (!op)
        return "no op yet";
    if (op->truncated || (op->count > 0 && !op->evaluated))
        return "too many chunks to follow each";
    return state_chunks(p->state) > 0 ? NULL : "no chunk has moved yet";
}

static unsigned at_most(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void draw_matrix(const struct picture *p, const struct area *area,
                        unsigned first, unsigned columns)
{
    unsigned list[RANKS_MAX];
    unsigned ranks = known_ranks(p, list);
    unsigned rows = area->height > 1 ? (unsigned)area->height - 1 : 0;
    unsigned top = at_most(p->view->rank_top, ranks > rows ? ranks - rows : 0);
    int width = cell_columns(p);
    for (unsigned i = 0; i < columns; i++)
        area_print(area, LABEL_COLUMNS + (int)i * width, 0, STYLE_STRONG, "c%u",
                   first + i);
    for (unsigned i = 0; i < rows && top + i < ranks; i++)
        draw_row(p, area, 1 + (int)i, list[top + i], first, columns);
    if (rows > ranks + 1)
        draw_legend(p, area, area->height - 1);
}

void draw_chunks(const struct picture *p, const struct area *area)
{
    const char *nothing = nothing_to_show(p);
    unsigned chunks = state_chunks(p->state);
    int room = (area->width - LABEL_COLUMNS + 1) / cell_columns(p);
    unsigned fit = at_most(chunks, room > 0 ? (unsigned)room : 0);
    unsigned first = at_most(p->view->chunk_left, chunks - fit);
    if (nothing || fit == 0) {
        struct area body = draw_title(p, area, "chunks");
        area_text(&body, 1, 0, STYLE_DIM, nothing ? nothing : "no room");
        return;
    }
    struct area body = fit < chunks
                           ? draw_title(p, area, "chunks %u to %u of %u", first,
                                        first + fit - 1, chunks)
                           : draw_title(p, area, "chunks of op %" PRIu32,
                                        state_op(p->state)->op);
    draw_matrix(p, &body, first, fit);
}
