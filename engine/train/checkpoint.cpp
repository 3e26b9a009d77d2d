#include "engine/train/checkpoint.hpp"

#include <cstring>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/provenance.hpp"

namespace lockstep::train {
namespace {

constexpr const char* kMagic = "lockstep/checkpoint/1";
constexpr std::size_t kMostBytes = std::size_t{1} << 36;

}  // namespace

void CheckpointWriter::vector(const std::string& name, sync::DeviceVector& value) {
  std::vector<float> host = value.to_host();
  floats(name, host);
}

void CheckpointWriter::floats(const std::string& name, std::vector<float>& value) {
  arrays_.push_back({{"name", name}, {"elements", value.size()}});
  content_.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof(float));
}

void CheckpointWriter::write(const std::string& path, const Json& facts) const {
  Json header = facts;
  header["numbers"] = numbers_;
  header["arrays"] = arrays_;
  const std::string text = header.dump();
  const std::string body = text + content_;
  write_file_atomically(path,
                        std::string(kMagic) + " " + std::to_string(text.size()) + " " + sha256_hex(body) + "\n" + body);
}

CheckpointReader::CheckpointReader(const std::string& path, sync::VectorOps& ops) : path_(path), ops_(ops) {
  std::string file, why;
  if (!try_read_file(path, kMostBytes, file, why)) fail("cannot be read: " + why);
  const std::size_t line_end = file.find('\n');
  if (line_end == std::string::npos || line_end > 200) fail("is no checkpoint");
  std::istringstream line(file.substr(0, line_end));
  std::string magic, digest;
  std::size_t header_bytes = 0;
  line >> magic >> header_bytes >> digest;
  if (!line || magic != kMagic) fail("is no checkpoint");
  content_ = file.substr(line_end + 1);
  if (header_bytes > content_.size() || sha256_hex(content_) != digest) fail("is damaged");
  header_ = Json::parse(content_.substr(0, header_bytes));
  std::size_t begin = header_bytes;
  for (const Json& entry : header_.at("arrays")) {
    const std::int64_t elements = entry.at("elements");
    arrays_[entry.at("name")] = {begin, elements};
    begin += static_cast<std::size_t>(elements) * sizeof(float);
  }
  if (begin != content_.size()) fail("is damaged");
}

void CheckpointReader::fail(const std::string& wrong) const {
  throw InputError(path_ + ": " + wrong + "; allowed: a checkpoint of the same run");
}

const Json& CheckpointReader::number(const std::string& name) const {
  const auto found = header_.at("numbers").find(name);
  if (found == header_.at("numbers").end()) fail("lacks " + name);
  return *found;
}

const CheckpointReader::Array& CheckpointReader::array(const std::string& name, std::int64_t elements) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) fail("lacks " + name);
  if (found->second.elements != elements) fail("holds another size of " + name);
  return found->second;
}

void CheckpointReader::vector(const std::string& name, sync::DeviceVector& value) {
  std::vector<float> host(static_cast<std::size_t>(value.size()));
  floats(name, host);
  ops_.upload(value.size(), host.data(), value.data());
}

void CheckpointReader::floats(const std::string& name, std::vector<float>& value) {
  const Array& from = array(name, static_cast<std::int64_t>(value.size()));
  if (!value.empty()) std::memcpy(value.data(), content_.data() + from.begin, value.size() * sizeof(float));
}

void CheckpointReader::integer(const std::string& name, std::int64_t& value) {
  value = number(name).get<std::int64_t>();
}

void CheckpointReader::real(const std::string& name, double& value) {
  value = number(name).get<double>();
}

}  // namespace lockstep::train
