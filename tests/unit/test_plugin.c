/* SPDX-License-Identifier: MIT
 *
 * Opening plug-ins: a valid one gives its exports; any error of a file is a
 * message that begins with its path.
 */
#include <gradwire/plan.h>
#include <gradwire/plugin.h>

#include "plugin_file.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Suite *suite_plugin(void);

#define HEAD "#include <gradwire/gradwire.h>\n"
#define ALGO "static const struct gw_algo mine = {.name = \"mine\"};\n"

/* A plug-in with those members. */
#define PLUGIN(members)                                                        \
    HEAD ALGO "const struct gw_plugin gw_plugin = {" members "};"

static struct gw_plugin *plugin;
static struct gw_error why;

/* *plugin must become NULL. */
static void refused(const char *path, enum gw_plugin_kind kind,
                    const char *sentence)
{
    char whole[512];
    struct gw_plugin other;
    plugin = &other;
    ck_assert_int_eq(gw_plugin_open(path, kind, &plugin, &why), GW_EDATA);
    ck_assert_ptr_null(plugin);
    snprintf(whole, sizeof whole, "%s%s", path, sentence);
    ck_assert_str_eq(why.text, whole);
    ck_assert_int_eq(gw_plugin_open(path, kind, &plugin, NULL), GW_EDATA);
}

static void text_refused(const char *text, enum gw_plugin_kind kind,
                         const char *sentence)
{
    struct plugin_file file = plugin_file_from_text(text);
    refused(file.path, kind, sentence);
    plugin_file_remove(&file);
}

START_TEST(good)
{
    struct plugin_file file = plugin_file_from_text(
        PLUGIN(".version = GW_PLUGIN_VERSION, .kind = GW_PLUGIN_PLAN,"
               ".name = \"mine\", .summary = \"what it does\", .plan = &mine"));
    enum gw_err err = gw_plugin_open(file.path, GW_PLUGIN_PLAN, &plugin, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    ck_assert_str_eq(plugin->name, "mine");
    ck_assert_str_eq(plugin->summary, "what it does");
    ck_assert_str_eq(plugin->plan->name, "mine");
    gw_plugin_close(&plugin);
    ck_assert_ptr_null(plugin);
    gw_plugin_close(&plugin);
    plugin_file_remove(&file);
}
END_TEST

START_TEST(bare_name_is_of_this_directory)
{
    struct plugin_file file = plugin_file_from_text(
        PLUGIN(".version = GW_PLUGIN_VERSION, .kind = GW_PLUGIN_PLAN,"
               ".name = \"mine\", .summary = \"\", .plan = &mine"));
    ck_assert_int_eq(chdir(file.folder), 0);
    ck_assert_int_eq(gw_plugin_open("it.so", GW_PLUGIN_PLAN, &plugin, &why),
                     GW_OK);
    gw_plugin_close(&plugin);
    refused("other.so", GW_PLUGIN_PLAN, ": no such file");
    plugin_file_remove(&file);
}
END_TEST

START_TEST(no_shared_object)
{
    refused("/nowhere/it.so", GW_PLUGIN_PLAN, ": no such file");
    refused("Makefile", GW_PLUGIN_PLAN, ": invalid ELF header");
    refused("tests", GW_PLUGIN_PLAN, ": not a regular file");
    refused("lib/base/plugin.c", GW_PLUGIN_PLAN,
            " is source; compile it first: cc -shared -fPIC -I lib/include -o "
            "mine.so");
}
END_TEST

START_TEST(symbols)
{
    text_refused("int other = 1;\n", GW_PLUGIN_PLAN,
                 " does not export gw_plugin (see gradwire-plugin(7))");
    text_refused("int gw_none(void); int call(void);\n"
                 "int call(void) { return gw_none(); }\n",
                 GW_PLUGIN_PLAN, ": undefined symbol: gw_none");
}
END_TEST

START_TEST(version_and_kind)
{
    text_refused(
        PLUGIN(".version = 77, .kind = GW_PLUGIN_PLAN,"
               ".name = \"mine\", .summary = \"\", .plan = &mine"),
        GW_PLUGIN_PLAN,
        " is a plug-in of version 77; this is version 1: compile it again");
    text_refused(PLUGIN(".version = GW_PLUGIN_VERSION,"
                        ".kind = (enum gw_plugin_kind)99,"
                        ".name = \"mine\", .summary = \"\", .plan = &mine"),
                 GW_PLUGIN_PLAN, ": plug-ins of kind 99 are unknown");
    text_refused(PLUGIN(".version = GW_PLUGIN_VERSION, .kind = GW_PLUGIN_PLAN,"
                        ".name = \"mine\", .summary = \"\", .plan = &mine"),
                 GW_PLUGIN_KINDS,
                 " is a plug-in of kind plan; a plug-in of kind ? is needed");
}
END_TEST

START_TEST(null_pointers)
{
    text_refused(PLUGIN(".version = GW_PLUGIN_VERSION, .kind = GW_PLUGIN_PLAN,"
                        ".summary = \"\", .plan = &mine"),
                 GW_PLUGIN_PLAN, ": gw_plugin has no name");
    text_refused(PLUGIN(".version = GW_PLUGIN_VERSION, .kind = GW_PLUGIN_PLAN,"
                        ".name = \"\", .summary = \"\", .plan = &mine"),
                 GW_PLUGIN_PLAN, ": gw_plugin has no name");
    text_refused(PLUGIN(".version = GW_PLUGIN_VERSION, .kind = GW_PLUGIN_PLAN,"
                        ".name = \"mine\", .plan = &mine"),
                 GW_PLUGIN_PLAN, ": gw_plugin has no summary");
    text_refused(HEAD "const struct gw_plugin gw_plugin = {"
                      ".version = GW_PLUGIN_VERSION, .kind = GW_PLUGIN_PLAN,"
                      ".name = \"mine\", .summary = \"\"};",
                 GW_PLUGIN_PLAN, ": gw_plugin.plan is NULL");
}
END_TEST

START_TEST(kinds_have_names)
{
    for (unsigned i = 0; i < GW_PLUGIN_KINDS; i++)
        ck_assert_uint_gt(strlen(gw_plugin_kind_name((enum gw_plugin_kind)i)),
                          1);
    ck_assert_str_eq(gw_plugin_kind_name(GW_PLUGIN_PLAN), "plan");
    ck_assert_str_eq(gw_plugin_kind_name(GW_PLUGIN_KINDS), "?");
}
END_TEST

Suite *suite_plugin(void)
{
    Suite *suite = suite_create("plugin");
    TCase *opening = tcase_create("plugin_opening");
    tcase_add_test(opening, good);
    tcase_add_test(opening, bare_name_is_of_this_directory);
    tcase_add_test(opening, kinds_have_names);
    suite_add_tcase(suite, opening);
    TCase *refusals = tcase_create("plugin_refusals");
    tcase_add_test(refusals, no_shared_object);
    tcase_add_test(refusals, symbols);
    tcase_add_test(refusals, version_and_kind);
    tcase_add_test(refusals, null_pointers);
    suite_add_tcase(suite, refusals);
    return suite;
}
