# SPDX-License-Identifier: MIT
#
# Prints a text for word2vec: each sentence has twelve words of one of ten families,
# "king king7 king king2 ...". The k-th word of a family is as frequent as 1/k.
# Words of one sentence belong together.
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
