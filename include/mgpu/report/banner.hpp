#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::report {

/// The first lines of a run: program, job, machine and output folder. They are printed before
/// anything is loaded.
struct BannerHead {
  std::string version;               // "0.1.0"
  std::string git;                   // "4f2c1e9, clean"; "" when unknown
  std::string job;                   // "train"
  std::vector<std::string> sources;  // configuration file, then overlays (--with)
  std::int64_t overrides = 0;        // keys given on the command line
  std::string run_directory;         // absolute path
  std::string machine;               // "2 nodes x 4 A100-SXM4-80GB; driver 570.86, CUDA 13.0, ..."
  DeviceKind device = DeviceKind::cpu;
  struct Node {
    std::string host;
    std::vector<int> ranks;    // world ranks, ascending
    std::vector<int> devices;  // for each rank, the index of its GPU on the node; empty on the CPU
  };
  std::vector<Node> nodes;
};
std::string head_lines(const BannerHead& head);

/// The settings that the training block of the banner shows. The wording of this block must not
/// change.
struct TrainingBlock {
  int processes = 1;
  DeviceKind device = DeviceKind::cpu;
  std::string mixed_precision = "no";
  std::int64_t gradient_accumulation_steps = 1;  // passes per optimizer step
  int gpu = 0;                                   // index of rank 0's GPU; unused on the CPU
};
std::string training_block(const TrainingBlock& block);

/// The workers that a block of the banner lists: each is a group of ranks with one copy of the
/// model. The block shows their GPUs, or on the CPU their ranks.
struct WorkerBlock {
  struct Place {
    std::string host;  // printed if there are several hosts
    int number = 0;    // index of the GPU on its node; on the CPU, the rank in the world
  };
  using Worker = std::vector<Place>;  // one entry per rank, ascending
  std::string title;                  // "Multi-GPU Teacher Logits Generation"
  DeviceKind device = DeviceKind::cuda;
  std::vector<Worker> workers;
};
std::string worker_block(const WorkerBlock& block);

/// The sizes and settings of a run, printed before it starts.
struct BannerFacts {
  struct Batch {
    std::int64_t per_pass = 0;  // samples of one rank in one pass; 0: no line `batch`
    std::int64_t passes = 1;
    std::int64_t copies = 1;  // number of copies of the model
    std::int64_t global = 0;  // samples per optimizer step
    std::int64_t steps = 0;   // number of steps of the job
  };
  struct Setting {
    std::string key;
    std::string value;
    std::string source;  // "conf/train_ad.yaml:27", "command line"
  };
  DeviceKind device = DeviceKind::cpu;
  Batch batch;
  std::string memory;  // "plan 2.1 of 79.3 GiB per GPU (weights 0.0, ...)"; "" for none
  std::string data;    // "412,300 histories, 8 shards of 51,537 or 51,538; nothing dropped"
  std::vector<Setting> not_default;
};
std::string fact_lines(const BannerFacts& facts);

}  // namespace mgpu::report
