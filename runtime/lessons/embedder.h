// Turns texts into vectors that are near to each other where the texts mean the same.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "jail/result.h"
#include "runtime/config/config.h"
#include "runtime/llm/http_client.h"

namespace runtime::lessons {

// Thread-safe. Must outlive its calls.
class Embedder {
 public:
  virtual ~Embedder() = default;

  // The model that makes the vectors; vectors of different models cannot be compared.
  virtual const std::string& model() const noexcept = 0;
  // Returns the same number of components for each text; never an empty vector. `cancel` ends the
  // call.
  virtual boost::asio::awaitable<jail::Result<std::vector<float>>> embed(std::string text,
                                                                         Cancel cancel) = 0;
};

// Makes the embedder of the active provider, else of the first configured one that has embeddings:
// openai, openrouter, google, ollama, and any other one with a base URL of its own, which is
// assumed to speak OpenAI's protocol. `client` must outlive it. Errors: invalid, where there is
// none; the hint says what to set.
jail::Result<std::unique_ptr<Embedder>> make_embedder(const Config& config,
                                                      llm::HttpClient& client);

}  // namespace runtime::lessons
