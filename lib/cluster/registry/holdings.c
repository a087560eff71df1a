/* SPDX-License-Identifier: MIT
 *
 * Holdings as segments; see report.h. The bytes of a segment:
 *
 *     end, exclusive (16 bits) | final (1 bit), number of arcs (7 bits) | arcs
 *
 * An arc is a row of places in a circle: the first and the last one. A bit of
 * either says that it moves on by one place with each chunk of the segment. A
 * set of more arcs than there is room for is a bitmap of places, the same for
 * all chunks of its segment.
 */
#include "report.h"

#include <string.h>

enum { ARCS_MAX = 12, BITMAP = 127, MOVES = 1 << 15 };

/* One end of an arc. */
struct edge {
    unsigned place;
    bool moves;
};

struct segment {
    unsigned begin, end; /* chunks */
    bool final;
    unsigned arcs; /* or BITMAP */
    struct edge edges[2 * ARCS_MAX];
    struct gw_nodes bitmap; /* of places */
};

static uint32_t hash_of(const struct gw__places *places)
{
    return (uint32_t)gw_hash(places->nodes,
                             places->count * sizeof *places->nodes, 0);
}

static unsigned place_at(const struct edge *edge, unsigned steps,
                         unsigned places)
{
    return (edge->place + (edge->moves ? steps : 0)) % places;
}

/* ---- packing ---- */

static void add_place(struct segment *s, unsigned place, bool continues)
{
    gw__nodes_add(&s->bitmap, place);
    if (!continues && s->arcs < BITMAP)
        s->arcs++;
    if (s->arcs > ARCS_MAX)
        s->arcs = BITMAP;
    if (s->arcs == BITMAP)
        return;
    if (!continues)
        s->edges[2 * s->arcs - 2].place = place;
    s->edges[2 * s->arcs - 1].place = place;
}

/* The segment of one chunk. Arcs are listed in the order in which the chunk is
 * added, so that those of the next chunk correspond to them; the arcs of final
 * copies, which do not depend on the chunk, from place 0 on. A set with another
 * node is not a sum of this op. */
static struct segment segment_of(const struct gw__places *places,
                                 const struct gw__held_chunk *held,
                                 unsigned chunk)
{
    struct segment s = {.begin = chunk, .end = chunk + 1, .final = held->final};
    unsigned first = held->final ? 0 : chunk + 1;
    bool before = false;
    for (unsigned i = 0; i < places->count; i++) {
        unsigned place = (first + i) % places->count;
        bool has = gw__nodes_has(&held->set, places->nodes[place]);
        if (has)
            add_place(&s, place, before);
        before = has;
    }
    if (gw__nodes_count(s.bitmap) != gw__nodes_count(held->set))
        return (struct segment){.begin = chunk, .end = chunk + 1};
    return s;
}

/* Appends the next chunk, if it continues the segment. */
static bool extend(struct segment *s, const struct segment *next,
                   unsigned places)
{
    struct edge edges[2 * ARCS_MAX];
    unsigned steps = next->begin - s->begin;
    if (s->final != next->final || s->arcs != next->arcs)
        return false;
    if (s->arcs == BITMAP) {
        s->end += gw__nodes_equal(s->bitmap, next->bitmap);
        return s->end > next->begin;
    }
    memcpy(edges, s->edges, sizeof edges);
    for (unsigned i = 0; i < 2 * s->arcs; i++) {
        if (steps == 1)
            edges[i].moves = edges[i].place != next->edges[i].place;
        if (place_at(&edges[i], steps, places) != next->edges[i].place)
            return false;
    }
    memcpy(s->edges, edges, sizeof edges);
    s->end++;
    return true;
}

static void put_segment(struct gw__writer *w, const struct segment *s,
                        unsigned places)
{
    gw__put_u16(w, s->end);
    gw__put_u8(w, s->arcs << 1 | s->final);
    if (s->arcs == BITMAP)
        for (unsigned i = 0; i < places; i += 8)
            gw__put_u8(w, s->bitmap.words[i / 64] >> i % 64 & 255);
    else
        for (unsigned i = 0; i < 2 * s->arcs; i++)
            gw__put_u16(w, s->edges[i].place | (s->edges[i].moves ? MOVES : 0));
}

static void put_chunks(struct gw__writer *w, const struct gw__places *places,
                       const struct gw__held_chunk *held, unsigned chunks)
{
    struct segment s = segment_of(places, &held[0], 0);
    for (unsigned c = 1; c < chunks; c++) {
        struct segment next = segment_of(places, &held[c], c);
        if (extend(&s, &next, places->count))
            continue;
        put_segment(w, &s, places->count);
        s = next;
    }
    put_segment(w, &s, places->count);
}

void gw__holdings_pack(struct gw__holdings *holdings,
                       const struct gw__places *places,
                       const struct gw__held_chunk *held, unsigned chunks)
{
    const struct segment none = {.end = chunks};
    *holdings = (struct gw__holdings){.chunks = (uint16_t)chunks,
                                      .places = (uint16_t)places->count,
                                      .members = hash_of(places)};
    struct gw__writer w = gw__writer_on(holdings->data, sizeof holdings->data);
    put_chunks(&w, places, held, chunks);
    if (!gw__writer_fits(&w)) {
        memset(holdings->data, 0, sizeof holdings->data);
        w = gw__writer_on(holdings->data, sizeof holdings->data);
        put_segment(&w, &none, places->count);
    }
    holdings->bytes = (uint16_t)w.used;
}

/* ---- unpacking ---- */

static struct gw_nodes get_bitmap(struct gw__reader *r, unsigned places)
{
    struct gw_nodes bitmap = {{0}};
    for (unsigned i = 0; i < places; i += 8)
        bitmap.words[i / 64] |= (uint64_t)gw__get_u8(r) << i % 64;
    gw__reader_demand(r, gw__nodes_within(bitmap, gw__nodes_first(places)));
    return bitmap;
}

static struct edge get_edge(struct gw__reader *r, unsigned places)
{
    unsigned edge = gw__get_u16(r);
    gw__reader_demand(r, (edge & ~(unsigned)MOVES) < places);
    return (struct edge){edge & ~(unsigned)MOVES, edge & MOVES};
}

/* The next segment after `s`, in which it is stored; bad at the end. */
static void get_segment(struct gw__reader *r, unsigned places,
                        struct segment *s)
{
    unsigned begin = s->end;
    *s = (struct segment){.begin = begin, .end = gw__get_u16(r)};
    unsigned form = gw__get_u8(r);
    s->final = form & 1;
    s->arcs = form >> 1;
    gw__reader_demand(r, s->end > begin);
    gw__reader_demand(r, s->arcs <= ARCS_MAX || s->arcs == BITMAP);
    gw__reader_demand(r, s->arcs > 0 || !s->final);
    if (s->arcs == BITMAP)
        s->bitmap = get_bitmap(r, places);
    for (unsigned i = 0; !r->bad && s->arcs != BITMAP && i < 2 * s->arcs; i++)
        s->edges[i] = get_edge(r, places);
}

static struct gw_nodes set_of(const struct segment *s,
                              const struct gw__places *places, unsigned chunk)
{
    struct gw_nodes set = {{0}};
    unsigned n = places->count, steps = chunk - s->begin;
    if (s->arcs == BITMAP) {
        for (unsigned place = 0; place < n; place++)
            if (gw__nodes_has(&s->bitmap, place))
                gw__nodes_add(&set, places->nodes[place]);
        return set;
    }
    for (unsigned i = 0; i < 2 * s->arcs; i += 2) {
        unsigned place = place_at(&s->edges[i], steps, n);
        unsigned last = place_at(&s->edges[i + 1], steps, n);
        for (; place != last; place = (place + 1) % n)
            gw__nodes_add(&set, places->nodes[place]);
        gw__nodes_add(&set, places->nodes[last]);
    }
    return set;
}

static struct gw__reader reader_of(const struct gw__holdings *h)
{
    return gw__reader_on(h->data, h->bytes);
}

struct gw__held_chunk gw__holdings_of(const struct gw__holdings *h,
                                      const struct gw__places *places,
                                      unsigned chunk)
{
    struct gw__reader r = reader_of(h);
    struct segment s = {.end = 0};
    while (!r.bad && s.end <= chunk)
        get_segment(&r, h->places, &s);
    if (r.bad)
        return (struct gw__held_chunk){.final = false};
    return (struct gw__held_chunk){set_of(&s, places, chunk), s.final};
}

void gw__holdings_unpack(const struct gw__holdings *h,
                         const struct gw__places *places, struct gw_nodes *sets)
{
    struct gw__reader r = reader_of(h);
    struct segment s = {.end = 0};
    for (unsigned c = 0; c < h->chunks && !r.bad; c++) {
        if (c == s.end)
            get_segment(&r, h->places, &s);
        sets[c] = set_of(&s, places, c);
    }
}

bool gw__holdings_match(const struct gw__holdings *h,
                        const struct gw__places *places, unsigned chunks)
{
    return h->chunks == chunks && h->places == places->count &&
           h->members == hash_of(places);
}

/* ---- as bytes ---- */

void gw__put_holdings(struct gw__writer *w, const struct gw__holdings *h)
{
    gw__put_u16(w, h->chunks);
    gw__put_u16(w, h->places);
    gw__put_u32(w, h->members);
    gw__put_u16(w, h->bytes);
    gw__put_bytes(w, h->data, h->bytes);
}

void gw__get_holdings(struct gw__reader *r, struct gw__holdings *h)
{
    struct segment s = {.end = 0};
    *h = (struct gw__holdings){
        .chunks = (uint16_t)gw__get_u16_below(r, GW__REPORT_CHUNKS_MAX + 1)};
    h->places = (uint16_t)gw__get_u16_below(r, GW__NODES_MAX + 1);
    h->members = gw__get_u32(r);
    h->bytes = (uint16_t)gw__get_u16_below(r, sizeof h->data + 1);
    gw__get_bytes(r, h->data, h->bytes);
    gw__reader_demand(r, h->chunks > 0 && h->places > 0);
    struct gw__reader data = reader_of(h);
    while (!r->bad && !data.bad && s.end < h->chunks)
        get_segment(&data, h->places, &s);
    gw__reader_demand(r, gw__reader_done(&data) && s.end == h->chunks);
}
