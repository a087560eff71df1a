/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the lines of a recording: each is refused, or becomes an event whose
 * printed line gives the same event again.
 */
#include <gradwire/event.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

/* The line that gw_sink_jsonl writes; the caller frees it. */
static char *line_of(const struct gw_event *event)
{
    char *line = NULL;
    size_t bytes = 0;
    FILE *output = open_memstream(&line, &bytes);
    struct gw_sink *sink = NULL;
    expect(output && gw_sink_jsonl(output, 0, &sink, NULL) == GW_OK);
    gw_emit(sink, event);
    gw_sink_close(&sink);
    fclose(output);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gw_event event, again;
    struct gw_error why = {0};
    char *line = strndup((const char *)bytes, size);
    expect(line != NULL);
    if (gw_event_parse(line, &event, &why) == GW_OK) {
        char *written = line_of(&event);
        expect(gw_event_parse(written, &again, &why) == GW_OK);
        expect(memcmp(&event, &again, sizeof event) == 0);
        free(written);
    } else {
        expect(why.code == GW_EDATA && why.text[0]);
    }
    free(line);
    return 0;
}
