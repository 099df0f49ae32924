#!/usr/bin/env python3
"""barriers.py PLAIN TSAN: removes each __syncthreads() from the kernels, one at a time.

It fails if the sweep does not notice that a barrier is missing, or notices one of REDUNDANT. PLAIN,
the program of the sweep, notices a wrong result in one of three orders of threads. TSAN, the same
program with ThreadSanitizer, notices a race.
"""
import os
import pathlib
import re
import subprocess
import sys

KERNELS = pathlib.Path(__file__).resolve().parent.parent.parent / "kernels"
BARRIER = re.compile(r"^(?!\s*//).*__syncthreads\(\);")
# The barriers (kernel, number in the kernel) that the kernels do not need, because barriers inside
# the next CUB call order the same accesses.
REDUNDANT = {("draw_with_replacement", 2), ("rms_norm", 2), ("rotate_heads", 2)}


def barriers():
    """Yields (kernel, number of the barrier in it, FILE:LINE)."""
    for path in sorted(KERNELS.glob("*_cuda.cu")):
        kernel = path.name.removesuffix("_cuda.cu")
        lines = path.read_text(encoding="utf-8").splitlines()
        places = [i + 1 for i, line in enumerate(lines) if BARRIER.match(line)]
        for number, line in enumerate(places, start=1):
            yield kernel, number, f"kernels/{path.name}:{line}"


def ends_well(program, kernel, **environment):
    suite = "".join(word.capitalize() for word in kernel.split("_")) + "Sweep"
    command = [program, f"--gtest_filter=*{suite}.*", "--gtest_brief=1"]
    ended = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True,
                           check=False)
    if " 0 tests " in ended.stdout:
        sys.exit(f"barriers.py: there is no {suite}")
    return ended.returncode == 0


def notices(programs, kernel, **environment):
    """Returns the orders of threads with a wrong result, and "race" if TSAN notices a race."""
    plain, tsan = programs
    seen = [order for order in ("forward", "backward", "random")
            if not ends_well(plain, kernel, CUDAEMU_ORDER=order, **environment)]
    if not ends_well(tsan, kernel, TSAN_OPTIONS="halt_on_error=1", **environment):
        seen.append("race")
    return seen


def main():
    programs = sys.argv[1:3]
    wrong = 0
    all_barriers = list(barriers())
    for kernel in sorted({kernel for kernel, _, _ in all_barriers}):
        if seen := notices(programs, kernel):
            print(f"{kernel} with all its barriers: {', '.join(seen)}")
            wrong += 1
    for kernel, number, place in all_barriers:
        seen = notices(programs, kernel, CUDAEMU_SKIP=place)
        is_known = (kernel, number) in REDUNDANT
        print(f"{place}: {', '.join(seen) or 'not noticed'}{' (redundant)' * is_known}", flush=True)
        wrong += bool(seen) == is_known
    print(f"{len(all_barriers)} barriers, {wrong} wrong")
    sys.exit(1 if wrong or not all_barriers else 0)


if __name__ == "__main__":
    main()
