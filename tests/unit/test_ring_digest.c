/* SPDX-License-Identifier: MIT
 *
 * The digest of a result covers all bytes of a small one. Of a large one it is
 * over samples: a wrong piece shows in that op, and a wrong byte in some op.
 */
#include <ring/ring_parts.h>

#include <check.h>
#include <stdlib.h>

enum { SMALL = GW__DIGEST_WHOLE_BYTES, LARGE = (1 << 20) + 37, PARTS = 64 };

static unsigned char *new_result(size_t bytes)
{
    unsigned char *result = malloc(bytes);
    ck_assert_ptr_nonnull(result);
    for (size_t i = 0; i < bytes; i++)
        result[i] = (unsigned char)(i * 31 >> 3);
    return result;
}

/* Does the digest change with bytes [begin, end)? */
static bool sees(unsigned char *result, size_t bytes, uint64_t op, size_t begin,
                 size_t end)
{
    uint64_t before = gw__keep_digest(result, bytes, op, 7);
    for (size_t i = begin; i < end; i++)
        result[i] ^= 1;
    uint64_t after = gw__keep_digest(result, bytes, op, 7);
    for (size_t i = begin; i < end; i++)
        result[i] ^= 1;
    return before != after;
}

START_TEST(each_byte_of_a_small_result_counts)
{
    unsigned char *result = new_result(SMALL);
    for (size_t at = 0; at < SMALL; at += 97)
        ck_assert(sees(result, SMALL, 1, at, at + 1));
    ck_assert(sees(result, SMALL, 1, SMALL - 1, SMALL));
    free(result);
}
END_TEST

START_TEST(a_wrong_chunk_of_a_large_result_is_seen_at_once)
{
    const size_t chunk = 2 * (LARGE / PARTS + 1);
    unsigned char *result = new_result(LARGE);
    for (uint64_t op = 0; op < 10; op++) {
        for (size_t at = 0; at + chunk <= LARGE; at += 5001)
            ck_assert(sees(result, LARGE, op, at, at + chunk));
        ck_assert(sees(result, LARGE, op, LARGE - chunk, LARGE));
    }
    free(result);
}
END_TEST

/* A part has 16 KiB here, so a byte is sampled about every 256 ops. */
START_TEST(each_byte_of_a_large_result_has_its_turn)
{
    const size_t bytes[] = {0, 1, 4097, LARGE / 2, LARGE - 2, LARGE - 1};
    unsigned char *result = new_result(LARGE);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        uint64_t op = 0;
        while (op < 1 << 13 && !sees(result, LARGE, op, bytes[i], bytes[i] + 1))
            op++;
        ck_assert_msg(op < 1 << 13, "byte %zu never counts", bytes[i]);
    }
    free(result);
}
END_TEST

START_TEST(length_and_seed_count)
{
    unsigned char *result = new_result(LARGE);
    uint64_t digest = gw__keep_digest(result, LARGE, 3, 7);
    ck_assert_uint_ne(digest, gw__keep_digest(result, LARGE - 1, 3, 7));
    ck_assert_uint_ne(digest, gw__keep_digest(result, LARGE, 3, 8));
    ck_assert_uint_eq(digest, gw__keep_digest(result, LARGE, 3, 7));
    free(result);
}
END_TEST

Suite *suite_ring_digest(void);

Suite *suite_ring_digest(void)
{
    Suite *suite = suite_create("ring digest");
    TCase *tcase = tcase_create("digest");
    tcase_add_test(tcase, each_byte_of_a_small_result_counts);
    tcase_add_test(tcase, a_wrong_chunk_of_a_large_result_is_seen_at_once);
    tcase_add_test(tcase, each_byte_of_a_large_result_has_its_turn);
    tcase_add_test(tcase, length_and_seed_count);
    suite_add_tcase(suite, tcase);
    return suite;
}
