"""Recorded answers in each provider's own wire format: a server that solves their tasks, from the socket of the model to
the verdict of the jail. The sets are AGENT_SANDBOX_PROGRAMS (default: ../shared/data beside the checkout)."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import time_scale
from mock_provider import BASES, HERE, KEY, Mock, obstacle

sys.path.append(str(HERE.parent / "api"))
import live_server  # noqa: E402

SETS = pathlib.Path(os.environ.get("AGENT_SANDBOX_PROGRAMS") or HERE.parents[1].parent / "shared" / "data")
ATTEMPTS = 4
# The longest of the programs computes for a second and a half, with three others beside it.
PROGRAM_SECONDS = 10
# The mock recognizes the role by these parts of the system prompt.
CODER, CRITIC = "You write Python programs", "You find out why a Python program"
CRITIQUE = {"diagnosis": "one of the assertions does not hold", "fix": "look at the condition again", "should_retry": True,
            "confidence": 0.7}


def marker_of(record):
    return record["task"].split("]", 1)[0] + "]"


def fixtures_of(records):
    fixtures = [{"match": {"systemMessage": CRITIC}, "response": {"content": json.dumps(CRITIQUE)}}]
    for record in records:
        fixtures += [{"match": {"systemMessage": CODER, "userMessage": marker_of(record), "sequenceIndex": place},
                      "response": {"content": answer}} for place, answer in enumerate(record["answers"])]
    return {"fixtures": fixtures}


def first_pass(record):
    """The attempt that passes, from 1; None: none does."""
    return record["expect_exits"].index(0) + 1 if 0 in record["expect_exits"] else None


class Cassettes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = SETS / "cassette.jsonl"
        why = obstacle() or live_server.host_view.no_user_namespaces()
        if not path.exists():
            why = f"no cassettes at {path}; AGENT_SANDBOX_PROGRAMS names their directory"
        if why:
            raise unittest.SkipTest(why)
        with open(path, encoding="utf-8") as lines:
            cls.records = [json.loads(line) for line in lines]
        directory = tempfile.mkdtemp(prefix="agent-sandbox-cassettes.")
        cls.addClassCleanup(shutil.rmtree, directory)
        with open(os.path.join(directory, "cassettes.json"), "w", encoding="utf-8") as file:
            json.dump(fixtures_of(cls.records), file)
        cls.mock = Mock(directory)
        cls.addClassCleanup(cls.mock.stop)
        environment = {"LESSONS": "off", "LLM_PROVIDER": "openai"}
        for provider, path in BASES.items():
            environment[f"{provider.upper()}_API_KEY"] = KEY
            environment[f"{provider.upper()}_BASE_URL"] = f"http://127.0.0.1:{cls.mock.port}{path}"
        cls.server = live_server.LiveServer(environment=environment)
        cls.addClassCleanup(cls.server.stop)
        with concurrent.futures.ThreadPoolExecutor(4) as callers:
            cls.results = list(callers.map(cls.solve, cls.records, range(len(cls.records))))

    @classmethod
    def solve(cls, record, place):
        provider = list(BASES)[place % len(BASES)]
        with cls.server.client() as client:
            answer = client.post({"task": record["task"], "max_attempts": ATTEMPTS, "provider": provider,
                                  "timeout_seconds": time_scale.timeout(PROGRAM_SECONDS)})
        return provider, answer

    def judge(self, chosen, judgement):
        """Calls `judgement` with each of the chosen records and its result. Returns their number."""
        found = [(record, *result) for record, result in zip(self.records, self.results) if chosen(record)]
        self.assertGreater(len(found), 0)
        for record, provider, answer in found:
            with self.subTest(record["id"], provider=provider):
                self.assertEqual(200, answer.status, answer)
                judgement(record, answer.json)
        return len(found)

    def assert_recovered(self, chosen, least):
        def judgement(record, result):
            self.assertTrue(result["success"], result)
            self.assertEqual(first_pass(record), result["attempts"], result)
            self.assertEqual(record["answers"][result["attempts"] - 1].strip(), result["code"].strip())

        self.assertGreaterEqual(self.judge(chosen, judgement), least)

    def test_quixbugs(self):
        self.assert_recovered(lambda record: record["id"].startswith("QuixBugs/"), 27)

    def test_humaneval_fix(self):
        self.assert_recovered(lambda record: record["id"].startswith("HumanEvalFix/"), 94)

    def test_sequences_of_real_models(self):
        def judgement(record, result):
            passes_at = first_pass(record)
            self.assertEqual(passes_at is not None, result["success"], result)
            self.assertEqual(passes_at or len(record["answers"]), result["attempts"], result)
            self.assertEqual("completed" if passes_at else "failed", result["status"])
            self.assertEqual(bool(passes_at), not result["error"])

        self.judge(lambda record: record["kind"] == "real-llm", judgement)

    def test_no_answer_is_consumed_after_the_first_pass(self):
        journal = json.loads(self.mock.send("GET", "/__aimock/journal?limit=100000")[1])
        asked = [json.dumps(entry.get("body")) for entry in journal]
        asked = [text for text in asked if CODER in text]
        self.assertGreaterEqual(len(asked), len(self.records))
        for record in self.records:
            times = sum(json.dumps(marker_of(record))[1:-1] in text for text in asked)
            self.assertEqual(first_pass(record) or times, times, record["id"])

    def test_every_provider_has_played(self):
        self.assertEqual(set(BASES), {provider for provider, _ in self.results})
        for provider, answer in self.results:
            self.assertEqual([provider], list(answer.json["usage"]), answer)
