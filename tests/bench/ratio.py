"""Computes the median of interleaved ratios, and its confidence interval."""
import math
import statistics

LEAST_ROUNDS = 6  # with fewer, even the smallest and largest give less than 95 %


def interval(ratios, confidence=0.95):
    """Returns two of the ratios that enclose their true median with at least that confidence.

    A ratio is below the true median with probability one half, for any distribution of noise. So a
    few rounds that another process disturbed do not move the interval.
    Source: Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2.
    """
    count = len(ratios)
    if count < LEAST_ROUNDS:
        raise ValueError(f"{count} rounds are fewer than {LEAST_ROUNDS}")
    left_out = tail = 0
    while 2 * (tail + math.comb(count, left_out)) <= (1 - confidence) * 2 ** count:
        tail += math.comb(count, left_out)
        left_out += 1
    ordered = sorted(ratios)
    return ordered[left_out - 1], ordered[count - left_out]


def summary(ratios):
    """Returns the median, and the lower and upper end of its interval."""
    return statistics.median(ratios), *interval(ratios)
