/* SPDX-License-Identifier: MIT
 *
 * Sends invalid requests to a supervisor: noise, nothing, many frames, JSON of
 * every wrong kind. Each single-frame request must be answered with a negative
 * code; the last line has the number of the others.
 *
 *     rubbish ENDPOINT SEED
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { NOISE = 300, ANSWER_MS = 10000 };

static const char *const texts[] = {
    "",
    "{}",
    "[]",
    "null",
    "7",
    "{\"verb\":7}",
    "{\"verb\":\"\"}",
    "{\"verb\":\"explode\"}",
    "{\"verb\":\"kill\"}",
    "{\"verb\":\"kill\",\"node\":\"two\"}",
    "{\"verb\":\"kill\",\"node\":-1}",
    "{\"verb\":\"kill\",\"node\":99999999999}",
    "{\"verb\":\"kill\",\"role\":\"king\",\"node\":0}",
    "{\"verb\":\"kill\",\"role\":\"server\",\"node\":0}",
    "{\"verb\":\"kill\",\"role\":\"controller\",\"node\":9}",
    "{\"verb\":\"kill\",\"role\":\"controller\",\"node\":0}",
    "{\"verb\":\"stop\",\"node\":63}",
    "{\"verb\":\"resume\",\"node\":0}",
    "{\"verb\":\"restart\",\"node\":[]}",
    "{\"verb\":\"add\",\"count\":0}",
    "{\"verb\":\"add\",\"count\":1000}",
    "{\"verb\":\"add\",\"role\":\"server\"}",
    "{\"verb\":\"slow\",\"node\":0}",
    "{\"verb\":\"slow\",\"node\":0,\"ns\":-5}",
    "{\"verb\":\"pace\",\"ns\":\"slow\"}",
    "{\"verb\":\"link\",\"from\":0}",
    "{\"verb\":\"link\",\"from\":0,\"to\":0}",
    "{\"verb\":\"link\",\"from\":0,\"to\":1,\"delay_us\":-1}",
    "{\"verb\":\"link\",\"from\":0,\"to\":1,\"down\":\"yes\"}",
    "{\"verb\":\"cut\"}",
    "{\"verb\":\"cut\",\"left\":[0],\"right\":[0]}",
    "{\"verb\":\"cut\",\"left\":[0],\"right\":[{}]}",
    "{\"verb\":\"cut\",\"left\":{\"node\":0},\"right\":[1]}",
    "{\"verb\":\"train\"}",
    "{\"verb\":\"train\",\"model\":\"lr\"}",
    "{\"verb\":\"train\",\"model\":\"lr\",\"file\":\"/none\"}",
    "{\"verb\":\"train\",\"model\":\"ops\",\"options\":{\"bytes\":1}}",
    "{\"verb\":\"wait\"}",
    "{\"verb\":\"wait\",\"condition\":\"alive==\"}",
    "{\"verb\":\"expect\",\"condition\":\"alive>1000\"}",
    "{\"verb\":\"expect\",\"condition\":5}",
    "{\"verb\":\"record\",\"on\":\"yes\"}",
    "{\"verb\":\"record\",\"on\":false}",
    "{\"verb\":\"record\",\"file\":\"/no/such/folder/x\",\"on\":true}",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static unsigned unanswered;

/* An error answer has a negative code. */
static void expect_refusal(void *socket, const char *what)
{
    char answer[4096];
    int bytes = zmq_recv(socket, answer, sizeof answer - 1, 0);
    answer[bytes > 0 && bytes < (int)sizeof answer ? bytes : 0] = 0;
    if (bytes > 0 && strstr(answer, "\"code\":-"))
        return;
    unanswered++;
    printf("%s: %s\n", what, bytes > 0 ? answer : "no answer");
}

static void send_noise(void *socket, uint64_t *chance)
{
    unsigned char noise[64];
    for (size_t i = 0; i < sizeof noise; i++) {
        *chance = *chance * 6364136223846793005U + 1442695040888963407U;
        noise[i] = (unsigned char)(*chance >> 56);
    }
    zmq_send(socket, noise, noise[0] % sizeof noise, 0);
}

int main(int argc, char **argv)
{
    int patience = ANSWER_MS, linger = 0;
    uint64_t chance = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_DEALER);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience, sizeof patience);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    if (argc < 2 || zmq_connect(socket, argv[1]) != 0)
        return 64;
    for (unsigned i = 0; i < TEXTS; i++) {
        zmq_send(socket, texts[i], strlen(texts[i]), 0);
        expect_refusal(socket, texts[i]);
    }
    for (unsigned i = 0; i < NOISE; i++) {
        send_noise(socket, &chance);
        expect_refusal(socket, "noise");
    }
    for (unsigned i = 0; i < NOISE; i++) /* frames: one answer for all */
        zmq_send(socket, "frame", 5, i % 7 < 6 ? ZMQ_SNDMORE : 0);
    printf("%u unanswered\n", unanswered);
    zmq_close(socket);
    zmq_ctx_term(context);
    return unanswered > 0;
}
