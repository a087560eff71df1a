/* SPDX-License-Identifier: MIT
 *
 * Plug-ins that tests compile at run time: a folder with one source and one
 * shared object. Tests run in the source tree, hence -I lib/include.
 */
#ifndef PLUGIN_FILE_H
#define PLUGIN_FILE_H

struct plugin_file {
    char folder[40];
    char path[64]; /* of the shared object */
};

/* Compiles this text; on failure the test fails with the compiler's output. */
struct plugin_file plugin_file_from_text(const char *text);
/* Compiles a file of the source tree, such as "labs/plugins/two_level.c". */
struct plugin_file plugin_file_from_source(const char *source);
void plugin_file_remove(const struct plugin_file *file);

#endif
