/* SPDX-License-Identifier: MIT
 *
 * The key file of a cluster, for CURVE (http://rfc.zeromq.org/spec:26): two
 * lines as zmq_curve_keypair(3) returns them, the public key and the secret
 * one.
 *
 * All members share the one pair. It proves in both directions that a member
 * has the file: a connecting member must know the public key, which is never
 * sent in the clear, and an accepting one the secret key. So the public key
 * must be kept as safe as the secret one, and the file must not be readable by
 * others.
 */
#include "zmq_key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

enum { KEY_CHARS = 40 };

static enum gw_err read_private(const char *path, char *text, size_t room,
                                struct gw_error *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* for a pipe */
    if (fd < 0)
        return gw_fail(why, GW_EINVAL, "key file %s: %s", path,
                       strerror(errno));
    struct stat info;
    enum gw_err err = GW_OK;
    ssize_t length = -1;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        err = gw_fail(why, GW_EINVAL, "key file %s: not a regular file", path);
    else if (info.st_uid != geteuid() && info.st_uid != 0)
        err = gw_fail(why, GW_EINVAL,
                      "key file %s: it belongs to another user (%u)", path,
                      (unsigned)info.st_uid);
    else if (info.st_mode & 077)
        err = gw_fail(why, GW_EINVAL,
                      "key file %s: other users may use it (mode %04o); run "
                      "chmod 600 on it",
                      path, info.st_mode & 07777U);
    else if ((length = read(fd, text, room - 1)) < 0)
        err = gw_fail(why, GW_EINVAL, "key file %s: %s", path, strerror(errno));
    text[length > 0 ? length : 0] = 0;
    close(fd);
    return err;
}

/* One line of exactly 40 characters that decode to 32 bytes. */
static bool read_key(const char **text, char key[KEY_CHARS + 1])
{
    uint8_t bytes[32];
    size_t length = strcspn(*text, "\r\n");
    if (length != KEY_CHARS)
        return false;
    memcpy(key, *text, KEY_CHARS);
    key[KEY_CHARS] = 0;
    *text += length;
    *text += strspn(*text, "\r\n");
    return zmq_z85_decode(bytes, key) != NULL;
}

enum gw_err gw__zmq_key_read(const char *path, struct gw__zmq_key *key,
                             struct gw_error *why)
{
    char text[256], derived[KEY_CHARS + 1];
    if (!zmq_has("curve"))
        return gw_fail(why, GW_ENOTSUP, "this libzmq was built without CURVE");
    enum gw_err err = read_private(path, text, sizeof text, why);
    if (err)
        return err;
    const char *rest = text;
    if (!read_key(&rest, key->public_key) ||
        !read_key(&rest, key->secret_key) || *rest != 0)
        return gw_fail(
            why, GW_EINVAL,
            "key file %s: must be two lines of 40 characters, the public and "
            "the secret key (zmq_curve_keypair)",
            path);
    if (zmq_curve_public(derived, key->secret_key) != 0 ||
        strcmp(derived, key->public_key) != 0)
        return gw_fail(why, GW_EINVAL,
                       "key file %s: the two keys do not belong together",
                       path);
    return GW_OK;
}

enum gw_err gw__zmq_key_secret(const char *path,
                               unsigned char secret[GW__ZMQ_SECRET_BYTES],
                               struct gw_error *why)
{
    struct gw__zmq_key key;
    enum gw_err err = gw__zmq_key_read(path, &key, why);
    if (!err && !zmq_z85_decode(secret, key.secret_key))
        err = gw_fail(why, GW_EINVAL, "key file %s: not a key", path);
    explicit_bzero(&key, sizeof key);
    return err;
}

enum gw_err gw__zmq_key_set(void *socket, const struct gw__zmq_key *key,
                            bool server, struct gw_error *why)
{
    int yes = 1;
    int failed = zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, key->secret_key,
                                KEY_CHARS + 1);
    if (server)
        failed |= zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &yes, sizeof yes);
    else {
        failed |= zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, key->public_key,
                                 KEY_CHARS + 1);
        failed |= zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, key->public_key,
                                 KEY_CHARS + 1);
    }
    return failed ? gw_fail_errno(why, "setting a CURVE key") : GW_OK;
}

bool gw__zmq_own_user_only(void *socket, const char *endpoint)
{
    uid_t user = geteuid();
    return strncmp(endpoint, "ipc:", 4) != 0 ||
           zmq_setsockopt(socket, ZMQ_IPC_FILTER_UID, &user, sizeof user) == 0;
}
