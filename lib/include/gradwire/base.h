/* SPDX-License-Identifier: MIT
 *
 * Errors, time, seeded random numbers, and the parsing of sizes and durations.
 * All other modules use this one.
 *
 * Errors are values. A function that can fail returns `enum gw_err`. Its last
 * argument is a `struct gw_error *why`, which may be NULL: on failure it
 * receives the code and a sentence, on success it is unchanged. Callers add
 * context on the way up with `gw_wrap`, so that a person reads
 *     allreduce op 12: rank 0 waits for rank 3, chunk 5: peer lost
 * The library never prints, never exits, and asserts only on its own state.
 * Where a header names no thread, a function without a handle may be called
 * from any thread.
 */
#ifndef GRADWIRE_BASE_H
#define GRADWIRE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GW_API                 __attribute__((visibility("default")))
#define GW_MUST_CHECK          __attribute__((warn_unused_result))
#define GW_PRINTF(text, first) __attribute__((__format__(printf, text, first)))

#define GW_VERSION "0.1.0"

/* The one list of results: name, value, text, exit status of a tool that ends
 * with it. GW_PENDING is not an error: the operation is in progress. */
#define GW_ERRORS(X)                                                           \
    X(GW_OK, 0, "ok", 0)                                                       \
    X(GW_PENDING, 1, "not finished yet", 70)                                   \
    X(GW_EINVAL, -1, "invalid argument", 64)                                   \
    X(GW_ENOMEM, -2, "out of memory", 70)                                      \
    X(GW_ESYS, -3, "system call failed", 70)                                   \
    X(GW_ENOSPC, -4, "no room for shared memory", 70)                          \
    X(GW_EDATA, -5, "bad input", 65)                                           \
    X(GW_EPLAN, -6, "the plan is wrong", 1)                                    \
    X(GW_EMISMATCH, -7, "ranks called different things", 1)                    \
    X(GW_ELOST, -8, "peer lost", 1)                                            \
    X(GW_ETIMEOUT, -9, "timed out", 124)                                       \
    X(GW_ECLOSED, -10, "closed", 1)                                            \
    X(GW_EUNREACH, -11, "cannot reach", 69)                                    \
    X(GW_ENOTSUP, -12, "not supported", 64)                                    \
    X(GW_EINTR, -13, "interrupted", 130)                                       \
    X(GW_EWRONG, -14, "wrong result", 1)                                       \
    X(GW_EINTERNAL, -15, "internal error", 70)                                 \
    X(GW_ENUMERIC, -16, "not a finite number", 65)                             \
    X(GW_EUNSURE, -17, "inconclusive", 2)

enum gw_err {
#define X(name, value, text, status) name = value,
    GW_ERRORS(X)
#undef X
};

/* A result with its sentence, which is always terminated. */
struct gw_error {
    enum gw_err code;
    char text[512];
};

/* Returns the name of a code: "GW_ELOST". The string is constant. */
GW_API const char *gw_err_name(enum gw_err code);
/* Returns the text of a code: "peer lost". The string is constant. */
GW_API const char *gw_err_text(enum gw_err code);
/* Returns the exit status of a tool that ends with `code` (sysexits). */
GW_API int gw_err_exit(enum gw_err code);

/* Reports a failure: sets *why (if not NULL) to `code` and the formatted
 * sentence, and returns `code`. A code that names the cause (GW_ENOMEM,
 * GW_EINTR...) adds its text at the end: "a stage: out of memory". Sentences
 * are cut at 511 bytes. */
GW_API enum gw_err gw_fail(struct gw_error *why, enum gw_err code,
                           const char *format, ...) GW_PRINTF(3, 4);
/* Reports a failed system call, as gw_fail does. The code follows errno:
 * GW_ENOMEM, GW_ENOSPC, GW_EINTR or else GW_ESYS. The sentence ends with ": "
 * and the text of errno or of the code. */
GW_API enum gw_err gw_fail_errno(struct gw_error *why, const char *format, ...)
    GW_PRINTF(2, 3);
/* Puts context before the sentence in *why. Returns why->code, or `code` when
 * why is NULL. */
GW_API enum gw_err gw_wrap(struct gw_error *why, enum gw_err code,
                           const char *format, ...) GW_PRINTF(3, 4);

/* A function that receives notices: sentences about events outside of any call,
 * such as a refused connection without the cluster's key. Each event is
 * reported once, from any thread of the library. The function must not call the
 * library. */
typedef void gw_notice(void *context, const char *sentence);
/* Sets the receiver of all notices of this process. NULL, the default, drops
 * them. Call it before any communicator, ring or server is opened. */
GW_API void gw_notice_to(gw_notice *receiver, void *context);

/* A link profile: the emulated effect of the link from one node to another on
 * its messages, control messages and data alike. It belongs to the ordered pair
 * of nodes, not to the processes: a restarted node keeps it. */
struct gw_link_profile {
    uint32_t delay_us, jitter_us;
    uint64_t rate;     /* bytes per second; 0: no limit */
    uint32_t loss_ppm; /* lost messages per million */
    bool down;
};

/* Returns monotonic time in nanoseconds. Only differences have a meaning. */
GW_API uint64_t gw_now_ns(void);

/* The state of a random number generator: xoshiro256** (Blackman, Vigna 2018).
 * Its sequence is the same on every machine. It is not for secrets. A generator
 * belongs to one thread. */
struct gw_rng {
    uint64_t state[4];
};
/* Starts the sequence that belongs to `seed`, by splitmix64. */
GW_API void gw_rng_seed(struct gw_rng *rng, uint64_t seed);
/* Returns 64 random bits. */
GW_API uint64_t gw_rng_next(struct gw_rng *rng);
/* Returns a uniform number in [0, bound); `bound` must be above 0. */
GW_API uint64_t gw_rng_below(struct gw_rng *rng, uint64_t bound);
/* Returns a uniform number in [0, 1) with 53 random bits. */
GW_API double gw_rng_unit(struct gw_rng *rng);

/* Reads a size in bytes: "64", "1K", "4M", "2G", "1KiB", "16MB". K, M and G are
 * powers of 1024. GW_EINVAL: any other text, a negative size, or one of 2^63 or
 * more; *bytes is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_parse_bytes(const char *text, uint64_t *bytes, struct gw_error *why);
/* Reads a duration into nanoseconds: "5us", "20ms", "1.5s", "2m", "1h". A
 * number without a unit is in seconds. Errors as in gw_parse_bytes; *ns is
 * unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_parse_duration(const char *text, uint64_t *ns, struct gw_error *why);
/* Writes a size in the form of gw_parse_bytes: "512", "1K", "1.5M". It is exact
 * if three digits suffice, otherwise rounded to three digits. */
GW_API void gw_format_bytes(uint64_t bytes, char out[16]);

/* Returns the 64-bit FNV-1a hash of `bytes` bytes, continued from `seed` (0 for
 * the first part). It detects differences, not attacks. */
GW_API uint64_t gw_hash(const void *data, size_t bytes, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
