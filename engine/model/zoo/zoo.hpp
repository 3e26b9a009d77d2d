#pragma once
// The zoo: every network that has a name, for predictions, training and calibration alike.
//
// Convolutional networks have layers that the backends compute. Transformers, and others whose arithmetic no backend
// has, are there for the costs of their layers alone: a token's linear layers are 1x1 convolutions over an "image" of
// tokens, a layer norm costs what a batch norm does. A transformer has a second name, its own with "_fused" behind it,
// for attention whose scores stay on the chip (Dao et al. 2022).
#include <map>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// Names of the zoo, in the order of --list-models; without those of fused attention.
std::vector<std::string> zoo_names();
/// Those of networks that can be trained.
std::vector<std::string> trainable_names();

/// A network by its name, a short form (lenet, alexnet, resnet32, googlenet) or that of fused attention. Built once.
/// Throws InputError with the nearest names for an unknown one.
const Graph& zoo_graph(const std::string& name);
/// The name of the same network with fused attention; the name itself where there is none.
std::string fused_attention_name(const std::string& name);
/// The name by which zoo_graph() gives layers of the same costs; empty where there is none.
std::string zoo_name_of(const Graph& graph);

/// A network of the zoo by its name, or a user's own from a file whose name ends in ".json"; files that were read are
/// added to `inputs`, {path: sha256}. Throws InputError for an unknown name or a bad file.
Graph graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs);
/// The same to be trained. Throws InputError besides for a network of which no backend has the arithmetic, with the
/// nearest names of others.
Graph trainable_graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs);

/// Text of --list-models, of every program.
std::string list_models_text();

}  // namespace lockstep::model
