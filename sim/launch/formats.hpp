#pragma once
// The formats of launch scripts and configurations that can be read.
#include <functional>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "sim/launch/facts.hpp"

namespace lockstep::sim::launch {

enum class LaunchFormat {
  megatron,
  deepspeed,
  huggingface,
  accelerate,
  llama_factory,
  axolotl,
  torchtitan,
  nemo,
  megatron_bridge,
  primus,
  maxtext,
  gpt_neox,
  nanotron,
  torchtune,
  llm_foundry,
  mlperf,
  ms_swift,
  automodel,
  program,
};

inline const Choices<LaunchFormat>& choices_of(LaunchFormat) {
  static const Choices<LaunchFormat> all{{LaunchFormat::megatron, "megatron"},
                                         {LaunchFormat::deepspeed, "deepspeed"},
                                         {LaunchFormat::huggingface, "huggingface"},
                                         {LaunchFormat::accelerate, "accelerate"},
                                         {LaunchFormat::llama_factory, "llama-factory"},
                                         {LaunchFormat::axolotl, "axolotl"},
                                         {LaunchFormat::torchtitan, "torchtitan"},
                                         {LaunchFormat::nemo, "nemo"},
                                         {LaunchFormat::megatron_bridge, "megatron-bridge"},
                                         {LaunchFormat::primus, "primus"},
                                         {LaunchFormat::maxtext, "maxtext"},
                                         {LaunchFormat::gpt_neox, "gpt-neox"},
                                         {LaunchFormat::nanotron, "nanotron"},
                                         {LaunchFormat::torchtune, "torchtune"},
                                         {LaunchFormat::llm_foundry, "llm-foundry"},
                                         {LaunchFormat::mlperf, "mlperf"},
                                         {LaunchFormat::ms_swift, "ms-swift"},
                                         {LaunchFormat::automodel, "nemo-automodel"},
                                         {LaunchFormat::program, "program"}};
  return all;
}

/// A file that another one names. Without text, `why` is the reason why it cannot be read.
struct NamedFile {
  std::optional<std::string> text;
  std::string why;
};

/// Reads a file that a launch file names: at that path, or in the launch file's folder.
using ReadNamedFile = std::function<NamedFile(const std::string& name)>;

struct LaunchReader {
  LaunchFormat format;
  std::string title;  ///< "Megatron-LM arguments"
  /// Whether the keys belong to this format.
  std::function<bool(const LaunchSettings&)> recognises;
  std::function<void(LaunchSettings&, Facts&, const Catalogue&, const ReadNamedFile&)> read;
  std::vector<UnreadKeys> unread;
};

const std::vector<LaunchReader>& launch_readers();
const LaunchReader& reader_of(LaunchFormat format);

}  // namespace lockstep::sim::launch
