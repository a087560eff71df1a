/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See answer_output.h. Nested objects do not go through common/output.h, which
 * has rows; they keep its format: schema, version and provenance first, the
 * ending last, one document per command.
 */
#include "answer_output.h"

#include "common/command.h"
#include "common/output/output_format.h"
#include "common/text/visible.h"
#include "ringctl/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REAL_DIGITS = 15 };
#define GRACE_NS UINT64_C(1000000000)

bool is_json_output(void)
{
    return strncmp(common.output, "json", 4) == 0;
}

/* {"schema":"ringctl VERB","version":...,"provenance":...} */
static json_t *begin_document(const char *verb)
{
    char schema[64], *text = NULL;
    size_t size;
    struct provenance provenance;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return NULL;
    snprintf(schema, sizeof schema, "ringctl %s", verb);
    provenance_take(&provenance);
    put_json_opening(file, schema);
    put_json_provenance(file, &provenance);
    fputc('}', file);
    fclose(file);
    json_t *document = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return document;
}

int report_object(const char *verb, json_t *object)
{
    json_t *document = begin_document(verb);
    json_t *ending = json_pack("{sbsi}", "partial", 0, "status", 0);
    bool complete = document && ending &&
                    json_object_update_missing(document, object) == 0 &&
                    json_object_update(document, ending) == 0;
    progress("%s", "");
    if (complete)
        json_dumpf(document, stdout,
                   JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(document);
    json_decref(ending);
    if (!complete)
        return complain_with(GW_ENOMEM, "the answer to %s", verb);
    putchar('\n');
    return 0;
}

static int report_change_object(const char *verb, const json_t *answer)
{
    json_t *change = json_pack("{sssssI}", "code", gw_err_name(GW_OK), "text",
                               text_of(answer, "text", ""), "epoch",
                               (json_int_t)integer_of(answer, "epoch", 0));
    const json_t *data = json_object_get(answer, "data");
    if (data)
        json_object_update_missing(change, json_object_get(answer, "data"));
    int status = report_object(verb, change);
    json_decref(change);
    return status;
}

static int report_change_csv(const char *verb, const json_t *answer)
{
    static const struct field fields[] = {
        {"code", NULL, FIELD_TEXT, 0, false},
        {"text", NULL, FIELD_TEXT, 0, false},
        {"epoch", NULL, FIELD_INTEGER, 0, false},
    };
    union value values[] = {{.text = gw_err_name(GW_OK)},
                            {.text = text_of(answer, "text", "")},
                            {.integer = integer_of(answer, "epoch", 0)}};
    struct gw_error why;
    if (output_record(verb, common.output, fields, values, 3, NULL, false,
                      &why))
        return complain(&why);
    return 0;
}

int report_answer(const char *verb, const json_t *answer)
{
    char seen[4096];
    const char *text = text_of(answer, "text", "done");
    if (is_json_output())
        return report_change_object(verb, answer);
    if (strcmp(common.output, "csv") == 0)
        return report_change_csv(verb, answer);
    progress("%s", "");
    fputs(visible(text, seen, sizeof seen), stdout);
    bool ended = strcmp(verb, "down") == 0;
    if (!ended && !strstr(text, "epoch") && json_object_get(answer, "epoch"))
        printf(" (epoch %lld)", (long long)integer_of(answer, "epoch", 0));
    putchar('\n');
    return 0;
}

int request_and_report(json_t *request)
{
    char verb[32];
    json_t *answer;
    struct gw_error why;
    if (!request)
        return complain_with(GW_ENOMEM, "a request");
    snprintf(verb, sizeof verb, "%s", text_of(request, "verb", ""));
    /* If the supervisor gives up, its reason is worth waiting one more second.
     */
    uint64_t timeout_ns = answer_timeout_ns();
    if (json_object_get(request, "timeout_ns") &&
        timeout_ns < UINT64_MAX - GRACE_NS)
        timeout_ns += GRACE_NS;
    if (send_request(request, timeout_ns, &answer, &why))
        return complain(&why);
    int status = report_answer(verb, answer);
    json_decref(answer);
    return status;
}
