"""The faults of each provider: never a hang, never a crash, and an error that names the provider, the fault and the
remedy."""
import host_view
from mock_provider import MockTest

# These repeat as the providers' own clients do: see RetryRules and WireFormat::repeats.
ONCE = {"ollama"}
TRIES = {"google": 5}  # 3 for the others
# Google waits 1, 2 and 4 s, each less a quarter at most, and the others 0.5 and 1 s: the last try that begins in this time
# has 1.5 s for its answer.
DEADLINE_MS = 4500


class Faults(MockTest):
    def test_wrong_key(self):
        for provider, outcome in self.each({"prompt": "hello"}, key="wrong-key-9876543210"):
            self.assert_failed(provider, outcome, "unauthorized", 401, f"check {provider.upper()}_API_KEY")
            self.assertEqual(1, outcome["tries"])

    def test_unknown_model(self):
        for provider, outcome in self.each({"prompt": "unknown model", "model": "x/y"}):
            self.assert_failed(provider, outcome, "not_found", 404, 'model "x/y"', f"{provider.upper()}_MODEL")

    def test_rate_limit(self):
        self.mock.misbehave(rateLimitRate=1)
        for stream in (False, True):
            for provider, outcome in self.each_beside_others({"prompt": "hello", "deadline_ms": 15_000, "stream": stream}):
                self.assert_failed(provider, outcome, "rate_limited", 429, "try again in 1 s")
                self.assertEqual((TRIES.get(provider, 3), 1000), (outcome["tries"], outcome["retry_after_ms"]))
                self.assertGreater(outcome["took_ms"], 1900)

    def test_server_error(self):
        self.mock.misbehave(dropRate=1)
        for stream in (False, True):
            for provider, outcome in self.each_beside_others({"prompt": "hello", "deadline_ms": DEADLINE_MS, "stream": stream}):
                self.assert_failed(provider, outcome, "unavailable", 500, "try again later")
                self.assertEqual(provider in ONCE, outcome["tries"] == 1, outcome)

    def test_malformed(self):
        self.mock.misbehave(malformedRate=1)
        for stream in (False, True):
            for provider, outcome in self.each({"prompt": "hello", "stream": stream}):
                self.assert_failed(provider, outcome, "malformed", 200, "it begins with", f"{provider.upper()}_BASE_URL")

    def test_connection_closed(self):
        self.mock.misbehave(disconnectRate=1)
        for stream in (False, True):
            for provider, outcome in self.each_beside_others({"prompt": "hello", "deadline_ms": DEADLINE_MS, "stream": stream}):
                self.assert_failed(provider, outcome, "interrupted", 0, "the connection ended before an answer")
                self.assertGreater(outcome["tries"], 1)

    def test_disconnect_in_mid_stream(self):
        for provider, outcome in self.each({"prompt": "break off", "stream": True}):
            self.assert_failed(provider, outcome, "interrupted", 200, "the connection ended within the answer")
            # Text that was streamed is not streamed again.
            self.assertTrue("one two three".startswith(outcome["streamed"][:13]) and outcome["streamed"], outcome)
            self.assertEqual(1, outcome["tries"])

    def test_slow(self):
        self.mock.misbehave(latencyMs=5000)
        for provider, outcome in self.each({"prompt": "hello", "deadline_ms": 500}):
            self.assert_failed(provider, outcome, "timed_out", 0, "no answer within 0.5 s")
            self.assertLess(outcome["took_ms"], 4000)
        self.mock.misbehave(latencyMs=1200)
        for _, outcome in self.each({"prompt": "hello"}):
            self.assertEqual("Hello, I am a mock.", outcome.get("text"), outcome)
            self.assertGreater(outcome["latency_ms"], 1100)

    def test_slow_stream(self):
        for provider, outcome in self.each_beside_others({"prompt": "count very slowly", "stream": True, "deadline_ms": 2500}):
            self.assert_failed(provider, outcome, "timed_out", 200, "not complete within 2.5 s")
            self.assertLess(outcome["took_ms"], 5500, "the stream takes 6 s")

    def test_cancel(self):
        for provider, outcome in self.each_beside_others({"prompt": "count very slowly", "stream": True, "cancel_after_ms": 2500}):
            self.assert_failed(provider, outcome, "cancelled", 200, "cancelled")
            self.assertLess(outcome["took_ms"], 5500, "the stream takes 6 s")

    def test_cancel_while_waiting_to_try_again(self):
        self.mock.misbehave(rateLimitRate=1)
        for provider, outcome in self.each({"prompt": "hello", "cancel_after_ms": 300}):
            self.assert_failed(provider, outcome, "cancelled", 0)
            self.assertLess(outcome["took_ms"], 4000)

    def test_nobody_there(self):
        held = host_view.held_port()
        self.addCleanup(held.close)
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        for provider in ("openai", "groq", "openrouter", "cerebras", "anthropic", "google", "ollama"):
            with self.subTest(provider):
                variable = f"{provider.upper()}_BASE_URL"
                outcome = self.ask(provider, {"prompt": "hello", "deadline_ms": 1000}, **{variable: url})
                self.assert_failed(provider, outcome, "unavailable", 0, f"could not be reached at {url} ({variable})")
