"""Measures the CPU time of a command, with all processes that it starts and waits for."""
import os
import subprocess
import sys


def run_timed(command, **options):
    """Returns CPU seconds (user and system) of a command on one thread. Exits if it fails."""
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                             stderr=sys.stderr, env={**os.environ, "OMP_NUM_THREADS": "1"},
                             **options)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)  # prevents another wait
    if child.returncode != 0:
        sys.exit(f"{command[0]} ended with exit code {child.returncode}")
    return used.ru_utime + used.ru_stime
