#include "sim/job/gpu_name.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "engine/base/text.hpp"

namespace lockstep::sim::job {
namespace {

const std::string kNvl = "nvl";
constexpr std::size_t kMostDigitsOfCount = 4;

std::string without_separators(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" -_,");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" -_,") - first + 1);
}

// Returns the number at `at`, and sets `end` to its end. 0: there is none.
int number_at(const std::string& text, std::size_t at, std::size_t& end) {
  end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end == at || end - at > kMostDigitsOfCount ? 0 : std::stoi(text.substr(at, end - at));
}

// Cuts "GB200-NVL72" or "GB200 NVL72" to "GB200", and returns 72.
int cut_nvl_behind(std::string& name) {
  const std::size_t at = lower_case(name).rfind(kNvl);
  if (at == std::string::npos || at == 0) return 0;
  std::size_t end = 0;
  const int gpus = number_at(name, at + kNvl.size(), end);
  if (gpus == 0 || end != name.size()) return 0;
  name = without_separators(name.substr(0, at));
  return gpus;
}

// The parts of a GPU's name with which vendors and integrators extend it.
struct BareName {
  std::string name;  ///< text without these parts
  bool is_sxm = false;
  double memory_bytes = 0;  ///< 0: not given
};

// Splits a text into lower-case words of letters and digits; "80 GB" becomes one word.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : lower_case(text))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      parts.back() += c;
    else if (!parts.back().empty())
      parts.emplace_back();
  if (parts.back().empty()) parts.pop_back();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::size_t end = 0;
    if (parts[i] != "gb" || number_at(parts[i - 1], 0, end) == 0 || end != parts[i - 1].size()) continue;
    parts[i - 1] += parts[i];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return parts;
}

// Splits "HGX B300-SXM-288GB" into "b300", a socket and 288 GB.
BareName cut_maker_and_memory(const std::string& text) {
  static const std::vector<std::string> makers{"nvidia", "dgx", "hgx"},
      sockets{"sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6"};
  const auto is_of = [](const std::vector<std::string>& all, const std::string& word) {
    return std::find(all.begin(), all.end(), word) != all.end();
  };
  BareName cut;
  for (const std::string& word : parts_of(text)) {
    std::size_t end = 0;
    const int number = number_at(word, 0, end);
    if (is_of(sockets, word))
      cut.is_sxm = true;
    else if (number > 0 && word.substr(end) == "gb")
      cut.memory_bytes = number * 1e9;
    else if (!is_of(makers, word))
      cut.name += (cut.name.empty() ? "" : " ") + word;
  }
  return cut;
}

// Returns null if memory or socket are those of another GPU.
const GpuEntry* named_without_maker(const Entries<GpuEntry>& gpus, const std::string& text) {
  constexpr double kMostOff = 0.04;        // one GPU is said to have 180 or 186 GB, but 80 and 94 GB belong to two
  constexpr double kBinary = 1.073741824;  // "80 GB" of a data sheet are GiB
  const BareName cut = cut_maker_and_memory(text);
  const GpuEntry* entry = cut.name.empty() ? nullptr : gpus.named(cut.name);
  if (entry == nullptr) return nullptr;
  const double ratio = cut.memory_bytes > 0 ? entry->spec.memory_bytes / cut.memory_bytes : 1;
  const bool is_other_memory = ratio < 1 - kMostOff || ratio > kBinary * (1 + kMostOff);
  return is_other_memory || (cut.is_sxm && entry->intra_node.rfind("nvlink", 0) != 0) ? nullptr : entry;
}

// Requires that the whole text is a name.
GpuRead read_whole(const Entries<GpuEntry>& gpus, const std::string& text) {
  std::string name = without_separators(text);
  GpuRead read;
  read.entry = gpus.named(name);
  read.nvl = cut_nvl_behind(name);
  if (read.entry == nullptr && read.nvl > 0) read.entry = gpus.named(name);
  if (read.entry == nullptr) read.entry = named_without_maker(gpus, name);
  return read;
}

}  // namespace

GpuRead read_gpu_name(const Entries<GpuEntry>& gpus, const std::string& text) {
  const GpuRead whole = read_whole(gpus, text);
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (whole.entry != nullptr || open == std::string::npos || close == std::string::npos || close < open) return whole;
  const std::string outside = text.substr(0, open) + " " + text.substr(close + 1);
  const std::string inside = text.substr(open + 1, close - open - 1);
  GpuRead by_outside = read_whole(gpus, outside), by_inside = read_whole(gpus, inside);
  by_outside.part = without_separators(outside);
  by_inside.part = without_separators(inside);
  if (by_inside.entry == nullptr || by_inside.entry == by_outside.entry) return by_outside;
  return by_outside.entry == nullptr ? by_inside : GpuRead{};
}

std::string why_no_gpu(const std::string& text) {
  static const std::vector<std::pair<std::string, std::string>> machines{{"tpu", "a TPU"},
                                                                         {"trainium", "Trainium"},
                                                                         {"trn", "Trainium"},
                                                                         {"inferentia", "Inferentia"},
                                                                         {"inf", "Inferentia"},
                                                                         {"gaudi", "Gaudi"},
                                                                         {"hl", "Gaudi"},
                                                                         {"ipu", "an IPU"},
                                                                         {"wse", "Cerebras's wafer"},
                                                                         {"ascend", "Ascend"},
                                                                         {"mtia", "MTIA"}};
  for (const std::string& part : parts_of(text))
    for (const auto& [word, name] : machines) {
      const std::string rest = part.substr(std::min(part.size(), word.size()));
      const bool is_version = rest.empty() || is_digit(rest.front()) || (rest.front() == 'v' && rest.size() > 1);
      if (part.rfind(word, 0) == 0 && is_version)
        return name + " is no GPU, and only GPUs of NVIDIA and AMD are predicted";
    }
  return "";
}

int cut_nvl(std::string& network) {
  const std::string small = lower_case(network);
  if (small.rfind(kNvl, 0) != 0) return 0;
  std::size_t end = 0;
  const int gpus = number_at(network, kNvl.size(), end);
  const bool ends = end == network.size() || network.find_first_of(" ,;+", end) == end;
  if (gpus == 0 || !ends) return 0;
  const std::size_t rest = network.find_first_not_of(" ,;+", end);
  network = rest == std::string::npos ? "" : network.substr(rest);
  return gpus;
}

JoinedNode joined_node(int stated, int domain, const std::vector<int>& gpus_of_jobs) {
  const int largest = gpus_of_jobs.empty() ? domain : *std::max_element(gpus_of_jobs.begin(), gpus_of_jobs.end());
  const int needed = largest > 0 ? (largest + stated - 1) / stated : domain;
  for (int trays = std::min(domain / stated, needed); trays > 1; --trays) {
    const int node = trays * stated;
    if (std::all_of(gpus_of_jobs.begin(), gpus_of_jobs.end(),
                    [&](int gpus) { return gpus <= node || gpus % node == 0; }))
      return {node, trays};
  }
  return {stated, 1};
}

}  // namespace lockstep::sim::job
