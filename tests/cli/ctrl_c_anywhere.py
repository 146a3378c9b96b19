"""Run the command and press Ctrl-C everywhere: at one call of so many, in a copy of the process.

The copy is made by `os.fork` where the call begins; it gets SIGINT, and what becomes of it is one
line of JSON on standard output: the call, the exit code, and what it said on standard error.
"""

import json
import os
import runpy
import signal
import sys
import tempfile

report = os.fdopen(os.dup(1), "w")
every, sys.argv[1:] = int(sys.argv[1]), sys.argv[2:]
count = 0


def profile(frame, event, _argument):
    global count
    # Before its first module is there, the command is Python's alone.
    heard = count > 0 or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    count += event == "call" and heard
    if event == "call" and heard and not count % every:
        report.flush()
        with tempfile.TemporaryFile() as said:
            if (copy := os.fork()) == 0:
                sys.setprofile(None)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(said.fileno(), 2)
                signal.raise_signal(signal.SIGINT)
                return
            code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
            said.seek(0)
            place = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
            print(json.dumps([place, code, said.read().decode()]), file=report)


sys.orig_argv[:] = [sys.executable, "-m", "iirl_opt", *sys.argv[1:]]
sys.argv[0] = "-m"  # as Python has it until the module is found
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
sys.setprofile(profile)
runpy.run_module("iirl_opt", run_name="__main__", alter_sys=True)
