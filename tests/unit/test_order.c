/* SPDX-License-Identifier: MIT
 *
 * The order of rows: a permutation determined by seed and epoch alone, cut into
 * batches, and these into shares.
 */
#include <gradwire/learn.h>

#include <check.h>

Suite *suite_order(void);

enum { ROWS = 210 };

static struct gw_order order;
static struct gw_error why;

static void clean(void)
{
    gw_order_fini(&order);
}

START_TEST(shuffle_is_a_permutation)
{
    enum { MANY = 1000 };
    for (unsigned epoch = 0; epoch < 20; epoch++) {
        bool seen[MANY] = {false};
        size_t at_home = 0;
        ck_assert_int_eq(gw_order_init(&order, MANY, 7, epoch, &why), GW_OK);
        gw_order_shuffle(&order, epoch);
        for (size_t i = 0; i < MANY; i++) {
            ck_assert_uint_lt(order.row[i], MANY);
            ck_assert_msg(!seen[order.row[i]], "row %u comes twice",
                          order.row[i]);
            seen[order.row[i]] = true;
            at_home += order.row[i] == i;
        }
        ck_assert_msg(at_home < 12, "%zu of %d rows stayed, one is expected",
                      at_home, MANY);
        gw_order_fini(&order);
    }
}
END_TEST

/* Only seed and epoch matter, not earlier shuffles. */
START_TEST(shuffle_is_stable)
{
    struct gw_order other;
    ck_assert_int_eq(gw_order_init(&order, ROWS, 7, 5, &why), GW_OK);
    ck_assert_int_eq(gw_order_init(&other, ROWS, 50, 5, &why), GW_OK);
    gw_order_shuffle(&order, 3);
    for (unsigned epoch = 0; epoch <= 3; epoch++)
        gw_order_shuffle(&other, epoch);
    ck_assert_mem_eq(order.row, other.row, ROWS * sizeof *other.row);
    gw_order_shuffle(&other, 4);
    ck_assert_mem_ne(order.row, other.row, ROWS * sizeof *other.row);
    other.seed = 6;
    gw_order_shuffle(&other, 3);
    ck_assert_mem_ne(order.row, other.row, ROWS * sizeof *other.row);
    gw_order_fini(&other);
}
END_TEST

/* Each row occurs once; the shares of a batch are adjacent and differ by at
 * most one row. */
static void expect_shares(size_t rows, size_t batch, unsigned ranks)
{
    size_t next = 0;
    ck_assert_int_eq(gw_order_init(&order, rows, batch, 1, &why), GW_OK);
    for (size_t b = 0; b < gw_order_batches(&order); b++) {
        size_t least = SIZE_MAX, most = 0, sum = 0;
        for (unsigned rank = 0; rank < ranks; rank++) {
            size_t count;
            const uint32_t *share =
                gw_order_share(&order, b, rank, ranks, &count);
            ck_assert_ptr_eq(share, order.row + next);
            next += count;
            sum += count;
            least = count < least ? count : least;
            most = count > most ? count : most;
        }
        ck_assert_uint_eq(sum, gw_order_batch_rows(&order, b));
        ck_assert_uint_le(most - least, 1);
    }
    ck_assert_uint_eq(next, rows);
    gw_order_fini(&order);
}

START_TEST(every_row_has_one_owner)
{
    for (size_t rows = 1; rows <= 30; rows++)
        for (size_t batch = 0; batch <= rows + 1; batch++)
            for (unsigned ranks = 1; ranks <= 9; ranks++)
                expect_shares(rows, batch, ranks);
}
END_TEST

Suite *suite_order(void)
{
    Suite *suite = suite_create("order");
    TCase *c = tcase_create("order");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, shuffle_is_a_permutation);
    tcase_add_test(c, shuffle_is_stable);
    tcase_add_test(c, every_row_has_one_owner);
    suite_add_tcase(suite, c);
    return suite;
}
