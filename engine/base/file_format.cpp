#include "engine/base/file_format.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/command_name.hpp"

namespace lockstep {
namespace {

struct FileFormat {
  std::string schema;             ///< the beginning of "schema"; empty: a foreign format
  std::vector<std::string> keys;  ///< no other format has all of them; the reader knows each
  std::string what;
  std::string use;  ///< FILE stands for the path
};

std::vector<FileFormat> formats() {
  const std::string simulate = command_of_program("simulate"), plan = command_of_program("plan"),
                    calibrate = command_of_program("calibrate"), train = command_of_program("train"),
                    validate = command_of_program("validate");
  return {
      {"lockstep/scenario/", {"model", "cluster"}, "a scenario", simulate + " FILE"},
      {"lockstep/plan/", {"scenario", "axes"}, "a plan", plan + " FILE"},
      {"lockstep/plan/", {"scenario", "points"}, "a plan", plan + " FILE"},
      {"lockstep/profile/",
       {"device", "samples"},
       "a profile",
       calibrate + " scenario FILE -o SCENARIO.json, then " + simulate + " SCENARIO.json"},
      {"lockstep/cluster/", {"gpu", "gpus_per_node"}, "a cluster file", "a scenario whose key \"cluster\" is \"FILE\""},
      {"lockstep/model/",
       {"input", "layers"},
       "a network",
       simulate + " job --model FILE, " + simulate + " --show-model FILE"},
      {"lockstep/run/", {"backend", "epochs"}, "a record of train", train + " plot FILE -o CURVES.svg"},
      {"lockstep/sweep/", {"groups", "seeds"}, "a sweep", train + " sweep FILE -o FOLDER"},
      {"lockstep/suite/", {"records", "tolerances"}, "a suite of published results", validate + " --suite FOLDER"},
      {"lockstep/loss-law/", {"E", "alpha"}, "a law of the loss", simulate + " loss --loss-law FILE"},
      {"lockstep/convergence/",
       {"targets", "runs"},
       "a convergence profile",
       "a scenario whose key \"convergence\" names it"},
      {"lockstep/availability/", {"intervals"}, "a trace of available nodes", plan + " job ... --availability FILE"},
      {"lockstep/predictions/",
       {"predictions"},
       "the predictions of jobs",
       simulate + " job ... --scenario SCENARIO.json, then " + simulate + " SCENARIO.json"},
      {"lockstep/plan-result/", {"plan", "recommended"}, "the result of a plan", "the plan that it was made from"},
      {"lockstep/result/",
       {"points", "provenance"},
       "the result of a simulation",
       "the scenario that it was made from"},
      {"", {"model_type", "vocab_size"}, "a HuggingFace configuration", simulate + " job --model FILE"},
  };
}

bool is_of(const FileFormat& format, const Json& document) {
  const auto schema = document.find("schema");
  if (schema != document.end() && schema->is_string())
    return !format.schema.empty() && schema->get_ref<const std::string&>().rfind(format.schema, 0) == 0;
  return std::all_of(format.keys.begin(), format.keys.end(),
                     [&](const std::string& key) { return document.contains(key); });
}

bool is_read(const FileFormat& format, const std::vector<std::string>& known) {
  return std::all_of(format.keys.begin(), format.keys.end(),
                     [&](const std::string& key) { return std::find(known.begin(), known.end(), key) != known.end(); });
}

}  // namespace

std::string describe_other_format(const Json& document, const std::string& file,
                                  const std::vector<std::string>& known) {
  if (!document.is_object()) return "";
  for (const FileFormat& format : formats()) {
    if (!is_of(format, document) || is_read(format, known)) continue;
    std::string use = format.use;
    for (std::size_t at = use.find("FILE"); at != std::string::npos; at = use.find("FILE", at + file.size()))
      use.replace(at, 4, file);
    return "this is " + format.what + "; allowed: " + use;
  }
  return "";
}

void refuse_known_format(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return;
  Json document;
  try {
    document = JsonDocument::load(file).json();
  } catch (const InputError&) {
    return;
  }
  const std::string other = describe_other_format(document, file, {});
  if (!other.empty()) throw InputError(file + ": " + other);
}

}  // namespace lockstep
