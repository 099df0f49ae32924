"""press_ctrl_c.py TIMES COMMAND...: runs COMMAND in a new terminal and presses Ctrl-C.

It presses TIMES times, half a second apart, after the job has begun its steps. It prints what the
terminal showed and ends with COMMAND's exit code.
"""

import os
import pty
import sys
import threading
import time


def press(terminal, times):
    for _ in range(times):
        time.sleep(0.5)
        os.write(terminal, b"\x03")


def main():
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    shown = b""
    begun = False
    while True:
        try:
            text = os.read(terminal, 4096)
        except OSError:  # on Linux: the last process has closed the terminal
            break
        shown += text
        if not begun and b"from step" in shown:
            begun = True
            threading.Thread(target=press, args=(terminal, int(sys.argv[1]))).start()
    _, status = os.waitpid(child, 0)
    sys.stdout.write(shown.decode(errors="replace"))
    sys.stdout.flush()
    sys.exit(os.waitstatus_to_exitcode(status))


main()
