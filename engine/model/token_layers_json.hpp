#pragma once
// Reads and writes the layers of sequences in a model file; see graph_json.cpp.
#include <functional>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// The keys of a layer of this kind, in addition to name, kind and from.
std::vector<std::string> token_layer_keys(LayerKind kind);
/// Whether the kind is a layer of sequences.
bool is_of_tokens(LayerKind kind);
/// Whether "from" must be an array.
bool reads_several(LayerKind kind);

/// Appends a layer that was read. A separate call, because the builder's errors do not name the file.
using TokenLayer = std::function<int(GraphBuilder&)>;
/// Reads the keys of a layer whose first input has shape `in`. `layer_named` returns the index of an earlier layer, or
/// throws if there is none of that name.
TokenLayer read_token_layer(LayerKind kind, const std::string& name, const std::vector<int>& from, const JsonNode& node,
                            const Shape& in, const std::function<int(const JsonNode&)>& layer_named);
/// Writes the keys of a layer; omits those with default values.
void write_token_layer(const Graph& graph, const Layer& layer, Json& json);

}  // namespace lockstep::model
