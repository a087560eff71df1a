#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The parts that make the labs' verdicts, with synthetic outputs: formulas, the language
# of facts, values from JSON and recordings, and the comparison of predictions with
# measurements.

setup_file() {
    LIB=$(realpath labs/lib)
    export LIB
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    : >values
}

# evaluate FORMULA
evaluate() {
    FORMULA=$1 awk -v values=values -f "$LIB/expr.awk" -f "$LIB/calc.awk"
}

# judge FACT...: prints the lines of facts.awk for these lines of a facts file.
judge() {
    printf '%s\n' "$@" >facts
    awk -v values=values -f "$LIB/expr.awk" -f "$LIB/facts.awk" facts
}

# verdict VERB NAME FORMULA: prints the verdict of one fact.
verdict() {
    judge "$* \"text\" 1pt part" | cut -f 1
}

@test "formulas have the values computed by hand" {
    printf 'P 6\nS 1M\nrun.bytes 7\n' >values
    while IFS='=' read -r formula wanted; do
        run evaluate "$formula"
        echo "$formula: $output, not $wanted"
        [ "$status" -eq 0 ]
        [ "$output" = "$wanted" ]
    done <<'EOT'
2*(P-1)*P=60
2*(P-1)/P*S=1747626.66667
(P-1)/P*6K=5120
S-1=1048575
run.bytes*2=14
2+3*4^2=50
-2^2+1=-3
2-3-4=-5
24/4/3=2
-7%3=2
7 % 3=1
ceil(log2(P))=3
floor(7/2)=3
log2(8)=3
ceil(0.1*30)=3
min(P,4)+max(P,4)=10
1.5K=1536
.5=0.5
1e3+2E-1=1000.2
((1))=1
EOT
}

@test "an invalid formula gives its reason" {
    echo 'P 6' >values
    while IFS='=' read -r formula why; do
        run evaluate "$formula"
        echo "$formula: $output, not $why"
        [ "$status" -eq 1 ]
        [[ $output = *"$why"* ]]
    done <<'EOT'
Q+1=unknown name Q
1+=missing at the end
=missing at the end
(1+2=")" is missing
1 2=unexpected "2"
1/(P-6)=division by 0
5%0=division by 0
sqrt(4)=unknown function sqrt()
#=is not a formula
EOT
}

@test "eq, le, ge and zero" {
    printf 'P 4\nrun.rounds 6\nrun.wrong 0\nrun.big 3K\n' >values
    [ "$(verdict eq run.rounds '2*(P-1)')" = PASS ]
    [ "$(verdict eq run.rounds 7)" = FAIL ]
    [ "$(verdict eq run.big 3072)" = PASS ]
    [ "$(verdict le run.rounds 6)" = PASS ]
    [ "$(verdict le run.rounds 5)" = FAIL ]
    [ "$(verdict ge run.rounds 6)" = PASS ]
    [ "$(verdict ge run.rounds 7)" = FAIL ]
    [ "$(verdict zero run.wrong)" = PASS ]
    [ "$(verdict zero run.rounds)" = FAIL ]
}

@test "eq tolerates rounding errors, and nothing more" {
    printf 'a.third 0.333333333333\na.off 0.33334\nlarge 1000000001\n' >values
    [ "$(verdict eq a.third 1/3)" = PASS ]
    [ "$(verdict eq a.off 1/3)" = FAIL ]
    [ "$(verdict eq large 1000000000)" = PASS ]
    [ "$(verdict eq large 1000000003)" = FAIL ]
}

@test "within a share, at its edges and around negative numbers" {
    printf 'x 110\ny -95\n' >values
    [ "$(verdict within x 100 10%)" = PASS ]
    [ "$(verdict within x 100 9.9%)" = FAIL ]
    [ "$(verdict within y -100 5%)" = PASS ]
    [ "$(verdict within y 100 5%)" = FAIL ]
}

@test "order: the words occur in this order, with others between them" {
    echo 'run.events start kill suspect epoch resume end' >values
    [ "$(verdict order run.events kill suspect resume)" = PASS ]
    [ "$(verdict order run.events suspect kill)" = FAIL ]
    [ "$(verdict order run.events kill kill)" = FAIL ]
    [ "$(verdict order run.events end start)" = FAIL ]
}

@test "a star means all matching values, and the first that fails is named" {
    printf 'run.sent.0 5\nrun.sent.1 5\nrun.sent.2 6\nrun.send 9\n' >values
    [ "$(verdict le 'run.sent.*' 6)" = PASS ]
    run judge 'eq run.sent.* 5 "all ranks send the same" 2pt part'
    [ "$(cut -f 1,6 <<<"$output")" = "FAIL	run.sent.2 6" ]
    [ "$(verdict eq 'run.other.*' 5)" = UNKNOWN ]
}

@test "a missing measurement is UNKNOWN, and an invalid number is FAIL" {
    printf 'word hello\nx 1\n' >values
    [ "$(verdict eq run.rounds 6)" = UNKNOWN ]
    [ "$(verdict zero run.rounds)" = UNKNOWN ]
    [ "$(verdict eq x other.value)" = UNKNOWN ]
    [ "$(verdict order run.events kill)" = UNKNOWN ]
    [ "$(verdict eq word 6)" = FAIL ]
    [ "$(verdict eq x 1/0)" = FAIL ]
}

@test "the last value of a name counts" {
    printf 'P 4\nP 5\nx 8\n' >values
    [ "$(verdict eq x '2*(P-1)')" = PASS ]
}

@test "a fact is printed in full, with the place to look" {
    echo 'run.rounds 8' >values
    run judge '# a comment' '' \
        'le   run.rounds   2*3   "at most six"   3pt   build' \
        '    the first place' '    and the second'
    [ "$output" = "FAIL	3	build	run.rounds	at most 6	8	at most six	the first place and the second" ]
}

@test "invalid facts are refused with their line" {
    while read -r fact; do
        run judge 'eq a 1 "right" 1pt p' "$fact"
        echo "$fact: $output"
        [ "$status" -eq 65 ]
        [[ $output = *"facts:2: "* ]]
    done <<'EOT'
is a 1 "no verb" 1pt p
eq a "no formula" 1pt p
zero a 1 "a formula" 1pt p
eq a 1 no text 1pt p
eq a 1 "no points" p
eq a 1 "no part" 1pt
EOT
}

# report VERDICT...: prints facts with these verdicts as the learner reads them.
report() {
    for verdict; do
        printf '%s\t2\tplan\trun.rounds\t6\t8\ttoo many\tthe arrows\n' "$verdict"
    done >verdicts
    printf 'run\tbuild/collrun run my.plan\n' >commands
    awk -v commands=commands -f "$LIB/text.awk" -f "$LIB/verdicts.awk" verdicts
}

@test "the status is 0, 1 or 2: FAIL outweighs UNKNOWN" {
    for case in "0 PASS PASS" "1 PASS FAIL" "2 PASS UNKNOWN" \
        "1 UNKNOWN FAIL" "2"; do
        read -ra words <<<"$case"
        run report "${words[@]:1}"
        echo "$case: $output"
        [ "$status" -eq "${words[0]}" ]
    done
}

@test "a failure shows expected, got, where to look, and the command to repeat" {
    run report FAIL PASS
    echo "$output"
    [[ $output = *"part plan"* ]]
    [[ $output =~ expected\ +run.rounds\ 6 ]]
    [[ $output =~ got\ +8 ]]
    [[ $output =~ look\ at\ +the\ arrows ]]
    [[ $output =~ repeat\ +build/collrun\ run\ my.plan ]]
    [[ $output = *"FAIL  1 of 2 facts hold, 2 of 4 points"* ]]
}

@test "JSON lines become values: nested, of rows, and incomplete" {
    cat >out.jsonl <<'EOT'
{"schema":"x","n":6,"good":true,"bad":false,"none":null,"text":"a \"b\", c}","e":1.5e-3}
{"list":[1,{"deep":2},[]],"o":{},"n":7}
EOT
    run awk -v name=q -f "$LIB/json.awk" out.jsonl
    echo "$output"
    [ "$output" = 'q.schema x
q.n 6
q.good 1
q.bad 0
q.text a "b", c}
q.e 1.5e-3
q.list.0 1
q.list.1.deep 2
q.n 7' ]
    echo '{"algo":"two-shot","ranks":4,"us":3}' >out.jsonl
    run awk -v name=sim -v by=algo,ranks -f "$LIB/json.awk" out.jsonl
    [[ $output = *"sim.two_shot.4.us 3"* ]]
    echo '{"rounds":3,"partial":true,"status":130}' >out.jsonl
    run awk -v name=q -f "$LIB/json.awk" out.jsonl
    [ "$output" = "q.partial 1
q.status 130" ]
    for bad in '{"a":' '{"a"}' 'nonsense' '{"a":1' ''; do
        echo "$bad" >out.jsonl
        timeout 5 awk -v name=q -f "$LIB/json.awk" out.jsonl
    done
}

@test "events are counted for all ranks, each rank, and one op" {
    cat >events.jsonl <<'EOT'
{"time_ns":1,"kind":"send","rank":0,"peer":1,"op":1,"bytes":100}
{"time_ns":2,"kind":"send","rank":1,"peer":0,"op":1,"bytes":100}
{"time_ns":3,"kind":"send","rank":1,"peer":0,"op":2,"bytes":50}
{"time_ns":4,"kind":"apply","rank":0,"peer":1,"op":1,"bytes":100}
EOT
    awk -v name=e -f "$LIB/events.awk" events.jsonl | sort >counted
    sort >wanted <<'EOT'
e.send 3
e.send_bytes 250
e.send.0 1
e.send_bytes.0 100
e.send.1 2
e.send_bytes.1 150
e.send_max 2
e.send_bytes_max 150
e.apply 1
e.apply_bytes 100
e.apply.0 1
e.apply_bytes.0 100
e.apply_max 1
e.apply_bytes_max 100
EOT
    diff wanted counted
    awk -v name=e -v op=2 -f "$LIB/events.awk" events.jsonl |
        grep -qx "e.send_bytes 50"
    awk -v name=e -v op=largest -f "$LIB/events.awk" events.jsonl events.jsonl |
        grep -qx "e.send_bytes 200"
}

# compare PREDICTED MEASURED TOLERANCE: one question with the formula 40.
compare() {
    printf 'm\tHow many?\tmessages\t%s\tin words\t40\tbecause\n' "$3" >questions
    echo "m $1 0" >predictions
    printf 'm %s\n' "$2" >values
    awk -v values=values -v predicted=predictions -v scores=scores \
        -f "$LIB/text.awk" -f "$LIB/expr.awk" -f "$LIB/compare.awk" questions
}

@test "comparison of a prediction: its gap, right or wrong, formula right or wrong" {
    run compare 40 40 0
    [ "$status" -eq 0 ]
    [[ $output = *none*"in words"*because* ]]
    [ "$(cat scores)" = "m 40 40 40 1" ]
    run compare 38 40 10%
    [ "$status" -eq 0 ]
    [[ $output = *"-5.0 %"* ]]
    [ "$(cat scores)" = "m 38 40 40 1" ]
    run compare 30 40 10%
    [ "$(cat scores)" = "m 30 40 40 0" ]
    run compare 4000 40 0
    [[ $output = *"+3960"* ]]
    run compare 40 41 0
    [ "$status" -eq 1 ]
    [[ $output = *"not agree with the formula"* ]]
    run compare 40 41 5%
    [ "$status" -eq 0 ]
    printf 'other 3\n' >values
    run awk -v values=values -v predicted=predictions -v scores=scores \
        -f "$LIB/text.awk" -f "$LIB/expr.awk" -f "$LIB/compare.awk" questions
    [ "$status" -eq 2 ]
    [[ $output = *"not measured"* ]]
}

@test "questions must have seven parts" {
    printf '# comment\na | Q | unit\n  | 0 | words | 1+1 | why\n' >predict.txt
    run awk -f "$LIB/questions.awk" predict.txt
    [ "$output" = "a	Q	unit	0	words	1+1	why" ]
    echo 'a | Q | unit | 0 | words | 1' >predict.txt
    run awk -f "$LIB/questions.awk" predict.txt
    [ "$status" -eq 65 ]
    [[ $output = *"7 parts, not 6"* ]]
}

# answers FOLDER: prints the answers of its questions that no other number of a page
# equals by chance: those of at least 1000, and percentages.
answers() {
    sed -n 's/^\([A-Z][A-Z0-9_]*\)=/\1 /p' "$1/lab.conf" >values
    awk -f "$LIB/questions.awk" "$1/predict.txt" | cut -f 3,6 |
        while IFS=$'\t' read -r unit formula; do
            answer=$(evaluate "$formula" </dev/null) || continue
            if [ "$unit" = % ]; then
                printf '%.0f %%\n' "$answer"
            elif [ "${answer%.*}" -ge 1000 ]; then
                echo "${answer%.*}"
            fi
        done
}

@test "the page that is read before predicting does not have the answers" {
    count=0
    for home in "$LIB"/../[0-9][0-9]-*; do
        answers "$home" >wanted
        # Their texts, without the commands.
        # shellcheck disable=SC2016
        sed '/^```/,/^```/d' "$home"/README*.md >texts
        while read -r answer; do
            count=$((count + 1))
            ! grep -E "(^|[^0-9.])$answer([^0-9]|$)" texts || return 1
        done <wanted
    done
    [ "$count" -ge 30 ]
}
