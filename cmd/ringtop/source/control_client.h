/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orders of the user to the run: kill, pause, add. A supervisor answers a kill
 * when the new view is installed, which may take a while. So a separate thread
 * sends the request, and the picture continues.
 */
#ifndef RINGTOP_CONTROL_CLIENT_H
#define RINGTOP_CONTROL_CLIENT_H

#include <gradwire/gradwire.h>

enum control_kind { CONTROL_NONE, CONTROL_KILL, CONTROL_PAUSE, CONTROL_ADD };

struct control_request {
    enum control_kind kind;
    unsigned node; /* not with ADD */
    bool server;   /* of parameter servers; else a worker */
};

struct control_client;

GW_MUST_CHECK enum gw_err control_client_new(const char *run,
                                             struct control_client **control,
                                             struct gw_error *why);
void control_client_destroy(struct control_client **control);
/* False: another one is under way. PAUSE resumes a paused node. */
bool control_client_send(struct control_client *control,
                         const struct control_request *request);
/* The sentence about the last order's result, once; false: no new one. */
bool control_client_answer(struct control_client *control, char *out,
                           size_t size);

#endif
