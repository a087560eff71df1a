/* SPDX-License-Identifier: MIT
 *
 * See plugin_file.h.
 */
#include "plugin_file.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void compile(const struct plugin_file *file, const char *source)
{
    char command[512];
    snprintf(command, sizeof command,
             "%s -shared -fPIC -Wall -Wextra -Werror -I lib/include -o %s %s",
             getenv("CC") ? getenv("CC") : "cc", file->path, source);
    bool compiled = system(command) == 0;
    if (!compiled)
        plugin_file_remove(file);
    ck_assert_msg(compiled, "%s", command);
}

static struct plugin_file make_folder(void)
{
    struct plugin_file file = {"/tmp/gradwire-test-plugin-XXXXXX", ""};
    ck_assert_ptr_nonnull(mkdtemp(file.folder));
    snprintf(file.path, sizeof file.path, "%s/it.so", file.folder);
    return file;
}

static void source_of(const struct plugin_file *file, char out[64])
{
    snprintf(out, 64, "%s/it.c", file->folder);
}

struct plugin_file plugin_file_from_text(const char *text)
{
    char source[64];
    struct plugin_file file = make_folder();
    source_of(&file, source);
    FILE *stream = fopen(source, "we");
    ck_assert_ptr_nonnull(stream);
    fputs(text, stream);
    ck_assert_int_eq(fclose(stream), 0);
    compile(&file, source);
    return file;
}

struct plugin_file plugin_file_from_source(const char *source)
{
    struct plugin_file file = make_folder();
    compile(&file, source);
    return file;
}

void plugin_file_remove(const struct plugin_file *file)
{
    char source[64];
    source_of(file, source);
    unlink(source);
    unlink(file->path);
    ck_assert_int_eq(rmdir(file->folder), 0);
}
