#pragma once
// Names that stand for something: matched whole, by a hash, whatever their case, blanks and separators. What is no name
// is never taken for one that looks like it; the nearest ones are for the message that refuses it.
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstep::sim {
inline namespace catalogue {

/// The one spelling of a name: lower case, without blanks and - _ / . ( ); "_" stands where these were between two
/// digits, so that "GPT-3 1.3B" is not "GPT-3 13B". Other characters count: "H100,A100" is no "H100 A100".
std::string plain_name(const std::string& name);

/// Names of entries, which are numbered by whoever asks.
class NameIndex {
 public:
  /// Adds a name of `entry`. Returns the entry that has it already, where that is another: the name is then not added.
  std::optional<std::size_t> add(const std::string& name, std::size_t entry);
  std::optional<std::size_t> find(const std::string& name) const;
  /// The entries with the names that differ least, each once, the nearest first; those added first of equals.
  std::vector<std::size_t> nearest(const std::string& name, std::size_t count) const;

 private:
  std::vector<std::pair<std::string, std::size_t>> names_;  ///< plain, in the order added
  std::unordered_map<std::string, std::size_t> entries_;    ///< by plain name
};

}  // namespace catalogue
}  // namespace lockstep::sim
