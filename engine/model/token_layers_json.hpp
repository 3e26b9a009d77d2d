#pragma once
// The layers of sequences in a model file; see graph_json.cpp.
#include <functional>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// Keys of the kind beside name, kind and from.
std::vector<std::string> token_layer_keys(LayerKind kind);
/// Whether the kind is one of these.
bool is_of_tokens(LayerKind kind);
/// Whether "from" must be an array.
bool reads_several(LayerKind kind);

/// What appends a layer that was read: builders' errors are another's than the file's.
using TokenLayer = std::function<int(GraphBuilder&)>;
/// Reads the keys of a layer whose first input is of shape `in`. `layer_named` gives the index of an earlier layer, or
/// refuses the name.
TokenLayer read_token_layer(LayerKind kind, const std::string& name, const std::vector<int>& from, const JsonNode& node,
                            const Shape& in, const std::function<int(const JsonNode&)>& layer_named);
/// Writes the keys of a layer; those at their default are left out.
void write_token_layer(const Graph& graph, const Layer& layer, Json& json);

}  // namespace lockstep::model
