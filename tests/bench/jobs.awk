# SPDX-License-Identifier: MIT
#
# The runs that fill the table, from the rows that expand.awk wrote out: one
# line "program op ranks bytes..." per start of a program. Programs with the
# same op and number of ranks are neighbours, so that compared values are
# measured at nearly the same time. A measurement that several rows need is run
# once.
#
#   awk -f yardstick.awk -f jobs.awk

function need(measurement,    word, place, job) {
    if (measurement in needed)
        return
    needed[measurement]
    split(measurement, word, " ")
    place = word[2] " " word[3]
    job = word[1] " " place
    if (!(place in programs))
        places[++place_count] = place
    if (!(job in sizes))
        programs[place] = programs[place] " " word[1]
    sizes[job] = sizes[job] " " word[4]
}

{
    need(named($5, $2, $3, $4))
    count = yardstick_needs(needs, $2, $3, $4, $5, $6)
    for (i = 1; i <= count; i++)
        need(needs[i])
}

END {
    for (i = 1; i <= place_count; i++) {
        count = split(programs[places[i]], who, " ")
        for (k = 1; k <= count; k++) {
            job = who[k] " " places[i]
            print job sizes[job]
        }
    }
}
