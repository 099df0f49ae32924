"""The median of ratios that were measured in turn, and how sure it is."""
import math
import statistics

LEAST_ROUNDS = 6  # with fewer, not even the smallest and the largest hold the median in 95 %


def interval(ratios, confidence=0.95):
    """Two of the ratios, between which their true median lies with at least that confidence.

    A ratio is below the true median as often as a coin shows heads, whatever the noise is like;
    so a few rounds that another process disturbed do not move the interval.
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
    """Median, lower and upper end."""
    return statistics.median(ratios), *interval(ratios)
