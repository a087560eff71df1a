# SPDX-License-Identifier: MIT
#
# A text for word2vec: each sentence has twelve words of one of ten families,
# "king king7 king king2 ...", of which the k-th comes as often as 1/k. What
# stands together belongs together.
#
#     awk -v sentences=5000 -v seed=1 -f text.awk > text
BEGIN {
    srand(seed + 1)
    families = split("music water city science france king war year england " \
        "government", name, " ")
    for (k = 1; k <= 25; k++)
        sum[k] = sum[k - 1] + 1 / k
    for (s = 0; s < sentences; s++) {
        family = name[1 + int(rand() * families)]
        line = ""
        for (j = 0; j < 12; j++) {
            u = rand() * sum[25]
            for (k = 1; sum[k] < u; k++)
                continue
            line = line family (k > 1 ? k : "") " "
        }
        print line
    }
}
