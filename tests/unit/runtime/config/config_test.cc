#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "tests/unit/runtime/config/config_fixture.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ConfigTest, DefaultsAreThoseOfTheContract) {
  const Config config = load();
  EXPECT_EQ(config.api_host, "127.0.0.1");
  EXPECT_EQ(config.api_port, 8000);
  EXPECT_EQ(config.api_idle, 60s);
  EXPECT_TRUE(config.api_keys.empty());
  EXPECT_EQ(config.sandbox_timeout, 5s);
  EXPECT_EQ(config.sandbox_memory_limit_mb, 256u);
  EXPECT_EQ(config.sandbox_cpu_limit, 1.0);
  EXPECT_EQ(config.sandbox_pool_size, 8u);
  EXPECT_EQ(config.sandbox_max_running, 16u);
  EXPECT_EQ(config.sandbox_max_queued, 256u);
  EXPECT_EQ(config.sandbox_max_living, 100u);
  EXPECT_EQ(config.sandbox_max_lifetime, std::chrono::hours(24));
  EXPECT_EQ(config.sandbox_max_paused, std::chrono::hours(24));
  EXPECT_EQ(config.sandbox_disk_path, "");
  EXPECT_EQ(config.sandbox_max_disk_mb, 10'240u);
  EXPECT_EQ(config.sandbox_disk_reserve_mb, 1024u);
  EXPECT_EQ(config.sandbox_max_volumes, 100u);
  EXPECT_EQ(config.sandbox_max_volumes_mb, 102'400u);
  EXPECT_EQ(config.cgroup, "auto");
  EXPECT_FALSE(config.require_cgroup);
  EXPECT_EQ(config.ceilings.timeout, 60s);
  EXPECT_EQ(config.ceilings.memory_limit_mb, 2048u);
  EXPECT_EQ(config.max_reflexion_attempts, 3u);
  EXPECT_EQ(active_provider(config), nullptr);
}

TEST_F(ConfigTest, EachSourceOverridesTheOneBefore) {
  write("agent-sandbox.json",
        R"({"api_port": 1001, "sandbox_timeout_seconds": 2, "log_level": "debug",
            "log_format": "json", "max_reflexion_attempts": 5})");
  write(".env", "API_PORT=1002\nSANDBOX_TIMEOUT_SECONDS=3\nLOG_LEVEL=error\nLOG_FORMAT=text\n");
  sources_.environment = {
      {"API_PORT", "1003"}, {"SANDBOX_TIMEOUT_SECONDS", "4"}, {"LOG_LEVEL", "INFO"}};
  sources_.flags = {{"API_PORT", "1004", "--port"}, {"SANDBOX_TIMEOUT_SECONDS", "4.5", "--x"}};
  const Config config = load();
  EXPECT_EQ(config.api_port, 1004);
  EXPECT_EQ(config.sandbox_timeout, 4500ms);
  EXPECT_EQ(config.log_level, LogLevel::info);
  EXPECT_EQ(config.log_format, LogFormat::text);
  EXPECT_EQ(config.max_reflexion_attempts, 5u);
}

TEST_F(ConfigTest, ReadsEverySettingOfTheFile) {
  write("agent-sandbox.json", R"({
    "api_host": "::1", "api_port": 0, "api_keys": ["k1", "k2"], "api_allowed_hosts": "A.example,b",
    "api_max_connections": 7, "api_idle_seconds": 75.5, "sandbox_memory_limit_mb": 64, "sandbox_cpu_limit": 0.5,
    "sandbox_pool_size": 2, "sandbox_templates_dir": "/srv/templates", "sandbox_network_enabled": false, "require_cgroup": true,
    "sandbox_users": "100000:65536",
    "cgroup": "/sys/fs/cgroup/a", "sandbox_max_running": 3, "sandbox_max_queued": 0,
    "sandbox_max_living": 7, "sandbox_max_lifetime_seconds": 90, "sandbox_max_paused_seconds": 91,
    "sandbox_disk_path": "/srv/disks", "sandbox_max_disk_mb": 500, "sandbox_disk_reserve_mb": 0,
    "sandbox_max_volumes": 7, "sandbox_max_volumes_mb": 900,
    "ceilings": {"timeout_seconds": 120.5, "memory_limit_mb": 4096},
    "llm_provider": "openai", "openai_api_key": "sk", "openai_model": "m",
    "openai_base_url": "http://127.0.0.1:1/v1", "qdrant_url": "http://q", "redis_url": "redis://r"})");
  const Config config = load();
  EXPECT_EQ(config.api_host, "::1");
  EXPECT_EQ(config.api_port, 0);
  ASSERT_EQ(config.api_keys.size(), 2u);
  EXPECT_EQ(config.api_keys[1].reveal(), "k2");
  EXPECT_EQ(config.api_allowed_hosts, (std::vector<std::string>{"a.example", "b"}));
  EXPECT_EQ(config.api_max_connections, 7u);
  EXPECT_EQ(config.api_idle, 75500ms);
  EXPECT_EQ(config.sandbox_memory_limit_mb, 64u);
  EXPECT_EQ(config.sandbox_cpu_limit, 0.5);
  EXPECT_TRUE(config.require_cgroup);
  EXPECT_EQ(config.jail_users.mode, JailUsers::Mode::range);
  EXPECT_EQ(config.jail_users.first, 100'000u);
  EXPECT_EQ(config.jail_users.count, 65'536u);
  EXPECT_EQ(config.cgroup, "/sys/fs/cgroup/a");
  EXPECT_EQ(config.sandbox_pool_size, 2u);
  EXPECT_EQ(config.sandbox_templates_dir, "/srv/templates");
  EXPECT_EQ(config.sandbox_max_running, 3u);
  EXPECT_EQ(config.sandbox_max_queued, 0u);
  EXPECT_EQ(config.sandbox_max_living, 7u);
  EXPECT_EQ(config.sandbox_max_lifetime, std::chrono::seconds(90));
  EXPECT_EQ(config.sandbox_max_paused, std::chrono::seconds(91));
  EXPECT_EQ(config.sandbox_disk_path, "/srv/disks");
  EXPECT_EQ(config.sandbox_max_disk_mb, 500u);
  EXPECT_EQ(config.sandbox_disk_reserve_mb, 0u);
  EXPECT_EQ(config.sandbox_max_volumes, 7u);
  EXPECT_EQ(config.sandbox_max_volumes_mb, 900u);
  EXPECT_EQ(config.ceilings.timeout, 120500ms);
  EXPECT_EQ(config.ceilings.memory_limit_mb, 4096u);
  ASSERT_NE(active_provider(config), nullptr);
  EXPECT_EQ(active_provider(config)->model, "m");
  EXPECT_EQ(config.redis_url.reveal(), "redis://r");
}

TEST_F(ConfigTest, UsersOfJailsAreSwitchedOffByAWord) {
  EXPECT_EQ(load().jail_users.mode, JailUsers::Mode::automatic);
  sources_.environment = {{"SANDBOX_USERS", "off"}};
  EXPECT_EQ(load().jail_users.mode, JailUsers::Mode::off);
  sources_.environment = {{"SANDBOX_USERS", "auto"}};
  EXPECT_EQ(load().jail_users.mode, JailUsers::Mode::automatic);
}

TEST_F(ConfigTest, AnEmptyVariableIsNotSet) {
  sources_.environment = {{"API_PORT", ""}, {"API_KEYS", ""}, {"GROQ_API_KEY", ""}};
  const Config config = load();
  EXPECT_EQ(config.api_port, 8000);
  EXPECT_EQ(active_provider(config), nullptr);
}

TEST_F(ConfigTest, UnknownVariablesAreNotOurs) {
  sources_.environment = {{"PATH", "/bin"}, {"API_PROT", "1"}};
  write(".env", "SOMETHING_ELSE=1\n");
  load();
}

TEST_F(ConfigTest, AnUnknownKeyInTheFileIsNamed) {
  EXPECT_EQ(error_in_file(R"({"api_prot": 1})"),
            "agent-sandbox.json: unknown key \"api_prot\"; the nearest known one is \"api_port\"");
  EXPECT_THAT(error_in_file(R"({"ceilings": {"timeout": 1}})"),
              HasSubstr("unknown key \"ceilings.timeout\""));
  EXPECT_THAT(error_in_file(R"({"API_PORT": 1})"), HasSubstr("unknown key \"API_PORT\""));
}

TEST_F(ConfigTest, AUnitIsRefusedSinceTheNameHasIt) {
  for (const char* value : {"5s", "500ms", "2m"}) {
    EXPECT_THAT(error_with("SANDBOX_TIMEOUT_SECONDS", value),
                HasSubstr(": a number of seconds without a unit"))
        << value;
  }
  EXPECT_THAT(error_with("SANDBOX_MEMORY_LIMIT_MB", "1g"),
              HasSubstr(": a number of megabytes without a unit"));
  for (const char* value : {"", "s", "-1", "5 s", "0"}) {
    EXPECT_THAT(error_with("SANDBOX_TIMEOUT_SECONDS", value), Not(HasSubstr("without a unit")))
        << value;
  }
}

TEST_F(ConfigTest, ABadValueNamesTheSettingItsPlaceAndWhatIsAllowed) {
  EXPECT_EQ(error_with("API_PORT", "http"),
            "API_PORT in the environment: \"http\" is not allowed; expected an integer 0 .. 65535 "
            "(0: any free port)");
  sources_.environment.clear();
  EXPECT_EQ(error_with("SANDBOX_TIMEOUT_SECONDS", "5s"),
            "SANDBOX_TIMEOUT_SECONDS in the environment: \"5s\" is not allowed; expected a number "
            "0.05 .. 86400: a number of seconds without a unit");
  sources_.environment.clear();
  EXPECT_THAT(error_with("SANDBOX_MEMORY_LIMIT_MB", "1g"),
              HasSubstr("an integer 32 .. 1048576: a number of megabytes without a unit"));
  sources_.environment.clear();
  sources_.flags = {{"API_PORT", "-1", "--port"}};
  EXPECT_THAT(error(), HasSubstr("--port: \"-1\" is not allowed; expected an integer"));
  sources_.flags.clear();
  write(".env", "LOG_FORMAT=xml\n");
  EXPECT_EQ(error(), "LOG_FORMAT in .env: \"xml\" is not allowed; expected text or json");
  write(".env", "");
  EXPECT_EQ(error_in_file(R"({"api_port": [1]})"),
            "api_port in agent-sandbox.json: wrong type; expected an integer 0 .. 65535 (0: any "
            "free port)");
  EXPECT_THAT(error_in_file(R"({"api_port": null})"), HasSubstr("api_port in agent-sandbox.json"));
}

TEST_F(ConfigTest, BadValuesAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"API_HOST", "example.com"},
      {"API_HOST", "127.0.0.1:80"},
      {"API_HOST", "unix:"},
      {"API_HOST", "unix:relative"},
      {"API_HOST", "unix:/directory/"},
      {"API_SOCKET_MODE", "0400"},
      {"API_SOCKET_MODE", "0060"},
      {"API_SOCKET_MODE", "0700"},
      {"API_SOCKET_MODE", "01600"},
      {"API_SOCKET_MODE", "0680"},
      {"API_SOCKET_MODE", "rw"},
      {"API_PORT", "65536"},
      {"API_PORT", "80 "},
      {"API_PORT", "8e3"},
      {"API_MAX_CONNECTIONS", "0"},
      {"API_MAX_CONNECTIONS_PER_PEER", "-1"},
      {"API_IDLE_SECONDS", "0.9"},
      {"API_IDLE_SECONDS", "3601"},
      {"API_KEY_CONCURRENCY", "65537"},
      {"API_KEY_CONCURRENCY", "many"},
      {"API_KEY_RATE", "20"},
      {"API_KEY_RATE", "0/s"},
      {"API_KEY_RATE", "-1/s"},
      {"API_KEY_RATE", "1.5/s"},
      {"API_KEY_RATE", "20/d"},
      {"API_KEY_RATE", "20 /s"},
      {"API_KEY_RATE", "/s"},
      {"API_KEY_RATE", "1000001/s"},
      {"API_KEY_BURST", "0"},
      {"API_KEY_BURST", "1000001"},
      {"API_KEYS", ","},
      {"API_KEYS", "a,,b"},
      {"API_KEYS", "a b"},
      {"SANDBOX_TIMEOUT_SECONDS", "0"},
      {"SANDBOX_TIMEOUT_SECONDS", "0.04"},
      {"SANDBOX_TIMEOUT_SECONDS", "nan"},
      {"SANDBOX_TIMEOUT_SECONDS", "inf"},
      {"SANDBOX_TIMEOUT_SECONDS", "5s"},
      {"SANDBOX_TIMEOUT_SECONDS", "60.001"},
      {"SANDBOX_MEMORY_LIMIT_MB", "31"},
      {"SANDBOX_MEMORY_LIMIT_MB", "2049"},
      {"SANDBOX_MEMORY_LIMIT_MB", "64.5"},
      {"SANDBOX_CPU_LIMIT", "0"},
      {"SANDBOX_POOL_SIZE", "65"},
      {"SANDBOX_MAX_RUNNING", "0"},
      {"SANDBOX_MAX_RUNNING", "4097"},
      {"SANDBOX_MAX_QUEUED", "-1"},
      {"SANDBOX_EVENTS_KEPT", "-1"},
      {"SANDBOX_MAX_LIVING", "10001"},
      {"SANDBOX_MAX_LIFETIME_SECONDS", "0.5"},
      {"SANDBOX_PORTS_DOMAIN", "a..b"},
      {"SANDBOX_PORTS_DOMAIN", ".example.org"},
      {"SANDBOX_PORTS_DOMAIN", "example.org."},
      {"SANDBOX_PORTS_DOMAIN", "example.org:8000"},
      {"SANDBOX_PORTS_DOMAIN", "*.example.org"},
      {"SANDBOX_PORTS_DOMAIN", "-a.example"},
      {"SANDBOX_PORTS_TIMEOUT_SECONDS", "0.5"},
      {"SANDBOX_MAX_PAUSED_SECONDS", "2592001"},
      {"SANDBOX_DISK_PATH", "disks"},
      {"SANDBOX_MAX_DISK_MB", "0"},
      {"SANDBOX_DISK_RESERVE_MB", "-1"},
      {"SANDBOX_MAX_VOLUMES", "10001"},
      {"SANDBOX_MAX_VOLUMES_MB", "x"},
      {"SANDBOX_USERS", "some"},
      {"SANDBOX_USERS", "999:10"},
      {"SANDBOX_USERS", "100000"},
      {"SANDBOX_USERS", "100000:0"},
      {"SANDBOX_USERS", "4294967000:295"},
      {"SANDBOX_CGROUP", "here"},
      {"SANDBOX_REQUIRE_CGROUP", "yes"},
      {"SANDBOX_NETWORK_ENABLED", "maybe"},
      {"SANDBOX_NETWORK_ALLOW", "pypi.org"},
      {"SANDBOX_NETWORK_ALLOW", "10.0.0.1/8:443"},
      {"SANDBOX_SECRETS_CA_FILE", "authorities.pem"},
      {"SANDBOX_WEBHOOKS_ALLOW", "hooks.example.org"},
      {"SANDBOX_WEBHOOKS_ALLOW", "https://hooks.example.org:443"},
      {"MAX_REFLEXION_ATTEMPTS", "0"},
      {"MAX_REFLEXION_ATTEMPTS", "11"},
      {"LLM_PROVIDER", "skynet"},
      {"GROQ_BASE_URL", "ftp://x"},
      {"OPENAI_BASE_URL", "http://x/v1?key=1"},
      {"OLLAMA_BASE_URL", "http://x/#top"},
      {"OPENAI_MODEL", "a b"},
      {"OPENAI_MODEL", "a/../b"},
      {"GROQ_MODEL", "a\nb"},
      {"ANTHROPIC_API_VERSION", "2024-01-01"},
      {"GOOGLE_API_VERSION", "v2"},
      {"QDRANT_URL", "localhost"},
      {"QDRANT_URL", "http://x:6333?api-key=1"},
      {"REDIS_URL", "http://x"},
      {"LOG_LEVEL", "loud"},
  };
  for (const auto& [name, value] : cases) {
    EXPECT_THAT(error_with(name, value), HasSubstr(name)) << value;
  }
}

TEST_F(ConfigTest, ABaseUrlHasNothingThatAPathCannotFollow) {
  EXPECT_EQ(error_with("OPENAI_BASE_URL", "http://x/v1?a=1"),
            "OPENAI_BASE_URL in the environment: \"http://x/v1?a=1\" is not allowed; expected a "
            "http:// or https:// URL without ? and #");
}

TEST_F(ConfigTest, EgressNeedsACeiling) {
  EXPECT_EQ(error_with("SANDBOX_NETWORK_ENABLED", "true"),
            "SANDBOX_NETWORK_ENABLED: true needs SANDBOX_NETWORK_ALLOW, the destinations that "
            "requests may name");
  sources_.environment["SANDBOX_NETWORK_ALLOW"] = "pypi.org:443, 10.0.0.0/8:5432";
  const Config config = load();
  EXPECT_TRUE(config.network_enabled);
  EXPECT_THAT(config.network_allow, ElementsAre("pypi.org:443", "10.0.0.0/8:5432"));
}

TEST_F(ConfigTest, ACeilingAloneAllowsNothing) {
  sources_.environment["SANDBOX_NETWORK_ALLOW"] = "pypi.org:443";
  EXPECT_FALSE(load().network_enabled);
}

TEST_F(ConfigTest, NoWebhookLeadsAnywhereUnlessItIsSaid) {
  EXPECT_THAT(load().webhooks_allow, ElementsAre());
  sources_.environment = {{"SANDBOX_WEBHOOKS_ALLOW", "hooks.example.org:443, http://[::1]:8080"},
                          {"SANDBOX_WEBHOOKS_RETRY_SECONDS", "1.5"}};
  const Config config = load();
  EXPECT_THAT(config.webhooks_allow, ElementsAre("hooks.example.org:443", "http://[::1]:8080"));
  EXPECT_EQ(config.webhooks_retry, 1500ms);
}

TEST_F(ConfigTest, ErrorsNeverRepeatASecret) {
  EXPECT_THAT(error_with("API_KEYS", "s3cret key"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(error_with("OPENAI_API_KEY", "s3cret key"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(error_with("REDIS_URL", "s3cret"), Not(HasSubstr("s3cret")));
  sources_.environment.clear();
  write(".env", "API_KEYS s3cret\n");
  EXPECT_EQ(error(), ".env line 1: expected NAME=value, with quotes closed");
}

TEST_F(ConfigTest, TheNamedFileMustExistAndBeAnObject) {
  sources_.file_path = "missing.json";
  EXPECT_THAT(error(), HasSubstr("missing.json: No such file"));
  sources_.file_path = directory_;
  EXPECT_THAT(error(), HasSubstr("Is a directory"));
  sources_.file_path.reset();
  EXPECT_EQ(error_in_file("[]"), "agent-sandbox.json: expected a JSON object");
  EXPECT_THAT(error_in_file("{\"api_port\": 1,}"), HasSubstr("agent-sandbox.json: not valid JSON"));
  EXPECT_THAT(error_in_file("{\"api_port\": 1, \"api_port\": 2}"),
              HasSubstr("duplicate key \"api_port\""));
}

// A file that exists but cannot be read may have held the keys.
TEST_F(ConfigTest, ADefaultFileThatCannotBeReadIsNoMissingOne) {
  std::filesystem::create_symlink("nowhere", "agent-sandbox.json");
  EXPECT_THAT(error(), HasSubstr("agent-sandbox.json: No such file"));
  std::filesystem::remove("agent-sandbox.json");
  sources_ = {};
  std::filesystem::create_directory(".env");
  EXPECT_THAT(error(), HasSubstr(".env: Is a directory"));
}

// Other users, and programs in jails that have the directory as a volume, may put files there.
TEST_F(ConfigTest, AFoundFileOfSomebodyElseIsRefused) {
  for (const std::string name : {"agent-sandbox.json", ".env"}) {
    sources_ = {};
    write(name, name == ".env" ? "API_PORT=1\n" : R"({"api_port": 1})");
    EXPECT_EQ(load().api_port, 1) << name;
    std::filesystem::permissions(name, std::filesystem::perms(0666));
    EXPECT_THAT(error(), HasSubstr(name + ": anybody may write to it"));
    std::filesystem::permissions(name, std::filesystem::perms(0664));
    EXPECT_EQ(load().api_port, 1) << name;
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown(name.c_str(), 60801, 60801), 0);
      EXPECT_THAT(error(), HasSubstr(name + ": belongs to user 60801"));
    }
    // An operator who names the file means it.
    (name == ".env" ? sources_.dotenv_path : sources_.file_path) = directory_ + "/" + name;
    sources_.file_was_found = sources_.dotenv_was_found = false;
    std::filesystem::permissions(name, std::filesystem::perms(0666));
    EXPECT_EQ(load().api_port, 1) << name;
    std::filesystem::remove(name);
    sources_ = {};
    ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
    EXPECT_THAT(error(), HasSubstr(name + ": not a regular file"));
    std::filesystem::remove(name);
  }
}

TEST_F(ConfigTest, ACeilingBelowTheDefaultIsNamed) {
  EXPECT_EQ(error_in_file(R"({"ceilings": {"timeout_seconds": 2.5}})"),
            "SANDBOX_TIMEOUT_SECONDS: 5 is above ceilings.timeout_seconds, which is 2.5");
}

TEST_F(ConfigTest, ProvidersHaveVersionsModelsAndUrls) {
  sources_.environment = {{"ANTHROPIC_API_VERSION", "2026-10-21"},
                          {"GOOGLE_API_VERSION", "v1"},
                          {"OPENROUTER_MODEL", "qwen/qwen-2.5-coder-32b-instruct:free"}};
  const Config config = load();
  for (const ProviderConfig& provider : config.providers) {
    const std::string version = provider.name == "anthropic" ? "2026-10-21"
                                : provider.name == "google"  ? "v1"
                                                             : "";
    EXPECT_EQ(provider.api_version, version) << provider.name;
  }
  EXPECT_EQ(config.providers[1].model, "qwen/qwen-2.5-coder-32b-instruct:free");
}

TEST_F(ConfigTest, ACassetteIsPlayedWithoutAKey) {
  sources_.environment = {{"LLM_PROVIDER", "replay"}};
  EXPECT_EQ(active_provider(load()), nullptr);
  sources_.environment = {{"REPLAY_CASSETTE", "tape.jsonl"}};
  EXPECT_EQ(load().replay_cassette, "tape.jsonl");
  ASSERT_NE(active_provider(load()), nullptr);
  EXPECT_EQ(active_provider(load())->name, "replay");
  sources_.environment = {{"REPLAY_CASSETTE", "tape.jsonl"}, {"GROQ_API_KEY", "k"}};
  EXPECT_EQ(active_provider(load())->name, "replay");
  sources_.environment["LLM_PROVIDER"] = "groq";
  EXPECT_EQ(active_provider(load())->name, "groq");
}

TEST_F(ConfigTest, OnlyWhatMayBeAskedWithoutAKeyIs) {
  sources_.environment = {{"LLM_PROVIDER", "openai"}};
  EXPECT_EQ(active_provider(load()), nullptr);
  sources_.environment["OPENAI_BASE_URL"] = "http://127.0.0.1:8080/v1";
  EXPECT_EQ(active_provider(load())->name, "openai");
  sources_.environment = {{"LLM_PROVIDER", "groq"}, {"GROQ_BASE_URL", "http://127.0.0.1:8080/v1"}};
  EXPECT_EQ(active_provider(load()), nullptr);
}

TEST_F(ConfigTest, TheFirstProviderWithAKeyIsActive) {
  sources_.environment = {{"OPENAI_API_KEY", "a"}, {"ANTHROPIC_API_KEY", "b"}};
  Config config = load();
  EXPECT_EQ(active_provider(config)->name, "anthropic");
  sources_.environment = {{"OPENAI_API_KEY", "a"}, {"LLM_PROVIDER", "groq"}};
  config = load();
  EXPECT_EQ(active_provider(config), nullptr);
  sources_.environment = {{"LLM_PROVIDER", "ollama"}};
  config = load();
  EXPECT_EQ(active_provider(config)->name, "ollama");
}

TEST_F(ConfigTest, Lessons) {
  EXPECT_TRUE(load().lessons);
  EXPECT_EQ(load().lessons_path, std::nullopt);
  EXPECT_EQ(load().lessons_kept, 2000u);
  sources_.environment = {{"LESSONS", "OFF"},
                          {"LESSONS_PATH", "/srv/l.sqlite"},
                          {"LESSONS_KEPT", "10"},
                          {"QDRANT_API_KEY", "secret"},
                          {"EMBEDDING_MODEL", "embed"}};
  const Config config = load();
  EXPECT_FALSE(config.lessons);
  EXPECT_EQ(config.lessons_path, "/srv/l.sqlite");
  EXPECT_EQ(config.lessons_kept, 10u);
  EXPECT_EQ(config.qdrant_api_key.reveal(), "secret");
  EXPECT_EQ(config.embedding_model, "embed");
  EXPECT_THAT(error_with("LESSONS", "maybe"), HasSubstr("on or off"));
  EXPECT_THAT(error_with("LESSONS_PATH", "relative"), HasSubstr("absolute path"));
  EXPECT_THAT(error_with("LESSONS_KEPT", "0"), HasSubstr("1 .. 1000000"));
  EXPECT_THAT(error_with("EMBEDDING_MODEL", "a/../b"), HasSubstr("a model's name"));
  const std::string hidden = error_with("QDRANT_API_KEY", "with blank");
  EXPECT_THAT(hidden, HasSubstr("QDRANT_API_KEY"));
  EXPECT_THAT(hidden, Not(HasSubstr("with blank")));
}

}  // namespace
}  // namespace runtime
