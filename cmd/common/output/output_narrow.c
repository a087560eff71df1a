/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table wider than the terminal would break in the middle of its rows and be
 * unreadable. So columns are omitted: first those that the command named
 * (output_spare), in its order, then from the right. The first column stays,
 * for it identifies the row. -v shows all columns. Output that is not a
 * terminal always has all of them, so that scripts do not depend on the
 * terminal.
 */
#include "common/internal.h"
#include "output_format.h"

#include <string.h>
#include <unistd.h>

int output_room(const struct output *output)
{
    int fd = fileno(output->file);
    return is_terminal(fd) ? terminal_columns(fd) : OUTPUT_UNLIMITED;
}

/* The last text may wrap. */
int output_width(const struct output *output)
{
    int width = 0, last = 0;
    bool text = false;
    for (unsigned i = 0; i < output->field_count; i++) {
        if (!output->columns[i].shown)
            continue;
        last = output->columns[i].width;
        text = output->fields[i].kind == FIELD_TEXT;
        width += (width > 0 ? OUTPUT_GAP : 0) + last;
    }
    return text && last > OUTPUT_WORDS ? width - last + OUTPUT_WORDS : width;
}

bool output_fits(const struct output *output)
{
    return common.verbose || output_width(output) <= output_room(output);
}

static void leave_out(struct output *output, const char *name, size_t length)
{
    for (unsigned i = 0; i < output->field_count; i++)
        if (strncmp(output->fields[i].name, name, length) == 0 &&
            output->fields[i].name[length] == 0)
            output->columns[i].shown = false;
}

static unsigned first_shown(const struct output *output)
{
    unsigned first = 0;
    while (first < output->field_count && !output->columns[first].shown)
        first++;
    return first;
}

void output_narrow(struct output *output)
{
    const char *name = output->spare ? output->spare : "";
    for (size_t length; *name && !output_fits(output);
         name += length + strspn(name + length, " ")) {
        length = strcspn(name, " ");
        leave_out(output, name, length);
    }
    unsigned first = first_shown(output);
    for (unsigned i = output->field_count;
         i-- > first + 1 && !output_fits(output);)
        output->columns[i].shown = false;
}

static bool is_last_shown(const struct output *output, unsigned column)
{
    while (++column < output->field_count)
        if (output->columns[column].shown)
            return false;
    return true;
}

/* Bytes that continue a character begin with 10. */
static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

static const char *skip(const char *text, size_t count)
{
    for (; *text && (count > 0 || (*text & 0xc0) == 0x80); text++)
        count -= (*text & 0xc0) != 0x80;
    return text;
}

const char *output_cut(const struct output *output, unsigned column,
                       const char *text, int debt, char out[CUT_BYTES])
{
    int room = output_room(output);
    if (room == OUTPUT_UNLIMITED || common.verbose ||
        is_last_shown(output, column) ||
        output->fields[column].kind != FIELD_TEXT)
        return text;
    int slack = room - output_width(output) - debt;
    size_t most =
        (size_t)output->columns[column].width + (size_t)(slack > 0 ? slack : 0);
    size_t length = characters(text);
    if (length <= most || most < 3)
        return text;
    snprintf(out, CUT_BYTES, "..%s", skip(text, length - most + 2));
    return out;
}

const char *output_left_out(const struct output *output, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (unsigned i = 0; output->columns && i < output->field_count; i++) {
        const struct field *field = &output->fields[i];
        if (output->columns[i].shown || !output_field_shown(field) ||
            used >= size)
            continue;
        int more = snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                            field->name);
        used += more > 0 ? (size_t)more : 0;
    }
    return out;
}
