#!/usr/bin/env python3
"""openapi_json.py IN.yaml OUT.json: the same document as JSON, what YAML repeats by reference written out."""
import json
import sys

import yaml


def main(source, target):
    with open(source, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main(*sys.argv[1:])
