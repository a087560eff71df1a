/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See glyphs.h. All are one column wide.
 */
#include "glyphs.h"

const struct glyphs glyphs_utf8 = {
    .levels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
    .across = "─",
    .down = "│",
    .corners = {"┌", "┐", "┘", "└"},
    .arrows = {"→", "↓", "←", "↑"},
    .full = "█",
    .passes = {"░", "▓", "▒", "▂"},
    .idle = "·",
};

const struct glyphs glyphs_ascii = {
    .levels = {" ", ".", ":", "-", "=", "+", "*", "#", "@"},
    .across = "-",
    .down = "|",
    .corners = {"+", "+", "+", "+"},
    .arrows = {">", "v", "<", "^"},
    .full = "#",
    .passes = {"=", "#", "+", "-"},
    .idle = ".",
};
