#pragma once
// The zoo: every network that has a name, for predictions, training and calibration alike.
//
// Convolutional networks have layers that the backends compute. Transformers, and others whose arithmetic no backend
// has, are there for the costs of their layers alone. One from the time before fused attention has a second name, its
// own with "_fused" behind it, for attention whose scores stay on the chip (Dao et al. 2022); the large language models
// (language.cpp) have it under their own name.
//
// The length of a sequence is the job's: "llama3_8b@4096" is the model with 4,096 tokens a sample, "config.json@4096" a
// HuggingFace configuration (engine/model/transformer/huggingface.hpp) with as many.
#include <map>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// Names of the zoo, in the order of --list-models; without those of fused attention.
std::vector<std::string> zoo_names();
/// Those of networks that can be trained.
std::vector<std::string> trainable_names();

/// A network by its name, a short form (lenet, alexnet, resnet32, googlenet), that of fused attention, or with "@TOKENS"
/// behind it where it is a language model. Built once.
/// Throws InputError with the nearest names for an unknown one.
const Graph& zoo_graph(const std::string& name);
/// The name of the same network with fused attention; the name itself where there is none.
std::string fused_attention_name(const std::string& name);
/// The name by which zoo_graph() gives layers of the same costs; empty where there is none.
std::string zoo_name_of(const Graph& graph);

/// A user's own model: an object {"schema": "lockstep/model/1", ...} (graph_json.cpp), a HuggingFace configuration,
/// known by its "model_type", or {"config": a configuration, or "name": a name, "sequence": tokens of a sample,
/// "attention": "fused" or "in-passes"}. `tokens`: of a sample; 0: the configuration's own context.
Graph model_from_json(const JsonNode& node, int tokens = 0);

/// What a text that names a network is: "model.json"; "config.json@4096" (of sequences of so many tokens); an object in place
/// of its file, "{"model_type": ...}" or "{...}@4096"; or a name.
enum class ModelName { file, sized_file, object, zoo };
ModelName model_name_of(const std::string& text);

/// A network of the zoo by its name, a user's own from a file whose name ends in ".json", or an object, each with "@TOKENS"
/// behind it; files that were read are added to `inputs`, {path: sha256}. Throws InputError for an unknown name or a bad file.
Graph graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs);
/// The same to be trained. Throws InputError besides for a network of which no backend has the arithmetic, with the
/// nearest names of others.
Graph trainable_graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs);

/// Text of --list-models, of every program.
std::string list_models_text();

}  // namespace lockstep::model
