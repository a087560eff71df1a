/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the input of ringctl: for any text the parser terminates, and its
 * commands come in the order of their lines, each with a word. If a command
 * could have a condition (wait, expect) or the words of a link, those are
 * parsed, too.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_script.c
 */
#include "ringctl/shell/script.h"
#include "run/link_words.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

/* Parsed words can be printed; for others there is an error text. */
static void try_link(const struct script_command *command)
{
    char printed[256];
    struct gw_error why = {.code = GW_OK};
    json_t *fields = NULL;
    if (link_words_parse(command->count - 1, command->words + 1, &fields,
                         &why)) {
        expect(!fields && why.text[0]);
        return;
    }
    link_words_print(fields, printed, sizeof printed);
    expect(memchr(printed, 0, sizeof printed) != NULL);
    json_decref(fields);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    struct script_command command;
    enum script_next next;
    unsigned line = 1;
    expect(text != NULL);
    memcpy(text, bytes, size);
    text[size] = 0;
    struct script script = {.text = text, .line = 1};
    while ((next = script_next(&script, &command)) == SCRIPT_COMMAND) {
        expect(command.count > 0 && !command.words[command.count]);
        expect(command.line >= line && script.at <= strlen(text));
        line = command.line;
        try_link(&command);
        script_command_fini(&command);
    }
    expect(next == SCRIPT_END || next == SCRIPT_OPEN);
    free(text);
    return 0;
}
