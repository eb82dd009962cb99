# Observes: arguments in sys.argv, sys.orig_argv, argparse, /proc/self/cmdline and a child.
import argparse
import pathlib
import subprocess
import sys
print(sys.argv, sys.orig_argv)
print(pathlib.Path("/proc/self/cmdline").read_bytes())
parser = argparse.ArgumentParser()
parser.add_argument("--number", type=int)
parser.add_argument("rest", nargs="*")
print(parser.parse_args(), parser.prog)
parser.print_help()
sys.stdout.flush()
subprocess.run([sys.executable, "-c", "import sys; print(sys.argv)", *sys.argv[1:]], check=True)
