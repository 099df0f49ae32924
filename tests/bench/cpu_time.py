"""What a command takes of the processors, with all processes that it starts and waits for."""
import os
import subprocess
import sys


def run_timed(command, **options):
    """CPU seconds (user and system) of a command on one thread. Ends this script where it fails."""
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                             stderr=sys.stderr, env={**os.environ, "OMP_NUM_THREADS": "1"},
                             **options)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)  # so that it is waited for no more
    if child.returncode != 0:
        sys.exit(f"{command[0]} ended with exit code {child.returncode}")
    return used.ru_utime + used.ru_stime
