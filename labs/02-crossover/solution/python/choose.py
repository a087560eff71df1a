# The times of all three, in units of beta; the least wins. Without a power of two,
# folding costs recursive doubling about three buffers: two for the extra steps and
# one for the messages of ranks that do not wait.
import sys


def choose(p, n, N):
    k = p.bit_length() - 1
    q = 2**k
    fold = q < p
    times = {
        "recursive_doubling": k * (N + n) + fold * (2 * N + 3 * n),
        "rabenseifner": 2 * k * N + 2 * (q - 1) / q * n + fold * (2 * N + 3.4 * n),
        "ring": 2 * (p - 1) * (N + n / p),
    }
    return min(times, key=times.get)


for line in sys.stdin:
    print(choose(*map(int, line.split())))
