/* SPDX-License-Identifier: MIT
 *
 * Reference counting of log entries; see entry.h.
 */
#include "entry.h"

#include <stdlib.h>
#include <string.h>

struct gw__entry *gw__entry_new(const struct gw__entry *like)
{
    struct gw__entry *entry = malloc(sizeof *entry);
    if (!entry)
        return NULL;
    *entry = *like;
    entry->holds = 1;
    entry->borrow_count = 0;
    if (entry->message)
        gw__message_in_hold(entry->message);
    if (entry->keys)
        gw__keys_hold(entry->keys);
    return entry;
}

void gw__entry_release(struct gw__entry *entry)
{
    if (!entry || --entry->holds > 0)
        return;
    gw__message_in_release(entry->message);
    gw__message_in_release(entry->retired);
    gw__keys_release(entry->keys);
    free(entry->owned);
    free(entry);
}

bool gw__entry_own(struct gw__entry *entry)
{
    size_t keys = entry->keys ? 0 : entry->key_count * sizeof(uint64_t);
    char *owned = malloc(keys + entry->bytes + 1);
    if (!owned)
        return false;
    if (keys > 0) {
        memcpy(owned, entry->key_data, keys);
        entry->key_data = (const uint64_t *)(const void *)owned;
    }
    if (entry->bytes > 0)
        memcpy(owned + keys, entry->data, entry->bytes);
    entry->data = owned + keys;
    entry->owned = owned;
    if (entry->borrow_count > 0)
        entry->retired = entry->message;
    else
        gw__message_in_release(entry->message);
    entry->message = NULL;
    return true;
}

void gw__entry_lend(struct gw__entry *entry)
{
    entry->holds++;
    entry->borrow_count++;
}

void gw__entry_back(void *context)
{
    struct gw__entry *entry = context;
    if (--entry->borrow_count == 0) {
        gw__message_in_release(entry->retired);
        entry->retired = NULL;
    }
    gw__entry_release(entry);
}

size_t gw__entry_bytes(const struct gw__entry *entry)
{
    return sizeof *entry + entry->bytes +
           (entry->keys ? 0 : entry->key_count * sizeof(uint64_t));
}
