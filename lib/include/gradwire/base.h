/* SPDX-License-Identifier: MIT
 *
 * Errors, time, seeded random numbers and the parsing of sizes and durations:
 * what every other module stands on.
 *
 * Errors are values. A function that can fail returns `enum gw_err`, and takes
 * as its last argument a `struct gw_error *why` (NULL is allowed) that receives
 * the code and a sentence. Callers add context on the way up with `gw_wrap`,
 * so that a person reads
 *     allreduce op 12: rank 0 waits for rank 3, chunk 5: peer lost
 * The library never prints, never exits, and asserts only on its own state.
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
 * with it. GW_PENDING is not an error: the thing is under way. */
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

/* A result with its sentence. `text` is always terminated. */
struct gw_error {
    enum gw_err code;
    char text[512];
};

/* "GW_ELOST" */
GW_API const char *gw_err_name(enum gw_err code);
/* "peer lost" */
GW_API const char *gw_err_text(enum gw_err code);
/* The exit status of a tool that ends with `code` (sysexits). */
GW_API int gw_err_exit(enum gw_err code);

/* Sets *why (if not NULL) to `code` and the sentence, and returns `code`. What
 * happened (GW_ENOMEM, GW_EINTR...) ends it: "a stage: out of memory". */
GW_API enum gw_err gw_fail(struct gw_error *why, enum gw_err code,
                           const char *format, ...) GW_PRINTF(3, 4);
/* As gw_fail with GW_ESYS, or GW_ENOMEM, GW_ENOSPC, GW_EINTR where errno says
 * so; appends ": " and the text of errno or of the code. */
GW_API enum gw_err gw_fail_errno(struct gw_error *why, const char *format, ...)
    GW_PRINTF(2, 3);
/* Puts context before the sentence already in *why; returns why->code (or
 * `code` when why is NULL). */
GW_API enum gw_err gw_wrap(struct gw_error *why, enum gw_err code,
                           const char *format, ...) GW_PRINTF(3, 4);

/* What happens beside any call and somebody should know all the same, such as
 * that a stranger without the cluster's key was refused: a sentence, told once,
 * from any thread of the library; `tell` must not call the library. NULL:
 * nobody hears it. To be set before anything is opened. */
typedef void gw_notice(void *context, const char *sentence);
GW_API void gw_notice_to(gw_notice *tell, void *context);

/* Monotonic time in nanoseconds; only differences mean anything. */
GW_API uint64_t gw_now_ns(void);

/* xoshiro256** (Blackman, Vigna 2018), seeded through splitmix64: small, fast,
 * the same sequence everywhere. Not for secrets. */
struct gw_rng {
    uint64_t state[4];
};
GW_API void gw_rng_seed(struct gw_rng *rng, uint64_t seed);
GW_API uint64_t gw_rng_next(struct gw_rng *rng);
/* Uniform in [0, bound); bound > 0. */
GW_API uint64_t gw_rng_below(struct gw_rng *rng, uint64_t bound);
/* Uniform in [0, 1) with 53 random bits. */
GW_API double gw_rng_unit(struct gw_rng *rng);

/* "64", "1K", "4M", "2G", "1KiB", "16MB": K, M, G are powers of 1024. */
GW_API GW_MUST_CHECK enum gw_err
gw_parse_bytes(const char *text, uint64_t *bytes, struct gw_error *why);
/* "5us", "20ms", "1.5s", "2m"; a bare number means seconds. Result in ns. */
GW_API GW_MUST_CHECK enum gw_err
gw_parse_duration(const char *text, uint64_t *ns, struct gw_error *why);
/* "512", "1K", "1.5M": powers of 1024, the shortest exact or 3-digit form. */
GW_API void gw_format_bytes(uint64_t bytes, char out[16]);

/* 64-bit FNV-1a of `bytes` bytes, continued from `seed` (0 to begin). */
GW_API uint64_t gw_hash(const void *data, size_t bytes, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
