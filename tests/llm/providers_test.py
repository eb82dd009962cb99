"""The successful calls of each provider."""
from mock_provider import BASES, MockTest

SCHEMA = {"type": "object", "additionalProperties": False, "required": ["city", "degrees"],
          "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}}}
TOOLS = [{"name": name, "description": name, "parameters": {"type": "object", "properties": {field: {"type": "string"}}}}
         for name, field in (("get_weather", "city"), ("get_time", "zone"))]


class Providers(MockTest):
    def test_text(self):
        for _, outcome in self.each({"prompt": "hello", "system": "be kind"}):
            self.assertEqual(("Hello, I am a mock.", "stop", 1),
                             (outcome.get("text"), outcome["finish"], outcome["tries"]))

    def test_stream(self):
        for _, outcome in self.each({"prompt": "hello", "stream": True}):
            self.assertEqual("Hello, I am a mock.", outcome.get("text"), outcome)
            self.assertEqual(outcome["text"], outcome["streamed"])

    def test_text_comes_while_it_is_written(self):
        for _, outcome in self.each({"prompt": "count slowly", "stream": True}):
            self.assertEqual("one two three four five six seven eight nine ten", outcome.get("streamed"), outcome)
            self.assertGreater(outcome["pieces"], 5)

    def test_schema(self):
        for stream in (False, True):
            for _, outcome in self.each({"prompt": "as JSON", "schema": SCHEMA, "stream": stream}):
                self.assertEqual("", outcome.get("schema_error"), outcome)

    def test_tools(self):
        for stream in (False, True):
            for _, outcome in self.each({"prompt": "weather", "tools": TOOLS, "stream": stream}):
                self.assertEqual("tool_calls", outcome.get("finish"), outcome)
                self.assertEqual([("get_weather", {"city": "Prague"}), ("get_time", {"zone": "CET"})],
                                 [(call["name"], call["arguments"]) for call in outcome["tool_calls"]])
                self.assertEqual(2, len({call["id"] for call in outcome["tool_calls"]}))

    def test_tools_and_what_they_say(self):
        results = {"get_weather": "sunny", "get_time": "noon"}
        for _, outcome in self.each({"prompt": "weather", "tools": TOOLS, "tool_results": results}):
            self.assertEqual("It is sunny in Prague.", outcome.get("text"), outcome)

    def test_zero_is_sent_as_zero(self):
        for provider, _ in self.each({"prompt": "hello", "temperature": 0}):
            self.assertEqual(0, self.mock.last_request()["body"].get("temperature"), provider)

    def test_both_versions_of_anthropic(self):
        for version in ("2023-06-01", "2026-10-21"):
            outcome = self.ask("anthropic", {"prompt": "hello", "temperature": 0}, ANTHROPIC_API_VERSION=version)
            self.assertEqual("Hello, I am a mock.", outcome.get("text"), outcome)
            sent = self.mock.last_request()
            self.assertEqual(version, sent["headers"]["anthropic-version"])
            first = version == "2023-06-01"
            self.assertEqual((first, not first), ("x-api-key" in sent["headers"], "authorization" in sent["headers"]))

    def test_models(self):
        for provider in BASES:
            if provider == "google":
                continue  # the mock has no list of Google's
            with self.subTest(provider):
                self.assertGreater(len(self.ask(provider, {"models": True}).get("models", [])), 1)
