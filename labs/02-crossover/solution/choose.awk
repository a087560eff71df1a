# The times of all three, in units of beta; the least wins. Without a power of two,
# folding costs recursive doubling about three buffers: two for the extra steps and
# one for the messages of ranks that do not wait.
function choose(p, n, N,    q, k, fold, doubling, halving, ring) {
    for (q = 1; 2 * q <= p; q *= 2)
        k++
    fold = q < p
    doubling = k * (N + n) + fold * (2 * N + 3 * n)
    halving = 2 * k * N + 2 * (q - 1) / q * n + fold * (2 * N + 3.4 * n)
    ring = 2 * (p - 1) * (N + n / p)
    if (doubling < halving && doubling < ring)
        return "recursive_doubling"
    return halving < ring ? "rabenseifner" : "ring"
}
