#pragma once
// Checkpoints: the whole state of a run in one file, replaced as a whole, so that a run killed at any moment finds the
// last complete one.
//
//   line 1    lockstep/checkpoint/1 HEADER_BYTES SHA-256 of all that follows the line
//   header    JSON: settings, inputs, numbers (counters and reals by name), arrays (name, elements), history
//   arrays    the elements of all arrays, float, in the machine's byte order
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/sync/state.hpp"

namespace lockstep::train {

/// State of the trainer itself beside that of the algorithm.
class RunVisitor : public sync::StateVisitor {
 public:
  virtual void floats(const std::string& name, std::vector<float>& value) = 0;
  void vector(const std::string& name, sync::DeviceVector& value) override = 0;
};

class CheckpointWriter final : public RunVisitor {
 public:
  void vector(const std::string& name, sync::DeviceVector& value) override;
  void floats(const std::string& name, std::vector<float>& value) override;
  void integer(const std::string& name, std::int64_t& value) override { numbers_[name] = value; }
  void real(const std::string& name, double& value) override { numbers_[name] = value; }

  /// `facts` (an object) joins the header. Throws std::runtime_error where the file cannot be written.
  void write(const std::string& path, const Json& facts) const;

 private:
  Json numbers_ = Json::object();
  Json arrays_ = Json::array();
  std::string content_;
};

class CheckpointReader final : public RunVisitor {
 public:
  /// Reads and checks the whole file. Throws InputError: unreadable, no checkpoint, damaged.
  CheckpointReader(const std::string& path, sync::VectorOps& ops);

  /// The header.
  const Json& facts() const { return header_; }

  /// All throw InputError where the checkpoint lacks `name`, or holds another size.
  void vector(const std::string& name, sync::DeviceVector& value) override;
  void floats(const std::string& name, std::vector<float>& value) override;
  void integer(const std::string& name, std::int64_t& value) override;
  void real(const std::string& name, double& value) override;

 private:
  struct Array {
    std::size_t begin;  ///< in content_, bytes
    std::int64_t elements;
  };
  [[noreturn]] void fail(const std::string& wrong) const;
  const Json& number(const std::string& name) const;
  const Array& array(const std::string& name, std::int64_t elements) const;

  std::string path_;
  sync::VectorOps& ops_;
  std::string content_;
  Json header_;
  std::map<std::string, Array> arrays_;
};

}  // namespace lockstep::train
