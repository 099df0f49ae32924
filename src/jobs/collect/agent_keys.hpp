#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

namespace mgpu::jobs {

/// How agents work on a question (collect.agents.method). The last agent is the judger.
enum class AgentMethod : std::uint8_t {
  latent_mas,  // all agents but the last think in latent steps
  text_mas,    // all agents but the last write texts, which the next agents read
  single,      // the last agent answers alone
};

/// Which attention keys and values of earlier agents an agent attends to (collect.agents.carry).
enum class Carry : std::uint8_t {
  all,          // those of all agents before it
  latent_only,  // those of the latent steps of all agents before it
  last_agent,   // those of the prompt and latent steps of the agent before it
};

/// The kind of noise that makes the latent steps of paths different. LatentNoise::add() defines it.
enum class Diversity : std::uint8_t { none, temperature, noise, hybrid };

/// The type in which latent states are stored; `none` if they are not stored.
enum class LatentStore : std::uint8_t { none, f16, f32 };

/// The agent whose paths merge with collect.latent.merge_similarity. It is the second agent, which
/// is the critic by default.
inline constexpr std::size_t kMergingAgent = 1;

/// The values of the keys collect.agents.*, collect.latent.* and collect.num_parent_paths.
struct AgentKeys {
  bool is_used = false;        // whether collect.steps is `latent`
  std::filesystem::path path;  // JSON file that defines the agents; "": default_agents()
  AgentMethod method = AgentMethod::latent_mas;
  Carry carry = Carry::all;
  std::int64_t num_parents = 5;  // largest number of paths that an agent continues; the judger may
                                 // continue more
  std::int64_t steps = 5;        // latent steps of an agent
  bool realigns = true;
  Diversity diversity = Diversity::hybrid;
  double temperature = 1.0;  // T0 of the noise; see LatentNoise::add()
  bool prunes = false;
  std::optional<double> branch_entropy{};    // nats; paths above this limit branch; nullopt: all
  std::optional<double> merge_similarity{};  // cosine; nullopt: no paths are merged
  LatentStore store = LatentStore::f16;

  bool thinks() const { return is_used && method == AgentMethod::latent_mas; }
};

const char* name_of(AgentMethod method);
const char* name_of(Carry carry);
const char* name_of(Diversity diversity);

void add_agent_keys(KeyTable& table);

/// Refuses a key that differs from its default but has no effect because of other keys.
/// Errors: Failure E124 (exit 78).
void check_agent_keys(const Config& config);

/// Refuses a collect.num_parent_paths above `num_paths`, the value of collect.num_paths.
/// Errors: Failure E124 (exit 78).
void check_parent_paths(const Config& config, std::int64_t num_paths);

/// Reads the keys of AgentKeys. `num_paths` is the value of collect.num_paths.
AgentKeys read_agent_keys(const Config& config, std::int64_t num_paths);

/// Returns a text about the agents for the banner: "agents latent_mas, 5 latent steps, carry all,
/// ...".
std::string agents_text(const AgentKeys& keys);

}  // namespace mgpu::jobs
