#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "engine/base/statistics.hpp"
#include "engine/base/study.hpp"
#include "engine/train/curves.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

constexpr const char *kSearch = "search", *kSeed = "seed-";

// Names the run "ssgd-16/seed-1" and its cell "ssgd-16" if the file is FOLDER/ssgd-16/seed-1.json.
RunCurve named_in(RunCurve run, const fs::path& folder, const fs::path& file) {
  const fs::path name = file.lexically_normal().lexically_relative(folder.lexically_normal()).replace_extension();
  run.name = name.string();
  if (name.filename().string().rfind(kSeed, 0) == 0)
    run.cell = name.has_parent_path() ? name.parent_path().string() : fs::absolute(folder).filename().string();
  return run;
}

bool is_of_search(const RunCurve& run) {
  return run.name.rfind(std::string(kSearch) + "/", 0) == 0;
}

std::vector<RunCurve> curves_of_study(const std::string& path) {
  std::vector<RunCurve> runs;
  for (const StudyLine& line : load_study(path))
    if (line.document.root().at("schema").text() == kRunSchema)
      runs.push_back(named_in(read_curve(line.document, line.file), fs::path(path).replace_extension(), line.file));
  return runs;
}

std::vector<RunCurve> curves_of_folder(const std::string& path) {
  std::vector<RunCurve> runs;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".json") continue;
    const JsonDocument document = JsonDocument::load(entry.path().string());
    const auto schema = document.root().find("schema");
    if (!schema || schema->json() != Json(kRunSchema)) continue;
    runs.push_back(named_in(read_curve(document, entry.path().string()), path, entry.path()));
  }
  return runs;
}

// Groups the runs' points by number of iterations.
std::map<double, std::vector<CurvePoint>> by_iterations(const std::vector<const RunCurve*>& runs) {
  std::map<double, std::vector<CurvePoint>> points;
  for (const RunCurve* run : runs)
    for (const CurvePoint& point : run->points) points[point.iterations].push_back(point);
  return points;
}

std::vector<double> known_values(const std::vector<CurvePoint>& points, double CurvePoint::*member) {
  std::vector<double> values;
  for (const CurvePoint& point : points)
    if (std::isfinite(point.*member)) values.push_back(point.*member);
  return values;
}

SeedBand band_of(const std::vector<const RunCurve*>& runs) {
  SeedBand band{*runs.front(), {}, {}};
  if (runs.size() == 1) return band;
  band.median.name = runs.front()->cell + ", median of " + std::to_string(runs.size()) + " seeds";
  band.median.points.clear();
  for (const auto& [iterations, points] : by_iterations(runs)) {
    if (2 * points.size() < runs.size()) continue;
    CurvePoint middle = points.front();
    for (double CurvePoint::*member : {&CurvePoint::epoch, &CurvePoint::images, &CurvePoint::train_s,
                                       &CurvePoint::test_accuracy, &CurvePoint::train_loss, &CurvePoint::learning_rate})
      if (const std::vector<double> values = known_values(points, member); !values.empty())
        middle.*member = median(values);
    CurvePoint low = middle, high = middle;
    for (double CurvePoint::*member : {&CurvePoint::test_accuracy, &CurvePoint::train_loss})
      if (const std::vector<double> values = known_values(points, member); !values.empty()) {
        low.*member = *std::min_element(values.begin(), values.end());
        high.*member = *std::max_element(values.begin(), values.end());
      }
    band.median.points.push_back(middle);
    band.low.push_back(low);
    band.high.push_back(high);
  }
  return band;
}

}  // namespace

std::vector<RunCurve> read_curves(const std::string& path) {
  std::vector<RunCurve> runs;
  if (fs::is_directory(path))
    runs = curves_of_folder(path);
  else if (fs::path(path).extension() == ".jsonl")
    runs = curves_of_study(path);
  else
    return {read_curve(path)};
  runs.erase(std::remove_if(runs.begin(), runs.end(), is_of_search), runs.end());
  std::sort(runs.begin(), runs.end(), [](const RunCurve& a, const RunCurve& b) { return a.name < b.name; });
  if (runs.empty())
    throw InputError(path + ": no record of a run; allowed: what train -o, or train sweep -o FOLDER [--collect] wrote");
  return runs;
}

std::vector<SeedBand> make_seed_bands(const std::vector<RunCurve>& runs) {
  std::vector<SeedBand> bands;
  std::vector<std::string> seen;
  for (const RunCurve& run : runs) {
    if (!run.cell.empty() && std::find(seen.begin(), seen.end(), run.cell) != seen.end()) continue;
    std::vector<const RunCurve*> of_cell{&run};
    for (const RunCurve& other : runs)
      if (&other != &run && !run.cell.empty() && other.cell == run.cell) of_cell.push_back(&other);
    bands.push_back(band_of(of_cell));
    seen.push_back(run.cell);
  }
  return bands;
}

}  // namespace lockstep::train
