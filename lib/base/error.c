/* SPDX-License-Identifier: MIT
 *
 * The one list of errors, and error messages, which gain context on the way up.
 */
#include <gradwire/base.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct entry {
    enum gw_err code;
    const char *name;
    const char *text;
    int exit_status;
};

static const struct entry entries[] = {
#define X(name, value, text, status) {name, #name, text, status},
    GW_ERRORS(X)
#undef X
};

static const struct entry *find_code(enum gw_err code)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i].code == code)
            return &entries[i];
    return NULL;
}

const char *gw_err_name(enum gw_err code)
{
    const struct entry *entry = find_code(code);
    return entry ? entry->name : "GW_?";
}

const char *gw_err_text(enum gw_err code)
{
    const struct entry *entry = find_code(code);
    return entry ? entry->text : "unknown error";
}

int gw_err_exit(enum gw_err code)
{
    const struct entry *entry = find_code(code);
    return entry ? entry->exit_status : 70;
}

/* These codes are events during an operation, so a message that names only the
 * operation needs their text. Messages of other codes describe the fault and
 * the correct form themselves. */
static bool needs_text(enum gw_err code)
{
    return code == GW_ENOMEM || code == GW_ETIMEOUT || code == GW_EINTR ||
           code == GW_EINTERNAL;
}

/* Ends the message with the text of its code, unless it has it already. A
 * message that is too long is shortened. */
static void end_with_code(struct gw_error *why)
{
    const char *text = gw_err_text(why->code);
    if (!needs_text(why->code) || strstr(why->text, text))
        return;
    size_t length = strlen(why->text);
    size_t most = sizeof why->text - strlen(text) - sizeof ": ";
    size_t at = length < most ? length : most;
    snprintf(why->text + at, sizeof why->text - at, "%s%s", at ? ": " : "",
             text);
}

enum gw_err gw_fail(struct gw_error *why, enum gw_err code, const char *format,
                    ...)
{
    if (!why)
        return code;
    va_list args;
    va_start(args, format);
    why->code = code;
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    end_with_code(why);
    return code;
}

static enum gw_err from_errno(int number)
{
    switch (number) {
    case ENOMEM:
        return GW_ENOMEM;
    case ENOSPC:
    case EFBIG:
        return GW_ENOSPC;
    case EINTR:
        return GW_EINTR;
    default:
        return GW_ESYS;
    }
}

enum gw_err gw_fail_errno(struct gw_error *why, const char *format, ...)
{
    int number = errno;
    enum gw_err code = from_errno(number);
    if (!why)
        return code;
    char context[sizeof why->text / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    return gw_fail(why, code, "%s: %s", context,
                   needs_text(code) ? gw_err_text(code) : strerror(number));
}

enum gw_err gw_wrap(struct gw_error *why, enum gw_err code, const char *format,
                    ...)
{
    if (!why)
        return code;
    struct gw_error cause = *why;
    char context[sizeof why->text / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    return gw_fail(why, cause.code, "%s: %.*s", context,
                   (int)(sizeof cause.text / 2 - 4), cause.text);
}
