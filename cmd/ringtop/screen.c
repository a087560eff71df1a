/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ncurses (screen.h). It handles changes of the size and Ctrl-Z itself. Ctrl-L
 * redraws the whole screen.
 */
#include "screen.h"

#include "common/command.h"
#include "view.h"

#include <curses.h>
#include <stdlib.h>
#include <unistd.h>

enum { CTRL_L = 12, ESCAPE_MS = 25 };

static SCREEN *screen;
static FILE *keyboard;
static bool with_color;

static void define_colors(void)
{
    static const short inks[STYLES][2] = {
        [STYLE_PLAIN] = {-1, -1},
        [STYLE_BAR] = {COLOR_BLACK, COLOR_CYAN},
        [STYLE_STRONG] = {-1, -1},
        [STYLE_DIM] = {-1, -1},
        [STYLE_GOOD] = {COLOR_GREEN, -1},
        [STYLE_WARN] = {COLOR_YELLOW, -1},
        [STYLE_BAD] = {COLOR_WHITE, COLOR_RED},
        [STYLE_CHUNK] = {COLOR_CYAN, -1},
        [STYLE_FORWARD] = {COLOR_WHITE, COLOR_BLUE},
        [STYLE_BACKWARD] = {COLOR_BLACK, COLOR_GREEN},
        [STYLE_BACKWARD_INPUT] = {COLOR_BLACK, COLOR_YELLOW},
        [STYLE_BACKWARD_WEIGHT] = {COLOR_BLACK, COLOR_CYAN},
    };
    start_color();
    use_default_colors();
    for (int style = 1; style < STYLES; style++)
        init_pair((short)style, inks[style][0], inks[style][1]);
}

static attr_t attributes(enum style style)
{
    static const attr_t colored[STYLES] = {
        [STYLE_STRONG] = A_BOLD,
        [STYLE_DIM] = A_DIM,
        [STYLE_BAD] = A_BOLD,
        [STYLE_CHUNK] = A_BOLD,
    };
    static const attr_t plain[STYLES] = {
        [STYLE_BAR] = A_REVERSE,
        [STYLE_STRONG] = A_BOLD,
        [STYLE_DIM] = A_DIM,
        [STYLE_WARN] = A_BOLD,
        [STYLE_BAD] = A_BOLD | A_REVERSE,
        [STYLE_CHUNK] = A_BOLD,
        [STYLE_BACKWARD] = A_REVERSE,
        [STYLE_BACKWARD_INPUT] = A_BOLD,
        [STYLE_BACKWARD_WEIGHT] = A_DIM,
    };
    return (with_color ? colored : plain)[style];
}

enum gw_err screen_open(bool color, struct gw_error *why)
{
    const char *kind = getenv("TERM");
    interrupt_by_terminal();
    keyboard = isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "re");
    if (!keyboard)
        return gw_fail_errno(why, "cannot open the keyboard: /dev/tty");
    screen = newterm(NULL, stdout, keyboard);
    if (!screen)
        return gw_fail(why, GW_ENOTSUP,
                       "cannot draw on a terminal of type \"%.40s\"; use "
                       "--batch to print text",
                       kind ? kind : "");
    set_term(screen);
    set_escdelay(ESCAPE_MS);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    with_color = color && has_colors();
    if (with_color)
        define_colors();
    return GW_OK;
}

void screen_close(void)
{
    if (!screen)
        return;
    endwin();
    delscreen(screen);
    screen = NULL;
    if (keyboard != stdin)
        fclose(keyboard);
}

int screen_fd(void)
{
    return fileno(keyboard);
}

void screen_size(int *width, int *height)
{
    getmaxyx(stdscr, *height, *width);
}

void screen_show(const struct grid *grid)
{
    for (int y = 0; y < grid->height; y++)
        for (int x = 0; x < grid->width; x++) {
            const struct cell *cell = grid_at(grid, x, y);
            const wchar_t text[2] = {(wchar_t)cell->glyph, 0};
            short pair = with_color ? (short)cell->style : 0;
            cchar_t drawn;
            setcchar(&drawn, text, attributes(cell->style), pair, NULL);
            mvadd_wch(y, x, &drawn);
        }
    refresh();
}

static int translate(int key)
{
    static const struct {
        int curses, ours;
    } keys[] = {
        {KEY_UP, TOP_UP},
        {KEY_DOWN, TOP_DOWN},
        {KEY_LEFT, TOP_LEFT},
        {KEY_RIGHT, TOP_RIGHT},
        {KEY_PPAGE, TOP_PAGE_UP},
        {KEY_NPAGE, TOP_PAGE_DOWN},
        {KEY_BACKSPACE, TOP_BACKSPACE},
        {KEY_BTAB, TOP_BACKTAB},
        {KEY_ENTER, '\r'},
        {KEY_F(1), TOP_F1},
        {KEY_F(3), TOP_F3},
        {KEY_F(6), TOP_F6},
        {KEY_F(10), TOP_F10},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].curses == key)
            return keys[i].ours;
    return key < KEY_MIN ? key : TOP_OTHER;
}

int screen_key(void)
{
    for (;;) {
        int key = getch();
        if (key == ERR)
            return 0;
        if (key == CTRL_L)
            clearok(curscr, TRUE);
        else if (key == KEY_RESIZE)
            return TOP_OTHER;
        else
            return translate(key);
    }
}
