#include "sim/validation/sources.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/base/text.hpp"

namespace lockstep::sim::validation {
namespace {

// 24.09 repeats the table of 24.07, and 26.02.01 measures the jobs of 26.02 again.
constexpr const char* kNemoOf24 = "NVIDIA NeMo performance summaries 24.07 and 24.09";
constexpr const char* kBridgeOf25Q3 = "NVIDIA Megatron-Bridge performance summary 25.09";
constexpr const char* kBridgeOf25Q4 = "NVIDIA Megatron-Bridge performance summary 25.11";
constexpr const char* kBridgeOf26 = "NVIDIA Megatron-Bridge performance summaries 26.02 and 26.02.01";

// Keeps letters and digits, in lower case, with a blank between words. Citations differ in everything else.
std::string plain_words(const std::string& text) {
  std::string words;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0)
      words += static_cast<char>(std::tolower(letter));
    else if (!words.empty() && words.back() != ' ')
      words += ' ';
  }
  return words;
}

struct WholeSource {
  std::string words;  ///< words that every citation of it contains
  std::string name;
};

const std::vector<WholeSource>& whole_sources() {
  static const std::vector<WholeSource> all{{"mlperf training", "MLPerf Training"},
                                            {"deeplearningexamples", "NVIDIA DeepLearningExamples"},
                                            {"deepbench", "DeepBench"},
                                            {"ml engineering network", "stas00/ml-engineering, network"},
                                            {"nccl tests issue", "NVIDIA/nccl and nccl-tests issues"},
                                            {"coreweave nccl tests", "coreweave/nccl-tests"},
                                            {"oracle oci hpc", "Oracle oci-hpc"},
                                            {"theano mpi", "Theano-MPI"},
                                            {"poseidon", "Poseidon"},
                                            {"crossbow", "Crossbow"},
                                            {"apache mxnet 1 0 0", "Apache MXNet 1.0.0"},
                                            {"nvidia developer blog on sony", "NVIDIA developer blog on Sony"},
                                            {"nemo 24 07 performance summary", kNemoOf24},
                                            {"nemo 24 09 performance summary", kNemoOf24},
                                            {"megatron bridge performance summary 25 09", kBridgeOf25Q3},
                                            {"megatron bridge performance summary 25 11", kBridgeOf25Q4},
                                            {"megatron bridge performance summary 26 02", kBridgeOf26}};
  return all;
}

// Each source may predict later ones, never earlier ones.
const std::vector<std::vector<std::string>>& series() {
  static const std::vector<std::vector<std::string>> all{{kNemoOf24, kBridgeOf25Q3, kBridgeOf25Q4, kBridgeOf26}};
  return all;
}

void add_figures(const Entry& entry, const std::set<std::string>& of_targets, std::vector<std::string>& lines) {
  for (const Assumption& fact : entry.facts)
    if (fact.kind != "assumed" && of_targets.count(whole_source(fact.source)) > 0)
      lines.push_back(entry.id + ": " + fact.pointer + ": " + in_quotes(fact.source));
}

}  // namespace

std::string whole_source(const std::string& source) {
  const std::string words = plain_words(source);
  for (const WholeSource& one : whole_sources())
    if (words.find(one.words) != std::string::npos) return one.name;
  return source;
}

bool may_predict(const std::string& source, const std::string& predicted) {
  if (source == predicted) return false;
  for (const std::vector<std::string>& releases : series()) {
    const auto older = std::find(releases.begin(), releases.end(), source);
    const auto newer = std::find(releases.begin(), releases.end(), predicted);
    if (older != releases.end() && newer != releases.end()) return older < newer;
  }
  return true;
}

std::vector<std::string> figures_of_targets(const Catalogue& catalogue, const std::vector<Record>& records) {
  std::set<std::string> of_targets;
  for (const Record& record : records)
    if (record.role == Role::target) of_targets.insert(whole_source(record.source));
  std::vector<std::string> lines;
  for (const GpuEntry& entry : catalogue.gpus) add_figures(entry, of_targets, lines);
  for (const IntraNodeEntry& entry : catalogue.intra_nodes) add_figures(entry, of_targets, lines);
  for (const NetworkEntry& entry : catalogue.networks) add_figures(entry, of_targets, lines);
  for (const StackEntry& entry : catalogue.stacks) add_figures(entry, of_targets, lines);
  return lines;
}

}  // namespace lockstep::sim::validation
