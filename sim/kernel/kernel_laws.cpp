#include "sim/kernel/kernel_laws.hpp"

#include <cmath>

namespace lockstep::sim {
inline namespace kernel {
namespace {

constexpr const char* kSchema = "lockstep/kernels/1";
// Returns the standard deviation of log(measured / predicted time) for a law from another GPU. Within a generation it
// was measured (results/kernels, "Carried to another GPU"). For other generations it is assumed.
double deviation_of(Carried carried) {
  switch (carried) {
    case Carried::no:
      return 0;
    case Carried::within_generation:
      return 0.1;
    case Carried::to_other_generation:
      return 0.25;
  }
  return 0;
}

constexpr double kNormalTenth = 1.2816;       // standard deviations from the mean to the 90th percentile
constexpr double kDeviationOutOfRange = 0.1;  // assumed

void check(const KernelLaw& law, const std::string& path) {
  const auto fail = [&](const std::string& problem) {
    throw InputError(path + ": law " + in_quotes(law.name) + ": " + problem +
                     "; fit it again (validate --fit-kernels)");
  };
  if (law.roofline.has_value() == law.message.has_value()) fail("needs either roofline or message terms");
  for (const Correction& correction : law.corrections) {
    for (const CorrectionAxis& axis : correction.axes)
      if (axis.axis < 0 || axis.axis >= static_cast<int>(kMostAxes) || axis.nodes < 1 || axis.step <= 0)
        fail("a correction has an unusable axis");
    if (correction.axes.size() > 4 ||
        correction.permille.size() != static_cast<std::size_t>(node_count(correction.axes)))
      fail("a correction has another number of nodes than its axes");
  }
}

}  // namespace

std::string kernel_law_name(KernelKind kind, const std::string& variant, KernelPrecision precision) {
  return name_of(kind) + (variant.empty() ? "" : "/" + variant) + "/" + name_of(precision);
}

std::string kernel_law_name(KernelKind kind, const std::string& variant) {
  return name_of(kind) + "/" + variant;
}

KernelLawFile read_kernel_laws(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  document.root().keys({"schema", "gpu", "description", "laws"});
  document.root().at("schema").choice({kSchema});
  KernelLawFile file;
  file.gpu = document.root().at("gpu").text();
  file.description = document.root().at("description").text();
  try {
    file.laws = fields_from_json<std::vector<KernelLaw>>(document.json().at("laws"));
  } catch (const Json::exception& e) {
    throw InputError(path + ": /laws: " + one_line(e.what()) + "; fit it again (validate --fit-kernels)");
  }
  for (const KernelLaw& law : file.laws) check(law, path);
  return file;
}

Json to_json(const KernelLawFile& file) {
  return {
      {"schema", kSchema}, {"gpu", file.gpu}, {"description", file.description}, {"laws", fields_to_json(file.laws)}};
}

void KernelLaws::add(std::shared_ptr<const KernelLawFile> file, Carried carried, bool has_same_links) {
  for (const KernelLaw& law : file->laws)
    if (has_same_links || !law.message) laws_.insert({law.name, {&law, file->gpu, carried}});
  files_.push_back(std::move(file));
}

ScaledKernelLaw KernelLaws::find(const std::string& name) const {
  const auto found = laws_.find(name);
  if (found != laws_.end()) return found->second;
  const std::size_t slash = name.rfind('/');
  const std::string precision = slash == std::string::npos ? "" : name.substr(slash + 1);
  if (precision != "fp32" && precision != "tf32") return {};
  const auto half = laws_.find(name.substr(0, slash + 1) + "bf16");
  if (half == laws_.end()) return {};
  ScaledKernelLaw scaled = half->second;
  // A law for other arithmetic has the uncertainty of one from another GPU of the generation.
  if (scaled.carried == Carried::no) scaled.carried = Carried::within_generation;
  return scaled;
}

std::vector<std::string> KernelLaws::names() const {
  std::vector<std::string> names;
  for (const auto& [name, law] : laws_) names.push_back(name);
  return names;
}

KernelTime KernelLaws::time(const ScaledKernelLaw& law, const KernelWork& work) const {
  KernelTime time;
  time.seconds = law.law->seconds(work, peaks_);
  time.is_in_range = law.law->covers(work);
  const double extra = std::hypot(deviation_of(law.carried), time.is_in_range ? 0 : kDeviationOutOfRange);
  const double widening = kNormalTenth * extra;
  const double below = std::hypot(std::log(std::min(1.0, law.law->error.low)), widening);
  const double above = std::hypot(std::log(std::max(1.0, law.law->error.high)), widening);
  time.low_s = time.seconds * std::exp(-below);
  time.high_s = time.seconds * std::exp(above);
  return time;
}

}  // namespace kernel
}  // namespace lockstep::sim
