#include "engine/train/checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/provenance.hpp"

namespace lockstep::train {
namespace {

constexpr const char* kMagic = "lockstep/checkpoint/1";
constexpr std::size_t kMostBytes = std::size_t{1} << 36;
constexpr std::int64_t kMostElements = kMostBytes / sizeof(float);

[[noreturn]] void fail(const std::string& path, const std::string& wrong) {
  throw InputError(path + ": " + wrong + "; allowed: a checkpoint of the same run");
}

std::size_t bytes_of(std::int64_t elements) {
  return static_cast<std::size_t>(elements) * sizeof(float);
}

std::string pack(const Json& numbers, const Json& arrays, const std::string& content) {
  return Json{{"numbers", numbers}, {"arrays", arrays}}.dump() + "\n" + content;
}

/// Splits the result of pack(); `content` begins after the line.
Json unpack(const std::string& packed, std::size_t& content) {
  content = packed.find('\n') + 1;
  return Json::parse(packed.substr(0, content));
}

}  // namespace

// ---- one process ----

void StateWriter::vector(const std::string& name, sync::DeviceVector& value) {
  std::vector<float> host = value.to_host();
  floats(name, host);
}

void StateWriter::floats(const std::string& name, std::vector<float>& value) {
  arrays_.push_back({{"name", name}, {"elements", value.size()}});
  content_.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof(float));
}

std::string StateWriter::packed() const {
  return pack(numbers_, arrays_, content_);
}

StateReader::StateReader(const std::string& path, const std::string& packed, sync::VectorOps& ops)
    : path_(path), ops_(ops) {
  std::size_t begin = 0;
  const Json header = unpack(packed, begin);
  content_ = packed.substr(begin);
  numbers_ = header.at("numbers");
  begin = 0;
  for (const Json& entry : header.at("arrays")) {
    const std::int64_t elements = entry.at("elements");
    arrays_[entry.at("name")] = {begin, elements};
    begin += bytes_of(elements);
  }
}

const Json& StateReader::number(const std::string& name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) fail(path_, "lacks " + name);
  return *found;
}

const StateReader::Array& StateReader::array(const std::string& name, std::int64_t elements) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) fail(path_, "lacks " + name);
  if (found->second.elements != elements) fail(path_, "holds another size of " + name);
  return found->second;
}

void StateReader::vector(const std::string& name, sync::DeviceVector& value) {
  std::vector<float> host(static_cast<std::size_t>(value.size()));
  floats(name, host);
  ops_.upload(value.size(), host.data(), value.data());
}

void StateReader::floats(const std::string& name, std::vector<float>& value) {
  const Array& from = array(name, static_cast<std::int64_t>(value.size()));
  if (!value.empty()) std::memcpy(value.data(), content_.data() + from.begin, value.size() * sizeof(float));
}

void StateReader::integer(const std::string& name, std::int64_t& value) {
  if (!number(name).is_number_integer()) fail(path_, "holds no whole number of " + name);
  value = number(name).get<std::int64_t>();
}

void StateReader::real(const std::string& name, double& value) {
  value = number(name).get<double>();
}

// ---- the file ----

/// Process 0's array of this name and size; null if there is none.
const Checkpoint::Array* Checkpoint::shared_with(const std::string& name, std::size_t bytes) const {
  if (parts_.empty()) return nullptr;
  const std::vector<Array>& first = parts_.front().arrays;
  const auto found = std::find_if(first.begin(), first.end(),
                                  [&](const Array& array) { return array.name == name && array.bytes == bytes; });
  return found == first.end() ? nullptr : &*found;
}

void Checkpoint::add(const std::string& packed) {
  std::size_t at = 0;
  const Json header = unpack(packed, at);
  Part part{header.at("numbers"), {}};
  for (const Json& entry : header.at("arrays")) {
    const std::size_t bytes = bytes_of(entry.at("elements"));
    const Array* same = shared_with(entry.at("name"), bytes);
    const bool is_shared = same != nullptr && content_.compare(same->begin, bytes, packed, at, bytes) == 0;
    part.arrays.push_back({entry.at("name"), is_shared ? same->begin : content_.size(), bytes, is_shared});
    if (!is_shared) content_.append(packed, at, bytes);
    at += bytes;
  }
  parts_.push_back(std::move(part));
}

Json Checkpoint::arrays_of(const Part& part) {
  Json arrays = Json::array();
  for (const Array& array : part.arrays) {
    arrays.push_back({{"name", array.name}, {"elements", array.bytes / sizeof(float)}});
    if (array.shared) arrays.back()["shared"] = true;
  }
  return arrays;
}

void Checkpoint::write(const std::string& path, const Json& facts) const {
  Json header = facts;
  header["numbers"] = parts_.at(0).numbers;
  header["arrays"] = arrays_of(parts_.at(0));
  if (parts_.size() > 1) header["others"] = Json::array();
  for (std::size_t p = 1; p < parts_.size(); ++p) {
    header["others"].push_back({{"numbers", parts_[p].numbers}, {"arrays", arrays_of(parts_[p])}});
  }
  const std::string text = header.dump();
  const std::string body = text + content_;
  write_file_atomically(path,
                        std::string(kMagic) + " " + std::to_string(text.size()) + " " + sha256_hex(body) + "\n" + body);
}

Checkpoint::Checkpoint(const std::string& path) {
  std::string file, why;
  if (!try_read_file(path, kMostBytes, file, why)) fail(path, "cannot be read: " + why);
  const std::size_t line_end = file.find('\n');
  if (line_end == std::string::npos || line_end > 200) fail(path, "is no checkpoint");
  std::istringstream line(file.substr(0, line_end));
  std::string magic, digest;
  std::size_t header_bytes = 0;
  line >> magic >> header_bytes >> digest;
  if (!line || magic != kMagic) fail(path, "is no checkpoint");
  const std::string body = file.substr(line_end + 1);
  if (header_bytes > body.size() || sha256_hex(body) != digest) fail(path, "is damaged");
  content_ = body.substr(header_bytes);
  const JsonDocument header = JsonDocument::parse(body.substr(0, header_bytes), path);
  header_ = header.json();

  std::vector<JsonNode> states{header.root()};
  if (const auto others = header.root().find("others"))
    for (const JsonNode& other : others->items()) states.push_back(other);
  std::size_t begin = 0;
  for (const JsonNode& state : states) add_part(state, begin);
  if (begin != content_.size()) fail(path, "is damaged");
}

/// Reads one process's state. Its arrays start at `begin` in content_, unless shared; `begin` moves to their end.
void Checkpoint::add_part(const JsonNode& state, std::size_t& begin) {
  Part part{state.at("numbers").json(), {}};
  for (const auto& [name, value] : state.at("numbers").members())
    if (!value.is_number()) value.fail("is no number");
  for (const JsonNode& entry : state.at("arrays").items()) {
    const auto shared = entry.find("shared");
    Array array{entry.at("name").text(), begin, bytes_of(entry.at("elements").integer(0, kMostElements)),
                shared && shared->boolean()};
    const Array* same = array.shared ? shared_with(array.name, array.bytes) : nullptr;
    if (array.shared && same == nullptr) entry.fail("process 0 has no such array");
    if (!array.shared && array.bytes > content_.size() - begin) entry.fail("the file ends before");
    if (array.shared)
      array.begin = same->begin;
    else
      begin += array.bytes;
    part.arrays.push_back(array);
  }
  parts_.push_back(std::move(part));
}

std::string Checkpoint::state(int process) const {
  const Part& part = parts_.at(static_cast<std::size_t>(process));
  Json arrays = Json::array();
  std::string content;
  for (const Array& array : part.arrays) {
    arrays.push_back({{"name", array.name}, {"elements", array.bytes / sizeof(float)}});
    content.append(content_, array.begin, array.bytes);
  }
  return pack(part.numbers, arrays, content);
}

}  // namespace lockstep::train
