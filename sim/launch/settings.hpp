#pragma once
// The keys of a launch script or configuration, each with its value, place and use. A reader takes the keys that it
// maps. Tables give the reasons why other keys are not read. The rest is unknown. So every key is accounted for.
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "sim/launch/place.hpp"
#include "sim/launch/shell_values.hpp"

namespace lockstep::sim::launch {

enum class Use { unread, read, overridden, no_effect, not_simulated, unknown };

inline const Choices<Use>& choices_of(Use) {
  static const Choices<Use> all{{Use::unread, "unread"},
                                {Use::read, "read"},
                                {Use::overridden, "overridden"},
                                {Use::no_effect, "no effect on speed"},
                                {Use::not_simulated, "not simulated"},
                                {Use::unknown, "unknown"}};
  return all;
}

struct LaunchSetting {
  std::string key;      ///< in the format's spelling: "tensor_model_parallel_size", "training.seq_len"
  std::string written;  ///< in the file's spelling: "--tensor-model-parallel-size"
  Json value;           ///< null: a flag, or an empty value
  std::string unknown;  ///< the part of the value that cannot be evaluated: "$TP"; empty: none
  Place place;
  Use use = Use::unread;
  std::string why;  ///< for uses other than `read`

  /// "train.sh:12: --tensor-model-parallel-size 8"
  std::string text() const;
  /// Whether it is an option of a command without a value, "--bf16". An empty value of a file is none.
  bool is_bare_option() const;
};

/// Keys that are not read, grouped by reason. A key may end in "*". "launcher.time" is an option of any launcher:
/// "sbatch.time", "srun.time".
struct UnreadKeys {
  Use use;
  const char* why;
  const char* keys;  ///< separated by blanks
};

/// A value that a prediction needs but that cannot be evaluated, and the option to give instead.
struct Unevaluated {
  LaunchSetting setting;
  std::string option;
  std::string why;  ///< "$TP cannot be evaluated"
};

class LaunchSettings {
 public:
  void add(LaunchSetting setting);
  /// Adds the settings of another source after these.
  void append(const LaunchSettings& other);

  bool has(const std::string& key) const { return find(key) != nullptr; }
  /// Whether this word belongs to no option: "sft" in "swift sft --model X".
  bool has_argument(const std::string& word) const;
  /// Returns the last setting of that key and marks it as read; earlier ones are overridden. nullptr: there is none, or
  /// its value cannot be evaluated. `option` is the option that would give such a value.
  const LaunchSetting* take(const std::string& key, const std::string& option = "");
  std::optional<std::int64_t> whole(const std::string& key, const std::string& option = "");
  std::optional<double> number(const std::string& key, const std::string& option = "");
  std::optional<std::string> text(const std::string& key, const std::string& option = "");
  /// The name of a file; if a part of it is unknown, the name as written.
  std::optional<std::string> file_name(const std::string& key) const;
  /// Returns the setting of a key that is there, and marks it as read, even if its value cannot be evaluated. Throws
  /// std::out_of_range if it is not there.
  const LaunchSetting& at(const std::string& key);
  /// Requires the option instead of the setting, because of `why`.
  void require_option(const LaunchSetting& setting, const std::string& option, const std::string& why);
  /// The elements of a list, or the words of a text with commas or blanks.
  std::vector<std::string> words(const std::string& key, const std::string& option = "");
  /// Whether the option has no value, or the key is true.
  bool is_on(const std::string& key, const std::string& option = "");
  /// An option without a value is true; an empty value of a file is as good as no key.
  std::optional<bool> boolean(const std::string& key, const std::string& option = "");
  /// Returns the value in lower case, for keys that are true or false or have other values. "true": an option without a
  /// value, as in HfArgumentParser; "": the key is not there, or its value is empty or none.
  std::string switch_value(const std::string& key, const std::string& option = "");

  /// These change the key or value, if a format spells it in its own way.
  /// `first`: the index of the first setting that gets the name.
  void rename(const std::string& key, const std::string& to, std::size_t first = 0);
  void replace(const std::string& key, Json value);
  /// Sets the part of the value that cannot be evaluated; empty: none.
  void set_unknown(const std::string& key, const std::string& unknown);
  void replace_key(const std::string& key, const std::string& to, Json value);
  void replace_prefix(const std::string& prefix, const std::string& to);
  /// "num-layers" becomes "num_layers".
  void replace_hyphens();
  void strip_prefix(const std::string& prefix) { replace_prefix(prefix, ""); }
  /// Marks all settings of that key as overridden, and hides them from readers.
  void set_aside(const std::string& key, const std::string& why);
  /// Ignores DeepSpeed's "auto", which the Trainer fills in. In axolotl, "bf16: auto" is a value.
  void set_aside_auto();
  /// Replaces "${trainer.devices}" by that key's value, and "${NAME:8}" or "${oc.env:NAME,8}" by the variable's value.
  /// Variables that are not in `environment` have their default, 8, and are noted. Other references are unknown.
  void resolve_references(const std::map<std::string, Word>& environment = {});

  /// Sets the use of all settings of that key.
  void mark(const std::string& key, Use use, const std::string& why);
  /// Does so for all settings with that spelling.
  void mark_written(const std::string& written, Use use, const std::string& why);
  /// Marks each unread setting as the tables define, or as unknown if no table has its key.
  void mark_rest(const std::vector<UnreadKeys>& tables);

  const std::deque<LaunchSetting>& all() const { return all_; }
  /// Whether the user must give the option, because a setting cannot be read.
  bool needs_option(const std::string& option) const;
  const std::vector<Unevaluated>& unevaluated() const { return unevaluated_; }
  /// Environment variables that references name, and whose defaults were taken.
  const std::set<std::string>& taken_as_unset() const { return taken_as_unset_; }

 private:
  const LaunchSetting* find(const std::string& key) const;
  /// Returns the value of the reference "${inside}"; none: it is unknown.
  std::optional<Json> value_of_reference(const LaunchSetting& setting, const std::string& inside,
                                         const std::map<std::string, Word>& environment);
  std::deque<LaunchSetting> all_;
  std::set<std::string> taken_as_unset_;
  std::vector<Unevaluated> unevaluated_;
};

/// Throws InputError: "FILE:LINE: KEY VALUE: wrong; allowed".
[[noreturn]] void fail_at(const LaunchSetting& setting, const std::string& wrong, const std::string& allowed);

/// Returns at most the first `most` bytes of a text, on one line; cuts between characters.
std::string beginning_of(const std::string& text, std::size_t most);

/// Writes a value as text without quotes: 8, 1.5, true.
std::string plain_text(const Json& value);

}  // namespace lockstep::sim::launch
