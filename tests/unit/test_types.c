/* SPDX-License-Identifier: MIT
 *
 * Names and sizes of types, and the reductions allowed for each.
 */
#include <gradwire/coll.h>

#include <check.h>

Suite *suite_types(void);

START_TEST(test_dtype_names)
{
    struct gw_error why;
    for (unsigned i = 0; i < GW_DTYPE_COUNT; i++) {
        enum gw_dtype type;
        ck_assert_int_eq(gw_dtype_parse(gw_dtype_name(i), &type, &why), GW_OK);
        ck_assert_uint_eq(type, i);
    }
    ck_assert_str_eq(gw_dtype_name(GW_BF16), "bf16");
    ck_assert_str_eq(gw_dtype_name(GW_DTYPE_COUNT), "?");
}
END_TEST

START_TEST(test_dtype_sizes)
{
    ck_assert_uint_eq(gw_dtype_size(GW_I8), 1);
    ck_assert_uint_eq(gw_dtype_size(GW_BF16), 2);
    ck_assert_uint_eq(gw_dtype_size(GW_F32), 4);
    ck_assert_uint_eq(gw_dtype_size(GW_U64), 8);
    ck_assert_uint_eq(gw_dtype_size(GW_DTYPE_COUNT), 0);
}
END_TEST

START_TEST(test_redop_names)
{
    struct gw_error why;
    for (unsigned i = 0; i < GW_REDOP_COUNT; i++) {
        enum gw_redop op;
        ck_assert_int_eq(gw_redop_parse(gw_redop_name(i), &op, &why), GW_OK);
        ck_assert_uint_eq(op, i);
    }
    ck_assert_str_eq(gw_redop_name(GW_LAND), "land");
    ck_assert_str_eq(gw_redop_name(GW_REDOP_COUNT), "?");
}
END_TEST

START_TEST(test_unknown_names)
{
    struct gw_error why;
    enum gw_dtype type = GW_U8;
    enum gw_redop op = GW_MAX;
    ck_assert_int_eq(gw_dtype_parse("f8", &type, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "\"f8\" is not an element type; use one of i8 "
                               "i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64");
    ck_assert_int_eq(gw_redop_parse("", &op, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "\"\" is not a reduction; use one of sum prod "
                               "min max avg land lor band bor");
    ck_assert_int_eq(gw_redop_parse("mean", &op, NULL), GW_EINVAL);
    ck_assert_uint_eq(type, GW_U8);
    ck_assert_uint_eq(op, GW_MAX);
}
END_TEST

START_TEST(test_allowed)
{
    unsigned pairs = 0;
    for (unsigned op = 0; op < GW_REDOP_COUNT; op++)
        for (unsigned type = 0; type < GW_DTYPE_COUNT; type++)
            pairs += gw_redop_allowed(op, type);
    ck_assert_uint_eq(pairs, 8 * 9 + 4 * 5);
    ck_assert(gw_redop_allowed(GW_AVG, GW_BF16));
    ck_assert(gw_redop_allowed(GW_BOR, GW_U64));
    ck_assert(!gw_redop_allowed(GW_LAND, GW_F16));
    ck_assert(!gw_redop_allowed(GW_BOR, GW_F64));
    ck_assert(!gw_redop_allowed(GW_REDOP_COUNT, GW_I8));
    ck_assert(!gw_redop_allowed(GW_SUM, GW_DTYPE_COUNT));
}
END_TEST

Suite *suite_types(void)
{
    Suite *suite = suite_create("types");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_dtype_names);
    tcase_add_test(all, test_dtype_sizes);
    tcase_add_test(all, test_redop_names);
    tcase_add_test(all, test_unknown_names);
    tcase_add_test(all, test_allowed);
    suite_add_tcase(suite, all);
    return suite;
}
