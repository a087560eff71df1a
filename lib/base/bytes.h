/* SPDX-License-Identifier: MIT
 *
 * Numbers to bytes and back: little-endian, no padding, no alignment, the same
 * on every machine. Logs, snapshots and messages are written and read with
 * these functions.
 *
 * Neither side checks each step. A writer without enough room goes on counting,
 * and one without any room (`out` NULL) only counts and hashes. A reader at the
 * end of its bytes, or whose caller rejects a value, turns `bad` and returns
 * zeros from then on. One check at the end covers all of it.
 */
#ifndef GW__BASE_BYTES_H
#define GW__BASE_BYTES_H

#include <gradwire/base.h>

/* 128 random bits that identify a process (its incarnation) or a client. All
 * zero: none. */
struct gw__id {
    uint64_t high;
    uint64_t low;
};

bool gw__id_equal(struct gw__id a, struct gw__id b);
bool gw__id_is_none(struct gw__id id);

struct gw__writer {
    uint8_t *out; /* NULL: count and hash */
    size_t room;
    size_t used;   /* needed so far; more than `room` if it did not fit */
    uint64_t hash; /* gw_hash of the bytes, where `out` is NULL */
};

struct gw__writer gw__writer_on(void *out, size_t room);
bool gw__writer_fits(const struct gw__writer *writer);
void gw__put_u8(struct gw__writer *writer, unsigned value);
void gw__put_u16(struct gw__writer *writer, unsigned value);
void gw__put_u32(struct gw__writer *writer, uint32_t value);
void gw__put_u64(struct gw__writer *writer, uint64_t value);
void gw__put_f64(struct gw__writer *writer, double value);
void gw__put_id(struct gw__writer *writer, struct gw__id id);
void gw__put_bytes(struct gw__writer *writer, const void *data, size_t bytes);
/* The length first. A text longer than 65535 bytes is cut. */
void gw__put_text(struct gw__writer *writer, const char *text);

struct gw__reader {
    const uint8_t *at;
    size_t left;
    bool bad;
};

struct gw__reader gw__reader_on(const void *data, size_t bytes);
/* All bytes have been read, and all were valid. */
bool gw__reader_done(const struct gw__reader *reader);
/* Turns bad unless `holds`. */
void gw__reader_demand(struct gw__reader *reader, bool holds);
unsigned gw__get_u8(struct gw__reader *reader);
unsigned gw__get_u16(struct gw__reader *reader);
uint32_t gw__get_u32(struct gw__reader *reader);
uint64_t gw__get_u64(struct gw__reader *reader);
double gw__get_f64(struct gw__reader *reader);
/* A number below `bound`, or bad and 0. */
unsigned gw__get_u8_below(struct gw__reader *reader, unsigned bound);
unsigned gw__get_u16_below(struct gw__reader *reader, unsigned bound);
/* 0 or 1. */
bool gw__get_bool(struct gw__reader *reader);
struct gw__id gw__get_id(struct gw__reader *reader);
void gw__get_bytes(struct gw__reader *reader, void *out, size_t bytes);
/* Printable ASCII that fits `size` with its end; "" if bad. */
void gw__get_text(struct gw__reader *reader, char *out, size_t size);

#endif
