#!/usr/bin/env python3
"""openapi_json.py IN.yaml OUT.json: the same document as JSON, with what YAML repeats by reference written out, and with
the copy below /api/v1 of each path that is served there too (all but those with `x-versions: plain`)."""
import json
import sys

import yaml


def with_versions(paths):
    described = {}
    for path, item in paths.items():
        versions = item.pop("x-versions", "both")
        described[path] = item
        if versions == "both":
            described[f"/api/v1{path}"] = {
                key: {**value, "operationId": f"{value['operationId']}V1"} if "operationId" in value else value
                for key, value in item.items()}
    return described


def main(source, target):
    with open(source, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    document["paths"] = with_versions(document["paths"])
    with open(target, "w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main(*sys.argv[1:])
