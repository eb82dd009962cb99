# Observes: a usage error by argparse.
# Ends: error 2
import argparse
parser = argparse.ArgumentParser(description="wants a number")
parser.add_argument("number", type=int)
print(parser.parse_args())
