/* SPDX-License-Identifier: MIT
 *
 * Plug-ins that tests compile while they run: a folder with one source and one
 * shared object. Tests run where the sources are, hence -I lib/include.
 */
#ifndef PLUGIN_FILE_H
#define PLUGIN_FILE_H

struct plugin_file {
    char folder[40];
    char path[64]; /* of the shared object */
};

/* Compiles this text, or fails the test with what the compiler said. */
struct plugin_file plugin_file_from_text(const char *text);
/* Compiles a file of the sources, "labs/plugins/two_level.c". */
struct plugin_file plugin_file_from_source(const char *source);
void plugin_file_remove(const struct plugin_file *file);

#endif
