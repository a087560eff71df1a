/* SPDX-License-Identifier: MIT
 *
 * Signals at random moments. Each line of the input is a command. It is started
 * so many times, gets SIGINT or SIGTERM, alone or with its process group as
 * from a terminal, and must end soon:
 *
 *   signals [-n TIMES] [-s SEED] [-w WITHIN_MS] [-r] <LIST
 *
 *   - within WITHIN_MS, which is ten times the need of an idle machine;
 *   - with status 130. A command on a line with "any" may also have ended by
 *     itself, with its usual status; one with "long" runs for minutes;
 *   - with a valid document on stdout for -o json and -o jsonl, whether stdout
 *     is read eagerly or slowly. Without a reader only the end counts; with -r
 *     there is always a reader;
 *   - without leaving a process, or a file in $TMPDIR or in /dev/shm.
 *
 * Orphans become our children (PR_SET_CHILD_SUBREAPER). /dev/shm is a mount of
 * our own where permitted. Exit status 1: a line failed; each failure is
 * printed with its seed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOMENT_MS_MAX = 2000, PIPE_BYTES = 65536 };

enum reader { EAGER, SLOW, NO_READER, READERS };
static const char *const reader_names[] = {"read eagerly", "read slowly",
                                           "not read"};

struct trial {
    const char *command;
    bool lasts; /* it cannot end by itself, */
    int usual;  /* otherwise its usual status */
    unsigned long seed;
    int number; /* SIGINT or SIGTERM */
    bool group;
    enum reader reader;
    unsigned moment_ms;
    pid_t pid;
    int out;
    char *text; /* stdout */
    size_t bytes, room;
    bool ended;
    int status;
    bool failed;
};

static char tmp[4096], runs[4096];
static bool own_shm, always_read;
static unsigned long within_ms = 10000;

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void nap(unsigned ms)
{
    (void)poll(NULL, 0, (int)ms);
}

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(70);
}

__attribute__((format(printf, 2, 3))) static void
failure(struct trial *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s\n  %s to %s after %u ms, stdout %s: ", t->command,
           t->number == SIGINT ? "SIGINT" : "SIGTERM",
           t->group ? "its group" : "it alone", t->moment_ms,
           reader_names[t->reader]);
    vprintf(format, args);
    printf(" (-n 1 -s %lu)\n", t->seed);
    fflush(stdout);
    va_end(args);
    t->failed = true;
}

/* ---- the process ---- */

static _Noreturn void become(const struct trial *t, int out)
{
    setsid();
    signal(SIGINT, SIG_DFL); /* a shell's background commands ignore it */
    dup2(out, STDOUT_FILENO);
    int err = open("/dev/null", O_RDWR);
    dup2(err, STDIN_FILENO);
    if (!getenv("SIGNALS_STDERR"))
        dup2(err, STDERR_FILENO);
    setenv("TMPDIR", tmp, 1);
    setenv("GRADWIRE_RUNS", runs, 1);
    char *line = malloc(strlen(t->command) + 8);
    sprintf(line, "exec %s", t->command);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static void start(struct trial *t)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        give_up("pipe");
    t->pid = fork();
    if (t->pid < 0)
        give_up("fork");
    if (t->pid == 0)
        become(t, ends[1]);
    close(ends[1]);
    t->out = ends[0];
    fcntl(t->out, F_SETFL, O_NONBLOCK);
}

static void poll_trial(struct trial *t)
{
    if (!t->ended && waitpid(t->pid, &t->status, WNOHANG) == t->pid)
        t->ended = true;
}

/* Whether it already catches SIGTERM; an earlier signal just ends it. */
static bool catches(pid_t pid)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "SigCgt:", 7) == 0)
            caught = strtoull(line + 7, NULL, 16);
    if (file)
        fclose(file);
    return caught >> (SIGTERM - 1) & 1;
}

/* Reads available data, at most `most` bytes; false at the end. */
static bool pump(struct trial *t, size_t most)
{
    if (t->room - t->bytes < most + 1) {
        t->room = 2 * t->room + most + 1;
        t->text = realloc(t->text, t->room);
        if (!t->text)
            give_up("stdout");
    }
    ssize_t got = read(t->out, t->text + t->bytes, most);
    t->bytes += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static void read_some(struct trial *t)
{
    enum { SLOW_BYTES = 4096 };
    if (t->reader == EAGER)
        while (pump(t, PIPE_BYTES))
            continue;
    else if (t->reader == SLOW)
        (void)pump(t, SLOW_BYTES);
}

static void live_until(struct trial *t, uint64_t end_ms)
{
    for (poll_trial(t); !t->ended && now_ms() < end_ms; poll_trial(t)) {
        read_some(t);
        nap(t->reader == EAGER ? 1 : 10);
    }
}

/* ---- requirements ---- */

static bool is_document(const char *text, size_t bytes)
{
    json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    json_decref(value);
    return value != NULL;
}

static bool are_lines(const char *text, size_t bytes)
{
    for (const char *end; bytes > 0;
         bytes -= (size_t)(end + 1 - text), text = end + 1) {
        end = memchr(text, '\n', bytes);
        if (!end || !is_document(text, (size_t)(end - text)))
            return false;
    }
    return true;
}

static void check_output(struct trial *t)
{
    bool lines = strstr(t->command, "-o jsonl") != NULL;
    bool json = !lines && strstr(t->command, "-o json") != NULL;
    if (t->reader == NO_READER && t->bytes > PIPE_BYTES / 2)
        return; /* there was no room for it */
    if ((json && !is_document(t->text, t->bytes)) ||
        (lines && !are_lines(t->text, t->bytes)))
        failure(t, "invalid: ...%.*s", (int)(t->bytes < 200 ? t->bytes : 200),
                t->text + (t->bytes < 200 ? 0 : t->bytes - 200));
}

static void check_status(struct trial *t)
{
    if (WIFSIGNALED(t->status))
        failure(t, "ended by signal %d", WTERMSIG(t->status));
    else if (WEXITSTATUS(t->status) != 130 &&
             (t->lasts || WEXITSTATUS(t->status) != t->usual))
        failure(t, "status %d", WEXITSTATUS(t->status));
}

static void check_processes(struct trial *t)
{
    char path[64], left[256] = "";
    uint64_t end_ms = now_ms() + within_ms;
    pid_t got;
    while ((got = waitpid(-1, NULL, WNOHANG)) >= 0 && now_ms() < end_ms)
        nap(got == 0 ? 5 : 0);
    if (got < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file && fgets(left, sizeof left, file))
        failure(t, "these processes are left: %s", left);
    if (file)
        fclose(file);
    char *at = left;
    for (long pid; (pid = strtol(at, &at, 10)) > 0;)
        kill((pid_t)pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

static void check_folder(struct trial *t, const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            failure(t, "%s/%s is left", path, entry->d_name);
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    if (folder)
        closedir(folder);
}

/* ---- trials ---- */

static void play(struct trial *t)
{
    start(t);
    while (!t->ended && !catches(t->pid)) {
        poll_trial(t);
        nap(1);
    }
    live_until(t, now_ms() + t->moment_ms);
    bool lasted = !t->ended;
    if (lasted)
        kill(t->group ? -t->pid : t->pid, t->number);
    live_until(t, now_ms() + within_ms);
    if (!t->ended) {
        failure(t, "still there after %lu ms", within_ms);
        kill(-t->pid, SIGKILL);
        waitpid(t->pid, &t->status, 0);
    }
    while (pump(t, PIPE_BYTES))
        continue;
    close(t->out);
    if (!lasted && t->lasts)
        failure(t, "ended by itself: the list says that it lasts");
    if (!t->failed)
        check_status(t);
    if (!t->failed)
        check_output(t);
    check_processes(t);
    check_folder(t, tmp);
    if (own_shm)
        check_folder(t, "/dev/shm");
    free(t->text);
}

/* Short times are as likely as long ones. */
static void draw(struct trial *t)
{
    unsigned state = (unsigned)t->seed * 2654435761U;
    t->number = rand_r(&state) & 64 ? SIGINT : SIGTERM;
    t->group = rand_r(&state) & 64;
    t->reader = (enum reader)(rand_r(&state) / 7 % READERS);
    if (always_read && t->reader == NO_READER)
        t->reader = SLOW;
    t->moment_ms = MOMENT_MS_MAX >> (rand_r(&state) / 7 % 12);
    t->moment_ms -= (unsigned)rand_r(&state) % (t->moment_ms / 2 + 1);
}

static bool one_trial(char *line, unsigned long seed)
{
    struct trial t = {.seed = seed, .lasts = strncmp(line, "long ", 5) == 0};
    t.usual = atoi(line + strlen("any"));
    t.command = strchr(line, ' ') + 1;
    draw(&t);
    play(&t);
    return !t.failed;
}

/* The current folder, which may be in /dev/shm itself, is on /mnt meanwhile. */
static void be_alone(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    own_shm = unshare(CLONE_NEWNS) == 0 &&
              mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
              mount(".", "/mnt", NULL, MS_BIND, NULL) == 0 &&
              chdir("/mnt") == 0 &&
              mount("none", "/dev/shm", "tmpfs", 0, NULL) == 0;
    if (!own_shm)
        puts("skipped: signals: /dev/shm is not looked at: that needs root");
    if (!getcwd(tmp, sizeof tmp - 8))
        give_up("getcwd");
    snprintf(runs, sizeof runs, "%.4000s/runs", tmp);
    strcat(tmp, "/tmp");
    mkdir(tmp, 0700);
    mkdir(runs, 0700);
}

int main(int argc, char **argv)
{
    unsigned long times = 1, seed = (unsigned long)time(NULL) % 1000000;
    unsigned trials = 0, bad = 0;
    char line[1024];
    for (int o; (o = getopt(argc, argv, "n:s:w:r")) != -1;)
        switch (o) {
        case 'r':
            always_read = true;
            break;
        default:
            *(o == 'n'   ? &times
              : o == 's' ? &seed
                         : &within_ms) = strtoul(optarg, NULL, 10);
        }
    be_alone();
    printf("signals: seed %lu\n", seed);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        for (unsigned long i = 0; i < times && strchr("al", *line) && *line;
             i++)
            bad += !one_trial(line, seed + trials++);
    }
    printf("signals: %u trials, %u failures\n", trials, bad);
    return bad > 0 || trials == 0;
}
