// The table of the zoo. Tests check sizes layer by layer against tests/data/models/layers.tsv, or as sums against
// publications.
#include "engine/model/zoo/zoo.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "engine/base/text.hpp"
#include "engine/model/token_layers_json.hpp"
#include "engine/model/transformer/composite.hpp"
#include "engine/model/transformer/huggingface.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model {
namespace {

using zoo::Entry;

const std::string kFused = "_fused";
constexpr int kMostTokens = 999'999'999;  // limit of tokens per sample

struct Alias {
  const char* alias;
  const char* name;
};

// "alexnet" is Krizhevsky's network, with groups, as in most publications.
constexpr std::array<Alias, 4> kAliases{{
    {"lenet", "lenet_crossbow"},
    {"alexnet", "alexnet_grouped"},
    {"resnet32", "resnet32_crossbow"},
    {"googlenet", "googlenet_noaux"},
}};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> joined;
    for (const auto file :
         {zoo::small_networks, zoo::alexnets_and_vggs, zoo::googlenets, zoo::inceptions, zoo::resnets,
          zoo::convolutional_networks, zoo::residual_networks, zoo::gated_networks, zoo::dense_networks,
          zoo::mlperf_networks, zoo::recurrent_networks, zoo::transformers, zoo::translators, zoo::language_models,
          zoo::configured_language_models, zoo::composite_networks})
      for (Entry& entry : file()) joined.push_back(std::move(entry));
    return joined;
  }();
  return all;
}

const Entry* find_entry(const std::string& name) {
  const auto found = std::find_if(entries().begin(), entries().end(), [&](const Entry& e) { return e.name == name; });
  return found == entries().end() ? nullptr : &*found;
}

std::string resolve(const std::string& name) {
  for (const Alias& alias : kAliases)
    if (name == alias.alias) return alias.name;
  return name;
}

// The name without "_fused"; empty if that names no network with attention.
std::string base_of_fused(const std::string& name) {
  if (name.size() <= kFused.size() || name.substr(name.size() - kFused.size()) != kFused) return "";
  const std::string base = name.substr(0, name.size() - kFused.size());
  const Entry* entry = find_entry(base);
  return entry != nullptr && entry->build_fused ? base : "";
}

[[noreturn]] void refuse_unknown(const std::string& name) {
  std::vector<std::string> names = zoo_names();
  for (const Alias& alias : kAliases) names.emplace_back(alias.alias);
  throw InputError("model " + in_quotes(name) +
                   " is unknown; allowed: a .json file, or a name of --list-models, such as " +
                   joined(nearest_names(name, names)));
}

// A name with a sequence length: "llama3_8b@4096".
struct Sized {
  std::string name;
  int tokens;  ///< 0: no number in the name
};

Sized sized(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) return {text, 0};
  const std::string digits = text.substr(at + 1);
  const bool is_number = !digits.empty() && digits.size() <= 9 &&
                         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int tokens = is_number ? std::stoi(digits) : 0;
  if (tokens < 1)
    throw InputError("model " + in_quotes(text) + ": " + in_quotes(digits) +
                     " is no number of tokens; allowed: 1 to 999999999, as in llama3_8b@4096");
  return {text.substr(0, at), tokens};
}

const Entry& entry_of_sequences(const std::string& name) {
  const Entry* entry = find_entry(resolve(name));
  if (entry == nullptr) refuse_unknown(name);
  if (!entry->of_sequence)
    throw InputError("model " + in_quotes(name) + " has samples of one length; allowed: " + in_quotes(name));
  return *entry;
}

Graph build_sized(const std::string& name, const SequenceJob& job) {
  const Entry& entry = entry_of_sequences(name);
  Graph graph = entry.of_sequence(job);
  if (graph.tokens != entry.build().tokens) graph.name += "@" + std::to_string(graph.tokens);
  return graph;
}

Graph build(const std::string& name) {
  if (const Sized s = sized(name); s.tokens > 0) {
    const std::string fused = base_of_fused(s.name);
    const Entry* entry = find_entry(resolve(s.name));
    const bool in_passes = entry != nullptr && entry->build_fused;
    return build_sized(fused.empty() ? s.name : fused, {s.tokens, !in_passes});
  }
  const std::string base = base_of_fused(name);
  if (!base.empty()) return find_entry(base)->build_fused();
  const Entry* entry = find_entry(name);
  if (entry == nullptr) refuse_unknown(name);
  return entry->build();
}

bool costs_the_same(const Graph& a, const Graph& b) {
  return a.tokens == b.tokens &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    [](const Layer& x, const Layer& y) {
                      return x.name == y.name && x.kind == y.kind && x.macs == y.macs &&
                             x.input_elements == y.input_elements && x.out.elements() == y.out.elements() &&
                             x.parameter_count() == y.parameter_count() && x.attention == y.attention &&
                             x.experts == y.experts && x.recurrence == y.recurrence && x.tied_to == y.tied_to;
                    });
}

// Builders cannot name the file: adds its name to their errors.
Graph built(const JsonNode& node, const std::function<Graph()>& build) {
  try {
    return build();
  } catch (const InputError& error) {
    node.fail(error.what());
  }
}

void note(const JsonNode& node, const char* key, const Json& value, const char* source) {
  node.document().note({node.pointer() + "/" + key, value, "assumed", source});
}

// Reads sequence length and attention. `tokens` is the length in the model's name (0: none); two lengths are refused.
SequenceJob read_job(const JsonNode& node, int tokens) {
  SequenceJob job;
  const auto sequence = node.find("sequence");
  if (sequence && tokens > 0) sequence->fail("the name says how many tokens", "allowed: one of the two");
  job.tokens = sequence ? static_cast<int>(sequence->integer(1, kMostTokens)) : tokens;
  if (const auto attention = node.find("attention"))
    job.fused_attention = attention->choice({"fused", "in-passes"}) == "fused";
  return job;
}

// `place` is the configuration itself, or the object that contains it.
Graph graph_of_config(const JsonNode& config, const JsonNode& place, int tokens) {
  const TransformerSpec spec = transformer_of_huggingface(config);
  const SequenceJob job = read_job(place, tokens);
  if (job.tokens == 0 && spec.patches.image == 0)
    note(place, "sequence", spec.usual_tokens(), "default: the context of the model, 8192 at most");
  if (!place.has("attention"))
    note(place, "attention", "fused", "default: scores stay on the chip, as in today's frameworks");
  Graph graph = built(place, [&] { return transformer_graph(spec, job); });
  TransformerJob with_config = *graph.transformer;
  with_config.config = config.json().dump();
  graph.transformer = std::make_shared<const TransformerJob>(std::move(with_config));
  return graph;
}

bool is_file(const std::string& name_or_file) {
  const std::string ending = ".json";
  return name_or_file.size() > ending.size() &&
         name_or_file.compare(name_or_file.size() - ending.size(), ending.size(), ending) == 0;
}

// Whether the text is a configuration instead of its file's path.
bool is_object(const std::string& text) {
  return !text.empty() && text.front() == '{';
}

bool is_sized_file(const std::string& text) {
  return is_file(text.substr(0, text.rfind('@')));
}

bool runs_on_tokens(const Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const Layer& l) { return is_of_tokens(l.kind); });
}

Graph graph_of_file(const std::string& path, int tokens, std::map<std::string, std::string>& inputs) {
  JsonDocument document = JsonDocument::load(path);
  document.include("/config");
  inputs.merge(document.inputs());
  return model_from_json(document.root(), tokens);
}

// The number of tokens follows the last brace: {...}@4096.
Graph graph_of_object(const std::string& text) {
  const std::size_t end = text.rfind('}');
  const std::size_t behind = end == std::string::npos ? text.size() : end + 1;
  const int tokens = behind < text.size() ? sized(text.substr(behind)).tokens : 0;
  return model_from_json(JsonDocument::parse(text.substr(0, behind), "model").root(), tokens);
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.push_back(entry.name);
  return names;
}

std::vector<std::string> trainable_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries())
    if (entry.lacks.empty()) names.push_back(entry.name);
  return names;
}

const Graph& zoo_graph(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Graph> built;
  const std::string resolved = resolve(name);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = built.find(resolved);
  return known != built.end() ? known->second : built.emplace(resolved, build(resolved)).first->second;
}

std::string fused_attention_name(const std::string& name) {
  const std::size_t at = std::min(name.rfind('@'), name.size());  // start of "@TOKENS"
  const Entry* entry = find_entry(name.substr(0, at));
  return entry != nullptr && entry->build_fused ? name.substr(0, at) + kFused + name.substr(at) : name;
}

std::string zoo_name_of(const Graph& graph) {
  const std::string base = graph.name.substr(0, graph.name.rfind('@'));
  if (find_entry(base) == nullptr || (base != graph.name && !find_entry(base)->of_sequence)) return "";
  for (const std::string& name : {graph.name, fused_attention_name(graph.name)})
    if (costs_the_same(zoo_graph(name), graph)) return name;
  return "";
}

Json zoo_json_of(const Graph& graph) {
  const std::string name = zoo_name_of(graph);
  if (!name.empty()) return name;
  const std::string base = graph.name.substr(0, graph.name.rfind('@'));
  const Entry* const entry = find_entry(base);
  if (entry == nullptr || !entry->of_sequence || !graph.transformer) return {};
  const SequenceJob& job = graph.transformer->job;
  if (!costs_the_same(entry->of_sequence(job), graph)) return {};
  return {{"name", base}, {"sequence", job.tokens}, {"attention", job.fused_attention ? "fused" : "in-passes"}};
}

Graph model_from_json(const JsonNode& node, int tokens) {
  if (is_composite(node)) return read_composite(node, tokens);
  if (is_huggingface(node)) return graph_of_config(node, node, tokens);
  refuse_other_configuration(node);
  if (node.has("config")) {
    node.keys({"config", "sequence", "attention"});
    const JsonNode config = node.at("config");
    if (!is_huggingface(config))
      config.fail("no HuggingFace configuration", "allowed: a path ending in .json, of a file with \"model_type\"");
    return graph_of_config(config, node, tokens);
  }
  if (node.has("name") && !node.has("schema") && !node.has("layers")) {
    node.keys({"name", "sequence", "attention"});
    const std::string name = node.at("name").text();
    return built(node.at("name"), [&] { return build_sized(name, read_job(node, tokens)); });
  }
  if (tokens > 0) node.at("schema").fail("a model file says its tokens itself", "allowed: a HuggingFace configuration");
  return graph_from_json(node);
}

ModelNameKind kind_of_model_name(const std::string& text) {
  if (is_object(text)) return ModelNameKind::object;
  return is_file(text) ? ModelNameKind::file : is_sized_file(text) ? ModelNameKind::sized_file : ModelNameKind::zoo;
}

Graph graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs) {
  switch (kind_of_model_name(name_or_file)) {
    case ModelNameKind::file:
      return graph_of_file(name_or_file, 0, inputs);
    case ModelNameKind::sized_file: {
      const Sized file = sized(name_or_file);
      return graph_of_file(file.name, file.tokens, inputs);
    }
    case ModelNameKind::object:
      return graph_of_object(name_or_file);
    case ModelNameKind::zoo:
      break;
  }
  return zoo_graph(name_or_file);
}

Graph trainable_graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs) {
  Graph graph = graph_of(name_or_file, inputs);
  const Entry* entry = is_file(name_or_file) ? nullptr : find_entry(sized(graph.name).name);
  if (entry == nullptr && runs_on_tokens(graph))
    throw InputError("model " + in_quotes(name_or_file) +
                     " is predicted, not trained: no backend has layers of sequences; allowed: a model of layers of "
                     "images, or a name of --list-models");
  if (entry == nullptr || entry->lacks.empty()) return graph;
  throw InputError("model " + in_quotes(name_or_file) + " is predicted, not trained: no backend has its " +
                   entry->lacks + "; allowed: the nearest that are trained, " +
                   joined(nearest_names(entry->name, trainable_names())) + ", or others of --list-models");
}

std::string list_models_text() {
  std::vector<Graph> trained, predicted;
  for (const Entry& entry : entries()) (entry.lacks.empty() ? trained : predicted).push_back(zoo_graph(entry.name));
  return models_text(trained) +
         "\nPredicted, not trained; transformers also as NAME_fused, with attention whose scores stay on the chip:\n" +
         models_text(predicted);
}

}  // namespace lockstep::model
