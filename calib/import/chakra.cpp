// Chakra's execution traces (.et, mlcommons/chakra, schema/protobuf/et_def.proto): messages in protobuf's wire format, each
// behind its length as a varint; first GlobalMetadata, then a Node for each operator or kernel. Nodes have durations and
// dependencies, and no begin, so that a trace has no step times.
#include <cmath>
#include <map>
#include <optional>

#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/sound.hpp"
#include "calib/import/wire_format.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr int kCollectiveNode = 7;
constexpr double kLongestCall_us = 1e12;

// CollectiveCommType, and the part of an NCCL kernel's name.
struct ChakraOperation {
  std::int64_t type;
  const char* name;
  const char* in_kernel;
  bool is_of_share;  ///< comm_size is one rank's share, and nccl-tests counts those of all
};

const std::vector<ChakraOperation>& chakra_operations() {
  static const std::vector<ChakraOperation> all{
      {0, "all-reduce", "allreduce", false},        {1, "reduce", "reduce_", false},
      {2, "all-gather", "allgather", true},         {5, "broadcast", "broadcast", false},
      {6, "all-to-all", "alltoall", false},         {7, "reduce-scatter", "reducescatter", false},
      {8, "reduce-scatter", "reducescatter", false}};
  return all;
}

struct ChakraNode {
  std::string name, inputs, group;
  int type = 0;
  double duration_us = 0;
  std::optional<std::int64_t> operation, bytes;
};

class ChakraTrace {
 public:
  ChakraTrace(const std::string& name, const CollectiveLogOptions& options) : name_(name), options_(options) {}

  Imported read(std::string_view bytes) {
    int message = 0;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::string where = name_ + ": message " + std::to_string(++message);
      const auto [length, digits] = read_varint(bytes.substr(at));
      if (digits == 0 || length > bytes.size() - at - digits)
        throw InputError(where + ": is cut off; allowed: a whole .et file of Chakra, uncompressed or by gzip");
      at += digits;
      const std::string_view content = bytes.substr(at, static_cast<std::size_t>(length));
      at += content.size();
      if (message == 1)
        read_metadata(content, where);
      else
        nodes_.push_back(node_of(content, where));
    }
    for (const ChakraNode& node : nodes_) read_groups(node);
    check_ranks();
    for (std::size_t i = 0; i < nodes_.size(); ++i) add(nodes_[i], name_ + " message " + std::to_string(i + 2));
    if (log_.samples.empty())
      throw InputError(name_ + ": no collective with a duration and a size among " + std::to_string(nodes_.size()) +
                       " nodes; allowed: a trace that chakra_converter made of a run on GPUs" +
                       (log_.refused.empty() ? "" : "; first refused: " + log_.refused.front()));
    log_.device = {kUnknownGpu, "imported", most_ranks_, Json::object()};
    return std::move(log_);
  }

 private:
  void read_metadata(std::string_view content, const std::string& where) const {
    WireMessage message(content, where);
    std::string version;
    for (WireField field; message.next(field);)
      if (field.number == 1 && field.type == WireType::bytes) version = field.text();
    if (version.empty() || version.find_first_not_of("0123456789.") != std::string::npos)
      throw InputError(where + ": no version of Chakra; allowed: an .et file that begins with GlobalMetadata");
  }

  static void read_attribute(std::string_view content, const std::string& where, ChakraNode& node) {
    WireMessage message(content, where);
    std::string name, text;
    std::optional<std::int64_t> number;
    for (WireField field; message.next(field);) {
      if (field.number == 1 && field.type == WireType::bytes) name = field.text();
      if (field.number == 29 && field.type == WireType::bytes) text = field.text();
      const bool is_whole = field.number == 7 || field.number == 9 || field.number == 11 || field.number == 13;
      if (is_whole && field.type == WireType::varint) number = field.as_int();
    }
    if (name == "comm_type") node.operation = number;
    if (name == "comm_size") node.bytes = number;
    if (name == "pg_name") node.group = text;
  }

  static ChakraNode node_of(std::string_view content, const std::string& where) {
    ChakraNode node;
    WireMessage message(content, where);
    for (WireField field; message.next(field);) {
      if (field.number == 2 && field.type == WireType::bytes) node.name = field.text();
      if (field.number == 3 && field.type == WireType::varint) node.type = static_cast<int>(field.value & 0xff);
      if (field.number == 7 && field.type == WireType::varint) node.duration_us = static_cast<double>(field.value);
      if (field.number == 10 && field.type == WireType::bytes) read_attribute(field.bytes, where, node);
      if (field.number != 8 || field.type != WireType::bytes) continue;
      WireMessage inputs(field.bytes, where);
      for (WireField one; inputs.next(one);)
        if (one.number == 1 && one.type == WireType::bytes) node.inputs = one.text();
    }
    return node;
  }

  // PyTorch notes its process groups as a list, [{"pg_name": "0", "group_size": 8, ...}], within the text of the inputs.
  void read_groups(const ChakraNode& node) {
    if (node.name.find("process_group:init") == std::string::npos) return;
    const std::size_t begin = node.inputs.find("[{"), end = node.inputs.rfind("}]");
    if (begin == std::string::npos || end == std::string::npos || end < begin) return;
    const Json groups = Json::parse(node.inputs.substr(begin, end + 2 - begin), nullptr, false);
    if (!groups.is_array()) return;
    for (const Json& group : groups) {
      if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) continue;
      const auto size = group.find("group_size");
      if (size != group.end() && size->is_number_integer() && *size >= 2 && *size <= kMostRanks)
        sizes_[group["pg_name"].get<std::string>()] = size->get<int>();
    }
  }

  // --ranks gives the size of groups whose size the trace lacks. If it has all sizes, one must equal --ranks.
  void check_ranks() const {
    if (options_.ranks == 0 || sizes_.empty()) return;
    for (const ChakraNode& node : nodes_)
      if (node.type == kCollectiveNode && node.bytes && sizes_.count(node.group) == 0) return;
    std::string groups;
    for (const auto& [group, size] : sizes_) {
      if (size == options_.ranks) return;
      groups += (groups.empty() ? "group " : ", group ") + in_quotes(group) + " has " + std::to_string(size) + " ranks";
    }
    throw InputError(name_ + ": " + groups + ", and --ranks is " + std::to_string(options_.ranks) +
                     "; allowed: without --ranks");
  }

  int ranks_of(const ChakraNode& node, const std::string& where) const {
    const auto size = sizes_.find(node.group);
    if (size == sizes_.end() && options_.ranks == 0)
      throw InputError(where + ": the trace does not say how many ranks its groups have; allowed: with --ranks");
    return size != sizes_.end() ? size->second : options_.ranks;
  }

  const ChakraOperation* operation_of_node(const ChakraNode& node, const std::string& where) const {
    const ChakraOperation* found = nullptr;
    for (const ChakraOperation& one : chakra_operations())
      if (found == nullptr && node.operation && one.type == *node.operation) found = &one;
    const std::string small = lower_case(node.name);
    if (found == nullptr || small.find("nccl") == std::string::npos) return found;
    for (const ChakraOperation& one : chakra_operations())
      if (small.find(one.in_kernel) != std::string::npos && std::string(one.name) != found->name &&
          small.find(found->in_kernel) == std::string::npos)
        throw InputError(where + ": comm_type is " + found->name + ", and the kernel " + in_quotes(node.name) + " " +
                         one.name + "; allowed: a trace whose types are those of its kernels");
    return found;
  }

  void add(const ChakraNode& node, const std::string& where) {
    if (node.type != kCollectiveNode) return;
    const ChakraOperation* const operation = operation_of_node(node, where);
    if (operation == nullptr)
      return log_.refused.push_back(where + ": " + in_quotes(node.name.substr(0, 80)) + " is no collective that a " +
                                    "profile has");
    if (!node.bytes || *node.bytes <= 0) return;  // of a barrier
    if (!(node.duration_us > 0 && node.duration_us < kLongestCall_us))
      return log_.refused.push_back(where + ": no duration");
    const int ranks = ranks_of(node, where);
    const double bytes = static_cast<double>(*node.bytes) * (operation->is_of_share ? ranks : 1);
    if (bytes > kMostBytes) return log_.refused.push_back(where + ": a size of " + short_number(bytes) + " bytes");
    most_ranks_ = std::max(most_ranks_, ranks);
    const Json key{{"operation", operation->name},
                   {"library", options_.library.empty() ? "nccl" : options_.library},
                   {"ranks", ranks},
                   {"nodes", std::max(1, options_.nodes)},
                   {"bytes", static_cast<std::int64_t>(bytes)}};
    const auto [entry, is_new] = index_.try_emplace(canonical_id("collective", key), log_.samples.size());
    if (is_new) log_.samples.push_back({"collective", key, {}, "imported", where, {}, {}});
    log_.samples[entry->second].seconds.push_back(node.duration_us * 1e-6);
  }

  std::string name_;
  CollectiveLogOptions options_;
  std::vector<ChakraNode> nodes_;
  std::map<std::string, int> sizes_;  ///< ranks of process groups
  std::map<std::string, std::size_t> index_;
  int most_ranks_ = 1;
  Imported log_;
};

// PyTorch's ExecutionTraceObserver writes operators and tensors without times.
bool is_pytorch_execution_trace(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{' && text.find("\"nodes\"") != std::string::npos &&
         text.find("\"schema\"") != std::string::npos;
}

}  // namespace

Imported import_chakra(const std::string& bytes, const std::string& name, const CollectiveLogOptions& options) {
  if (is_pytorch_execution_trace(bytes))
    throw InputError(name + ": a PyTorch execution trace has no times; allowed: the profiler's trace of the same run " +
                     "(torch-trace), or the .et file that Chakra makes of both");
  return sound(ChakraTrace(name, options).read(bytes), name);
}

}  // namespace lockstep::calib
