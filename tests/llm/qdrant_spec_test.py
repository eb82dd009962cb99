"""The requests of QdrantLessons and the answers of its tests' fake Qdrant, checked against the types that
Qdrant's makers generate from its OpenAPI. The exchanges are those of the unit test."""
import copy
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import time_scale
from mock_provider import HERE, NODE_MODULES, obstacle

LESSONS_TEST = os.environ.get("LESSONS_TEST", "")
TYPES = "@qdrant/js-client-rest/dist/types/openapi/generated_schema.d.ts"
LEAST_NODE = (18, 0)
# Every kind of request that runtime/lessons can send: the operation and the fields of its body.
KINDS = {"collection_exists", "create_collection vectors", "create_field_index field_name field_schema",
         "upsert_points points", "get_points ids with_payload",
         "query_points filter limit query score_threshold with_payload",
         "scroll_points filter limit order_by with_payload", "count_points exact filter",
         "delete_points points", "delete_points filter"}
CONDITIONS = {"has_id", "match", "range"}


def judged(exchanges):
    done = subprocess.run(["node", HERE / "qdrant_types.cjs", NODE_MODULES], check=False, capture_output=True,
                          text=True, timeout=time_scale.scaled(120), input="\n".join(map(json.dumps, exchanges)))
    if done.returncode != 0:
        raise AssertionError(done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def recorded():
    with tempfile.TemporaryDirectory() as directory:
        record = pathlib.Path(directory, "exchanges")
        done = subprocess.run([LESSONS_TEST, "--gtest_filter=QdrantLessonsTest.*"], check=False, capture_output=True,
                              text=True, timeout=time_scale.scaled(120), env={**os.environ, "QDRANT_REQUESTS": str(record)})
        if done.returncode != 0:
            raise AssertionError(done.stdout[-2000:] + done.stderr[-2000:])
        return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


def kind_of(exchange, verdict):
    return " ".join([str(verdict["operation"]), *sorted(exchange.get("body", {}))])


class QdrantSpec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = obstacle("Qdrant's client", TYPES, LEAST_NODE) or obstacle("typescript", "typescript", LEAST_NODE)
        if why:
            raise unittest.SkipTest(why)
        cls.exchanges = recorded()
        cls.verdicts = judged(cls.exchanges)
        pairs = zip(cls.exchanges, cls.verdicts)
        cls.examples = {kind_of(*pair): pair[0] for pair in pairs if pair[0]["status"] == 200}

    def test_what_is_said_is_what_the_types_have(self):
        self.assertEqual(len(self.exchanges), len(self.verdicts))
        for exchange, verdict in zip(self.exchanges, self.verdicts):
            self.assertEqual([], verdict["faults"], exchange)

    def test_each_kind_of_request_was_seen(self):
        self.assertEqual(KINDS, set(self.examples))
        bodies = json.dumps([exchange.get("body") for exchange in self.exchanges])
        self.assertEqual([], [condition for condition in CONDITIONS if f'"{condition}": ' not in bodies])
        self.assertIn(401, {exchange["status"] for exchange in self.exchanges})

    def spoilt(self, kind, spoil):
        exchange = copy.deepcopy(next(example for name, example in self.examples.items() if name.startswith(kind)))
        spoil(exchange)
        return exchange

    def test_control_the_types_can_refuse(self):
        owned = {"key": "owner", "match": {"value": "me"}}
        spoilt = [
            ("unknown field", "scroll_points", lambda e: e["body"].update(lim=3), "body.lim: unknown"),
            ("in a filter", "count_points", lambda e: e["body"]["filter"].update(mist=[]), "body.filter.mist: unknown"),
            ("in a condition", "count_points", lambda e: e["body"].update(filter={"must": [{**owned, "not": 1}]}),
             "body.filter.must[0].not: unknown"),
            ("in a point", "upsert_points", lambda e: e["body"]["points"][0].update(name=""), "name: unknown"),
            ("of another selector", "delete_points filter", lambda e: e["body"].update(points=[]), ": unknown"),
            ("missing field", "create_collection", lambda e: e["body"]["vectors"].pop("distance"), "distance: missing"),
            ("wrong word", "create_collection", lambda e: e["body"]["vectors"].update(distance="cosine"), "expected"),
            ("wrong type", "scroll_points", lambda e: e["body"].update(limit="3"), "body.limit: expected"),
            ("no whole number", "scroll_points", lambda e: e["body"].update(limit=1.5), "body.limit: expected a whole"),
            ("wrong id", "get_points", lambda e: e["body"].update(ids=[True]), "body.ids[0]: expected"),
            ("wrong path", "count_points", lambda e: e.update(target=e["target"] + "s"), "no such operation"),
            ("wrong method", "count_points", lambda e: e.update(method="PATCH"), "no such operation"),
            ("unknown parameter", "upsert_points", lambda e: e.update(target=e["target"] + "&now=1"), "?now: unknown"),
            ("wrong parameter", "upsert_points", lambda e: e.update(target=e["target"] + "1"), "?wait: expected"),
            ("a body where none is", "collection_exists", lambda e: e.update(body={}, content_type="application/json"),
             "body: not as"),
            ("wrong content", "count_points", lambda e: e.update(content_type="text/plain"), "body: not as text/plain"),
            ("answer without a field", "get_points", lambda e: e["answer"].update(result=[{"payload": {}}]), "missing"),
            ("answer of another shape", "count_points", lambda e: e["answer"].update(result=3), "result: expected"),
        ]
        verdicts = judged([self.spoilt(kind, spoil) for _, kind, spoil, _ in spoilt])
        self.assertEqual(len(spoilt), len(verdicts))
        for (name, _, _, expected), verdict in zip(spoilt, verdicts):
            with self.subTest(name):
                self.assertIn(expected, "\n".join(verdict["faults"]))
