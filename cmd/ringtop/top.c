/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ringtop's options, and the choice of the back end: a terminal gets the live
 * view, anything else text.
 */
#include "ringtop.h"
#include "show.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *from, *run_name, *cast, *size_text, *page_text = "overview";
static bool batch, ascii, paused, read_only, leave;
static unsigned frames;
static double speed;
static uint64_t every_ns = 1000000000;
static uint64_t at_ns = UINT64_MAX;
static unsigned op = UINT_MAX, epoch = UINT_MAX;

/* clang-format off */
static const struct option_spec options[] = {
    {"from", 'f', OPTION_TEXT, &from, "FILE.jsonl",
     "Recording to play; \"-\" reads standard input as it arrives.", NULL},
    {"run", 0, OPTION_TEXT, &run_name, "NAME",
     "Run to attach to. Default: the latest run.", NULL},
    {"read-only", 0, OPTION_FLAG, &read_only, NULL,
     "Disable kill, pause and add.", NULL},
    {"leave", 0, OPTION_FLAG, &leave, NULL,
     "Exit when the run has ended.", NULL},
    {"speed", 0, OPTION_REAL, &speed, "X",
     "Speed. 1: as recorded; 0: slow enough for 20 s.", NULL},
    {"paused", 0, OPTION_FLAG, &paused, NULL,
     "Start frozen; \".\" or Space continues.", NULL},
    {"page", 0, OPTION_CHOICE, &page_text, "PAGE", "First page to show.",
     "overview|ring|chunks|slots|clocks|requests|pipeline|events|controllers|"
     "failover|loss"},
    {"at", 0, OPTION_DURATION, &at_ns, "TIME",
     "Moment of a recording to show: TIME after its first event.", NULL},
    {"op", 0, OPTION_UNSIGNED, &op, "N",
     "Moment of a recording to show: the end of op N.", NULL},
    {"epoch", 0, OPTION_UNSIGNED, &epoch, "N",
     "Moment of a recording to show: epoch N and its recovery, before it "
     "runs.",
     NULL},
    {"ascii", 0, OPTION_FLAG, &ascii, NULL, "Use ASCII characters only.", NULL},
    {"batch", 'b', OPTION_FLAG, &batch, NULL,
     "Print pictures as text.", NULL},
    {"frames", 'n', OPTION_UNSIGNED, &frames, "N",
     "With --batch, number of pictures. Default: 1; live: until the run ends.",
     NULL},
    {"every", 0, OPTION_DURATION, &every_ns, "TIME",
     "With --batch and a live run, time between pictures.", NULL},
    {"size", 0, OPTION_TEXT, &size_text, "COLUMNSxROWS",
     "Size of the pictures of --batch and --cast. Default: 80x24.", NULL},
    {"cast", 0, OPTION_TEXT, &cast, "FILE",
     "Write an asciicast; FILE.svg writes an animated SVG page.", NULL},
    {0},
};
/* clang-format on */

static enum gw_err parse_size(int *width, int *height, struct gw_error *why)
{
    char *end = NULL;
    *width = 80;
    *height = 24;
    if (!size_text)
        return GW_OK;
    unsigned long columns = 0, rows = 0;
    if (isdigit((unsigned char)*size_text))
        columns = strtoul(size_text, &end, 10);
    if (end && *end == 'x' && isdigit((unsigned char)end[1]))
        rows = strtoul(end + 1, &end, 10);
    if (columns < 1 || rows < 1 || *end || columns > GRID_SIDE_MAX ||
        rows > GRID_SIDE_MAX)
        return gw_fail(why, GW_EINVAL,
                       "--size must be columns and rows such as 80x24, at "
                       "most %dx%d, not \"%.40s\"",
                       GRID_SIDE_MAX, GRID_SIDE_MAX, size_text);
    *width = (int)columns;
    *height = (int)rows;
    return GW_OK;
}

static enum page parse_page(void)
{
    unsigned page = PAGE_OVERVIEW;
    while (page + 1 < PAGES &&
           strcmp(page_name((enum page)page), page_text) != 0)
        page++;
    return (enum page)page;
}

static int run_show(struct show *show, int width, int height)
{
    const struct batch_options plain = {.frames = frames,
                                        .every_ns = every_ns,
                                        .width = width,
                                        .height = height,
                                        .page = parse_page()};
    show->view.page = plain.page;
    if (strcmp(common.output, "table") != 0)
        return run_report(show);
    if (cast || (!batch && is_screen(STDOUT_FILENO)))
        computing_end();
    if (cast)
        return run_cast(show, cast, width, height);
    if (batch || !is_screen(STDOUT_FILENO))
        return run_batch(show, &plain);
    show->player.frozen = paused;
    show_moment(show);
    show->leave = leave;
    return run_screen(show);
}

static struct moment parse_moment(void)
{
    if (at_ns != UINT64_MAX)
        return (struct moment){MOMENT_TIME, at_ns};
    if (op != UINT_MAX)
        return (struct moment){MOMENT_OP, op};
    if (epoch != UINT_MAX)
        return (struct moment){MOMENT_EPOCH, epoch};
    return (struct moment){MOMENT_NONE, 0};
}

/* "-", or a run's name, which has neither dots nor slashes. */
static enum gw_err set_operand(const char *operand, struct gw_error *why)
{
    if (strchr(operand, '.') || strchr(operand, '/'))
        return gw_fail(why, GW_EINVAL,
                       "the operand must be a run or \"-\", not \"%.60s\"; "
                       "play a recording with --from FILE",
                       operand);
    if (strcmp(operand, "-") == 0 ? from != NULL : run_name != NULL)
        return gw_fail(why, GW_EINVAL,
                       "use either --%s %.60s or \"%.60s\", not both",
                       from ? "from" : "run", from ? from : run_name, operand);
    *(strcmp(operand, "-") == 0 ? &from : &run_name) = operand;
    return GW_OK;
}

static enum gw_err check_operands(int operand_count, char **operands,
                                  struct gw_error *why)
{
    if (operand_count > 0 && set_operand(operands[0], why))
        return why->code;
    if (from && run_name)
        return gw_fail(why, GW_EINVAL,
                       "use either --from %.60s or --run %.60s, not both", from,
                       run_name);
    if ((at_ns != UINT64_MAX) + (op != UINT_MAX) + (epoch != UINT_MAX) > 1)
        return gw_fail(why, GW_EINVAL, "use only one of --at, --op, --epoch");
    if (parse_moment().kind != MOMENT_NONE &&
        (!from || strcmp(from, "-") == 0 || cast))
        return gw_fail(why, GW_EINVAL,
                       "--at, --op and --epoch show a moment of a recording: "
                       "use --from FILE, without --cast");
    if (speed < 0)
        return gw_fail(why, GW_EINVAL, "--speed must be at least 0, not %g",
                       speed);
    return GW_OK;
}

static int run_top(int operand_count, char **operands)
{
    struct gw_error why;
    struct show show;
    int width, height;
    if (check_operands(operand_count, operands, &why) ||
        parse_size(&width, &height, &why))
        return complain(&why);
    const struct show_options show_options = {.path = from,
                                              .run = run_name,
                                              .read_only = read_only,
                                              .speed = speed,
                                              .ascii = ascii,
                                              .timeout_ns = common.timeout_ns,
                                              .moment = parse_moment()};
    if (show_init(&show, &show_options, &why))
        return complain(&why);
    int status = run_show(&show, width, height);
    show_fini(&show);
    return status;
}

const struct command command_top = {
    .name = "ringtop",
    .operands = "[NAME|-]",
    .help =
        "show a ring (ranks, chunks), servers (slots, clocks) or the stages "
        "of a pipeline",
    .examples = "ringtop                              the latest run, live\n"
                "ringtop tiger --read-only\n"
                "ringtop --from F.jsonl\n"
                "ringtop --from F.jsonl --speed 0.001 --page ring\n"
                "ringtop --from F.jsonl --batch -n 3 --size 100x30\n"
                "ringtop --from F.jsonl --batch --epoch 2 --page chunks\n"
                "tail -f F.jsonl | ringtop -\n",
    .options = options,
    .operands_max = 1,
    .computes = true, /* except a cast and a screen: run_show */
    .run = run_top,
};
