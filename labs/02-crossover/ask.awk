# SPDX-License-Identifier: MIT
#
# Follows the learner's choose.awk: asks choose() about each line "P SIZE N".
{ print choose($1, $2, $3) }
