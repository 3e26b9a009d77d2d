#pragma once
// Checkpoints: the whole state of a run in one file. The file is replaced atomically, so that a run which is killed at
// any moment can use the last complete one.
//
//   line 1    lockstep/checkpoint/1 HEADER_BYTES SHA-256 of all that follows the line
//   header    JSON: settings, inputs, history; numbers (counters and reals by name) and arrays (name, elements) of
//             process 0; others: the same of processes 1, 2, ...
//   arrays    the elements of all arrays, float, in the machine's byte order
//
// Process 0 writes and reads the file for all processes. An array that is bit-identical to process 0's is stored only
// once (`"shared": true`), because S-SGD's parameters and momentum are the same everywhere.
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/sync/state.hpp"

namespace lockstep::train {

/// Visits the state of the trainer itself, in addition to that of the algorithm.
class RunVisitor : public sync::StateVisitor {
 public:
  virtual void floats(const std::string& name, std::vector<float>& value) = 0;
  void vector(const std::string& name, sync::DeviceVector& value) override = 0;
};

/// Packs one process's state as a line of JSON (numbers, arrays) and the elements of the arrays.
class StateWriter final : public RunVisitor {
 public:
  void vector(const std::string& name, sync::DeviceVector& value) override;
  void floats(const std::string& name, std::vector<float>& value) override;
  void integer(const std::string& name, std::int64_t& value) override { numbers_[name] = value; }
  void real(const std::string& name, double& value) override { numbers_[name] = value; }

  std::string packed() const;

 private:
  Json numbers_ = Json::object();
  Json arrays_ = Json::array();
  std::string content_;
};

class StateReader final : public RunVisitor {
 public:
  /// `packed` comes from StateWriter; `path` is the checkpoint's, for messages.
  StateReader(const std::string& path, const std::string& packed, sync::VectorOps& ops);

  /// All throw InputError if the checkpoint lacks `name` or has another size for it.
  void vector(const std::string& name, sync::DeviceVector& value) override;
  void floats(const std::string& name, std::vector<float>& value) override;
  void integer(const std::string& name, std::int64_t& value) override;
  void real(const std::string& name, double& value) override;

 private:
  struct Array {
    std::size_t begin;  ///< in content_, bytes
    std::int64_t elements;
  };
  const Json& number(const std::string& name) const;
  const Array& array(const std::string& name, std::int64_t elements) const;

  std::string path_;
  sync::VectorOps& ops_;
  std::string content_;
  Json numbers_;
  std::map<std::string, Array> arrays_;
};

/// The checkpoint's file.
class Checkpoint {
 public:
  /// Makes an empty checkpoint to write.
  Checkpoint() = default;
  /// Reads and checks the whole file. Throws InputError if it is unreadable, damaged or no checkpoint.
  explicit Checkpoint(const std::string& path);

  /// Adds the packed state of the next process.
  void add(const std::string& packed);
  /// Adds the members of `facts` (an object) to the header. Throws std::runtime_error if the file cannot be written.
  void write(const std::string& path, const Json& facts) const;

  /// The header.
  const Json& facts() const { return header_; }
  /// Returns the packed state of process 0, 1, ... Throws std::out_of_range if there is no such process.
  std::string state(int process) const;

 private:
  struct Array {
    std::string name;
    std::size_t begin;  ///< in content_, bytes
    std::size_t bytes;
    bool shared;  ///< has the bits of process 0's array
  };
  struct Part {
    Json numbers;
    std::vector<Array> arrays;
  };
  static Json arrays_of(const Part& part);
  void add_part(const JsonNode& state, std::size_t& begin);
  const Array* shared_with(const std::string& name, std::size_t bytes) const;

  Json header_ = Json::object();
  std::vector<Part> parts_;  ///< by process
  std::string content_;
};

}  // namespace lockstep::train
