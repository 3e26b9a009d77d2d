#include "sim/records/names_in_texts.hpp"

#include <algorithm>
#include <regex>
#include <set>
#include <unordered_map>

#include "engine/base/text.hpp"
#include "sim/records/names.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr std::size_t kDistinctive = 4;  // letters: shorter aliases hide in other words ("t4")

struct AliasWords {
  std::vector<std::string> words;
  std::string squeezed;
};

// Aliases are few and looked for in every record.
const AliasWords& words_of_alias(const std::string& alias) {
  static std::unordered_map<std::string, AliasWords> known;
  const auto found = known.find(alias);
  return found != known.end() ? found->second
                              : known.emplace(alias, AliasWords{words_of(alias), squeezed(alias)}).first->second;
}

struct TextWords {
  std::set<std::string> words;
  std::string squeezed;
  explicit TextWords(const std::string& text) : squeezed(sim::squeezed(text)) {
    for (std::string& word : words_of(text)) words.insert(std::move(word));
  }
};

double match(const TextWords& text, const std::vector<std::string>& aliases) {
  double best = 0;
  for (const std::string& alias : aliases) {
    const AliasWords& of = words_of_alias(alias);
    const double words = static_cast<double>(of.words.size());
    if (std::all_of(of.words.begin(), of.words.end(), [&](const auto& word) { return text.words.count(word) > 0; }))
      best = std::max(best, words);
    if (of.squeezed.size() >= kDistinctive && text.squeezed.find(of.squeezed) != std::string::npos)
      best = std::max(best, words - 0.5);
  }
  return best;
}

template <typename Of>
const Of* found_in(const Entries<Of>& entries, const std::string& text) {
  if (text.size() > kLongestSearched) return nullptr;
  if (const Of* entry = entries.with_id(text)) return entry;
  const TextWords words(text);
  const Of* best = nullptr;
  double most = 0;
  for (const Of& entry : entries) {
    const double of_entry = match(words, entry.in_texts);
    if (of_entry <= most) continue;
    most = of_entry;
    best = &entry;
  }
  return best;
}

// "DenseNet-201" is no DenseNet-121, "GPT-3 175B" none of the smaller ones: the number behind the family's name, or the
// billions of parameters, must be among the entry's.
bool is_of_another_size(const std::string& name, const ModelEntry& entry) {
  static const std::regex depth(
      R"((?:resnet|resnext|densenet|vgg|gpt|vit|mobilenet|efficientnet|squeezenet)[ _-]?([0-9]{1,3})(?![0-9]))"),
      version(R"((?:mobilenet|shufflenet)[ _-]?v([0-9]))"), billions(R"(([0-9]+(?:\.[0-9]+)?) ?b(?![a-z0-9]))");
  const std::string small = lower_case(name);
  for (const std::regex* pattern : {&depth, &version, &billions}) {
    std::smatch found;
    if (!std::regex_search(small, found, *pattern)) continue;
    const std::string wanted = found[1].str();
    const bool is_known = std::any_of(entry.in_texts.begin(), entry.in_texts.end(), [&](const std::string& alias) {
      if (pattern != &billions) return squeezed(alias).find(wanted) != std::string::npos;
      std::smatch own;
      return std::regex_search(alias, own, billions) && own[1].str() == wanted;
    });
    if (!is_known) return true;
  }
  return false;
}

// Networks with one of the catalogue's as their backbone are others: "SSD300 (ResNet-34)", "SE-ResNet-50".
bool is_built_around(const std::string& text, const ModelEntry& entry) {
  static const std::set<std::string> others{"wide",    "cnn", "mask", "se",         "small", "tiny",   "distil",
                                            "roberta", "3d",  "xl",   "industrial", "swin",  "vision", "universal"};
  static const std::vector<std::string> beginnings{"ssd",        "rcnn", "retinanet", "deeplab", "unet",
                                                   "yolo",       "wrn",  "seresne",   "faster",  "fpn",
                                                   "distilbert", "nnu",  "unet3",     "unetr",   "vnet"};
  std::string own;
  for (const std::string& alias : entry.in_texts) own += " " + lower_case(alias) + " ";
  for (const std::string& word : words_of(text)) {
    const bool is_beginning = std::any_of(beginnings.begin(), beginnings.end(),
                                          [&](const std::string& beginning) { return word.rfind(beginning, 0) == 0; });
    const bool is_kin = word.size() > 4 && word.compare(word.size() - 4, 4, "bert") == 0;  // ALBERT, SciBERT
    if ((is_beginning || is_kin || others.count(word) > 0) && own.find(word) == std::string::npos) return true;
  }
  return false;
}

}  // namespace

const GpuEntry* gpu_in_text(const Catalogue& catalogue, const std::string& text) {
  return found_in(catalogue.gpus, text);
}

const IntraNodeEntry* intra_node_in_text(const Catalogue& catalogue, const std::string& text) {
  return found_in(catalogue.intra_nodes, text);
}

const NetworkEntry* network_in_text(const Catalogue& catalogue, const std::string& text) {
  return found_in(catalogue.networks, text);
}

const ModelEntry* model_in_text(const Catalogue& catalogue, const std::string& text) {
  if (const ModelEntry* entry = catalogue.models.with_id(text)) return entry;
  const ModelEntry* found = found_in(catalogue.models, text);
  if (found == nullptr || is_built_around(text, *found) || is_of_another_size(text, *found)) return nullptr;
  const bool small_images = mentions(text, "cifar") || mentions(text, "mnist");
  return small_images && found->train_samples > 1e5 ? nullptr : found;
}

const StackEntry& stack_in_texts(const Catalogue& catalogue, const std::string& texts) {
  for (const StackEntry& entry : catalogue.stacks)
    for (const std::string& keyword : entry.keywords)
      if (mentions(texts, keyword)) return entry;
  return catalogue.stacks.back();
}

}  // namespace records
}  // namespace lockstep::sim
