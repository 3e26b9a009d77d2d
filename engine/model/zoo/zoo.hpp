#pragma once
// The zoo: all named networks, which predictions, training and calibration share.
//
// Convolutional networks have layers that the backends compute. Transformers, and other networks that no backend can
// compute, only provide the costs of their layers. A network from the time before fused attention has a second name
// with the suffix "_fused", for attention that keeps its scores on the chip (Dao et al. 2022). The large language
// models (language.cpp) use fused attention under their own name.
//
// The job chooses the sequence length: "llama3_8b@4096" is the model with 4,096 tokens per sample, and
// "config.json@4096" a HuggingFace configuration (engine/model/transformer/huggingface.hpp) with that many.
#include <map>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// The names of the zoo in the order of --list-models, without the "_fused" names.
std::vector<std::string> zoo_names();
/// The names of the networks that can be trained.
std::vector<std::string> trainable_names();

/// Returns a network, built once. `name` is its name, a short form (lenet, alexnet, resnet32, googlenet) or a "_fused"
/// name; a language model's may end in "@TOKENS". Throws InputError with the nearest names for an unknown one.
const Graph& zoo_graph(const std::string& name);
/// The name of the same network with fused attention; the name itself if there is none.
std::string fused_attention_name(const std::string& name);
/// The name for which zoo_graph() returns layers of the same costs; empty if there is none.
std::string zoo_name_of(const Graph& graph);
/// Returns the graph as a scenario's `model` gives it: zoo_name_of(), or name, sequence and attention. Null if neither
/// describes the graph.
Json zoo_json_of(const Graph& graph);

/// Reads a user's model. It is an object {"schema": "lockstep/model/1", ...} (graph_json.cpp), a HuggingFace
/// configuration (recognised by "model_type"), or {"config": a configuration, or "name": a name, "sequence": tokens per
/// sample, "attention": "fused" or "in-passes"}. `tokens` is per sample; 0 means the configuration's context.
Graph model_from_json(const JsonNode& node, int tokens = 0);

/// How a text names a network: "model.json"; "config.json@4096" (tokens per sample); an object instead of
/// its file, "{"model_type": ...}" or "{...}@4096"; or a name.
enum class ModelNameKind { file, sized_file, object, zoo };
ModelNameKind kind_of_model_name(const std::string& text);

/// Reads a network of the zoo, a user's model from a file whose name ends in ".json", or an object. Each may end in
/// "@TOKENS". Adds the files that it reads to `inputs`, {path: sha256}. Throws InputError for an unknown name or a bad
/// file.
Graph graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs);
/// As graph_of(), for training. Also throws InputError, with the nearest trainable names, for a network that no backend
/// can compute.
Graph trainable_graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs);

/// The text that --list-models prints, in every program.
std::string list_models_text();

}  // namespace lockstep::model
