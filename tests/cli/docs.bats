#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The claims of the READMEs and the manual pages: every command runs
# (docs_manual.bats has those of the manual pages), every C program compiles
# without a warning and succeeds, every plan is correct.

load docs

compile_and_run() {
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -o program "$1" \
        -I "$ROOT/lib/include" -L "$BUILD" -Wl,-rpath,"$BUILD" -lgradwire \
        -lm -pthread ${SAN:-}
    ./program
}

@test "every command of README runs" {
    run_commands README.md
    [ -s examples/commands ]
}

@test "README has at most 200 lines" {
    [ "$(wc -l <"$ROOT/README.md")" -le 200 ]
}

@test "every command of labs/programs/README.md runs" {
    run_commands labs/programs/README.md
    [ -s examples/commands ]
}

@test "the links of the READMEs lead to files" {
    for page in README.md lib/README.md tests/README.md labs/programs/README.md; do
        grep -o '](\([^)]*\))' "$ROOT/$page" | tr -d '()]' | while read -r link; do
            [ -e "$ROOT/$(dirname "$page")/$link" ] || { echo "$page: $link"; exit 1; }
        done
    done
}

@test "the walk of lib/README.md: its files have the functions, in at most 2500 lines" {
    # FILE WORD... for each item: the words in backquotes
    # shellcheck disable=SC2016 # the backquotes are Markdown
    awk '/^[0-9]+\. `/ || /^$/ { if (line) print line; line = ""; item = !/^$/ }
        item { n = split($0, part, "`"); for (i = 2; i <= n; i += 2) line = line " " part[i] }
        ' "$ROOT/lib/README.md" >walk.txt
    [ "$(wc -l <walk.txt)" -ge 12 ]
    total=0
    while read -r file words; do
        [ -f "$ROOT/$file" ] || { echo "no $file"; return 1; }
        [ "$words" ] || { echo "$file: no function"; return 1; }
        total=$((total + $(wc -l <"$ROOT/$file")))
        for word in $words; do
            grep -q "\<$word(" "$ROOT/$file" ||
                { echo "$file has no $word"; return 1; }
        done
    done <walk.txt
    [ "$total" -le 2500 ] || { echo "$total lines"; return 1; }
}

@test "the map of lib/README.md has every folder, and no others" {
    # shellcheck disable=SC2016 # the backquotes are Markdown
    sed -n 's/^| `\([a-z]*\/[a-z_/]*\)` |.*/\1/p' "$ROOT/lib/README.md" | sort >mapped
    (cd "$ROOT" && find lib/ cmd/ -name '*.[ch]' | sed 's|/[^/]*$||' |
        sed -n -e '/^lib\/include/d' -e 's|^\(lib/[a-z]*\)$|\1|p' \
            -e 's|^\(lib/[a-z]*/[a-z_]*\).*|\1|p' -e 's|^\(cmd/[a-z]*\).*|\1|p') |
        sort -u >folders
    diff folders mapped
    # Each folder of a tool is in its row.
    # shellcheck disable=SC2016 # the backquotes are Markdown
    sed -n 's/^| `\(cmd[^`]*\)`/\1\//p' "$ROOT/lib/README.md" >rows
    (cd "$ROOT" && printf '%s\n' cmd/*/*/) >deeper
    [ "$(wc -l <deeper)" -gt 20 ]
    awk -F / 'FNR == NR { split($0, cell, "|"); row[$2] = cell[2]; next }
        !index(row[$2], "`" $3 "`") { print "no row names " $0; bad = 1 }
        END { exit bad }' rows deeper
}

@test "the files and names of lib/README.md, Where to add, exist" {
    sed -n '/^## Where to add/,/^## /p' "$ROOT/lib/README.md" >adding
    # shellcheck disable=SC2016 # the backquotes are Markdown
    grep -o '`[a-z]*/[a-z_/]*\.[ch]`' adding | tr -d '\`' >files
    [ "$(wc -l <files)" -ge 4 ]
    while read -r file; do
        [ -f "$ROOT/$file" ] || { echo "no $file"; return 1; }
    done <files
    for word in GW__ALGOS GW__SCHEDULES GW_EVENTS gw__wire_ops gw__wire_open; do
        grep -q "$word" adding
        grep -rqw "$word" "$ROOT/lib" --include='*.[ch]' || { echo "no $word"; return 1; }
    done
}

@test "make help names every target, and the READMEs no others" {
    make -s -C "$ROOT" help >helped
    awk '/^\.PHONY:/ { on = 1 }
        on { more = /\\$/; gsub(/\\$|\.PHONY:/, ""); print; on = more }' \
        "$ROOT/Makefile" | xargs -n 1 |
        grep -vx -e always -e 'run-.*' >targets
    [ "$(wc -l <targets)" -gt 20 ]
    while read -r target; do
        grep -qE "(^|[ :])$target( |:|$)" helped || { echo "make help: $target?"; false; }
    done <targets
    cat "$ROOT"/README.md "$ROOT"/*/README.md "$ROOT/man/gradwire-cluster.7" |
        sed 's/^\.It Ic make/$ make/' | tr '\n' ' ' | grep -oE '[`$] ?make [a-z0-9-]+' |
        sed 's/.*make //' | sort -u >named
    [ "$(wc -l <named)" -gt 10 ]
    while read -r target; do
        grep -qx -e "$target" targets || { echo "README: make $target?"; false; }
    done <named
}

# A lab that shows this command must contain these words, one per line: the
# command's words, its options, its algorithm, and the names of its settings.
named_by() {
    echo "$1" | awk '{
        for (i = 2; i <= NF && $i ~ /^[a-z][a-z_0-9]*$/; i++)
            words = words (i > 2 ? " " : "") $i
        print words ? words : $1
        for (; i <= NF; i++) {
            if ($i ~ /^--./)
                print $i
            if ($i == "--algo" || $i == "-a")
                print $(i + 1)
            if ($i == "--set") {
                split($(i + 1), pairs, ",")
                for (p in pairs)
                    print substr(pairs[p], 1, index(pairs[p], "=") - 1)
            }
        }
    }'
}

# shows LAB COMMAND
shows() {
    while read -r word; do
        grep -rqwF -e "$word" "$1" || return 1
    done < <(named_by "$2")
}

@test "a lab that gradwire-ideas(7) names for an idea has one of its commands" {
    ideas
    while IFS='|' read -r idea _ labs commands; do
        for lab in $labs; do
            shown=
            while read -r command; do
                ! shows "$(echo "$ROOT/labs/$lab"-*)" "$command" || shown=1
            done < <(echo "$commands" | tr '|' '\n')
            [ "$shown" ] || { echo "$idea: lab $lab has no $commands"; return 1; }
        done
    done <ideas
}

# An algorithm that a command names exists, of that collective.
has_algorithm() {
    algo=$(echo "$1" | sed -n 's/.* --algo \([a-z_]*\).*/\1/p')
    op=$(echo "$1" | awk '{ print $3 }')
    [ -z "$algo" ] || [ "$algo" = all ] ||
        collrun list "$op" -o csv | grep -qE "^$algo,|,$algo,"
}

@test "where gradwire-ideas(7) has an idea, there is code, and its tools and labs exist" {
    ideas
    while IFS='|' read -r idea code labs commands; do
        [ -f "$ROOT/$code" ] || { echo "$idea: no $code"; return 1; }
        [ "$commands" ] || { echo "$idea: no command"; return 1; }
        while read -r command; do
            [ -x "$BUILD/${command%% *}" ] && has_algorithm "$command" ||
                { echo "$idea: no tool or algorithm: $command"; return 1; }
        done < <(echo "$commands" | tr '|' '\n')
        for lab in $labs; do
            [ -d "$(echo "$ROOT/labs/$lab"-*)" ] ||
                { echo "$idea: no lab $lab"; return 1; }
        done
    done <ideas
}

# An example of section 3 that is no program, and no command, is the output of
# the program before it.
@test "every program of README and the manual pages compiles, ends well and prints its output" {
    for page in README.md "$ROOT"/man/*.3; do
        [ "$page" = README.md ] || page=man/${page##*/}
        examples "$page"
        # tests/python runs those in Python.
        [ "$page" != man/gradwire-python.3 ] || continue
        [ -e examples/1.c ] || { echo "$page has no program"; return 1; }
        for program in examples/*.c; do
            run compile_and_run "$program"
            echo "$page: $program: $output"
            [ "$status" -eq 0 ]
            [ ! -e "${program%.c}.out" ] ||
                diff "${program%.c}.out" - <<<"$output"
        done
    done
}

@test "every plan of the manual pages is right" {
    examples man/gradwire-plan.5
    [ -e examples/1.plan ]
    for plan in examples/*.plan; do
        run collrun verify "$plan"
        cat "$plan"
        echo "$output"
        [ "$status" -eq 0 ]
    done
}

@test "every schedule of the manual pages is right" {
    examples man/gradwire-schedule.5
    [ -e examples/1.pipe ]
    for schedule in examples/*.pipe; do
        run pipebench plan "$schedule"
        cat "$schedule"
        echo "$output"
        [ "$status" -eq 0 ]
    done
}

@test "every network of the manual pages is right" {
    examples man/gradwire-network.5
    [ -e examples/1.net ]
    for network in examples/*.net; do
        run pipebench layout "$network"
        cat "$network"
        echo "$output"
        [ "$status" -eq 0 ]
    done
}

@test "mandoc has nothing to say about the manual pages" {
    run mandoc -Tlint -W warning "$ROOT"/man/*.[1-8]
    echo "$output"
    [ -z "$output" ]
}

# In ".%A Mu Li" groff calls the macro Li, and the reference is lost.
@test "groff, the formatter of man-db, has nothing to say about the manual pages" {
    command -v groff >/dev/null || skip "groff is not installed"
    run groff -mdoc -t -k -ww -z -Tutf8 "$ROOT"/man/*.[1-8]
    echo "$output"
    [ -z "$output" ]
}

# table FILE WIDTH: its lines as mandoc prints them.
table() {
    mandoc -T utf8 -O width="$2" "$1" | LC_ALL=C.UTF-8 sed 's,.\x08,,g' |
        sed '1,/^TABLE$/d' |
        sed '$d' | grep .
}

# A cell that is wider than its column breaks the row, at any width.
@test "no row of a table in the manual pages is broken, or wider than 72 or 80 columns" {
    mkdir tables
    awk '/^\.Bl -column/ { file = "tables/" ++tables "." FILENAME; gsub(/.*\//, "tables/" tables ".", file)
            print ".Dd now\n.Dt X 7\n.Os\n.Sh NAME\n.Nm x\n.Nd y\n.Sh TABLE" >file; inside = 1 }
        inside { print >file }
        /^\.El/ && inside { close(file); inside = 0 }' "$ROOT"/man/*.[1-8]
    [ "$(find tables -type f | wc -l)" -ge 30 ]
    for file in tables/*; do
        [ "$(table "$file" 500 | wc -l)" -eq "$(grep -c '^\.It' "$file")" ] ||
            { table "$file" 500; echo "$file: a cell is wider than its column"; return 1; }
        for width in 70 78; do
            [ "$(table "$file" $width | LC_ALL=C.UTF-8 wc -L)" -le $width ] ||
                { table "$file" $width; echo "$file: wider than $width"; return 1; }
        done
    done
}

@test "pages that pages refer to exist" {
    for page in "$ROOT"/man/*.[1-8]; do
        sed -n 's/^\.Xr \(gradwire[a-z-]*\|collrun\|pipebench\|psnode\|ringctl\|ringtop\) \([1-8]\).*/\1.\2/p' "$page"
    done | sort -u >named
    [ "$(wc -l <named)" -gt 20 ]
    while read -r name; do
        [ -e "$ROOT/man/$name" ] || { echo "no $name"; return 1; }
    done <named
}

@test "the pages of the library have the functions and types of its headers" {
    run "$ROOT/.ci/man3"
    echo "$output"
    [ "$status" -eq 0 ]
    mkdir -p tree/lib tree/man
    cp -r "$ROOT/.ci" tree
    cp -r "$ROOT/lib/include" tree/lib
    cp "$ROOT"/man/gradwire*.[37] tree/man
    sed -i 's/^    unsigned rank;/    int rank;/' tree/man/gradwire-wire.3
    sed -i 's/^\.Fn gw_free .*/.Fn gw_free "int memory"/' tree/man/gradwire-wire.3
    sed -i '/^\/\* Reads the counts/d' tree/lib/include/gradwire/parallel.h
    run tree/.ci/man3
    [ "$status" -ne 0 ]
    [[ $output == *"parallel.h:"*": no comment on the line before"* ]]
    [[ $output == *"void gw_free(void *memory)"*"wire.3: TYPES differs"* ]]
}

@test "gradwire(7) has every algorithm, with its formula" {
    collrun list -o csv | sed 1d | awk -F, '{ print $2 }' | sort -u >names
    collrun list -o jsonl |
        sed 's/.*"algo":"\([^"]*\)".*"ranks":"\([^"]*\)","formula":"\([^"]*\)".*/.It Cm \1 Ta \2 Ta \3/' |
        while read -r line; do
            grep -qxF "$line" "$ROOT/man/gradwire.7" ||
                { echo "not there: $line"; return 1; }
        done
    [ -s names ]
}

@test "gradwire(7) has 60 terms, each with one sentence" {
    awk '/^\.Sh / { terms = $2 == "TERMS" }
        !terms { next }
        /^\.It Em / { if (name) print name "|" text; name = $0; text = ""; next }
        /^\.(El|Ss)/ { if (name) print name "|" text; name = "" }
        name { gsub(/^\.[A-Z][a-z] |\\&/, ""); text = text " " $0 }' "$ROOT/man/gradwire.7" >terms
    [ "$(cut -d '|' -f 1 terms | sort -u | wc -l)" -eq 60 ]
    run grep -vE '^\.It Em [^|]*\| [A-Z][^.]*[ .]\.?$' terms
    echo "no sentence, or several: $output"
    [ -z "$output" ]
}
