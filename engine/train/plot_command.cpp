#include "engine/train/plot_command.hpp"

#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/train/curves.hpp"

namespace lockstep::train {
namespace {

const std::vector<std::string> kOver{"epochs", "iterations", "images", "seconds"};

Over over_of(const std::string& name) {
  if (name == "iterations") return Over::iterations;
  if (name == "images") return Over::images;
  return name == "seconds" ? Over::seconds : Over::epochs;
}

}  // namespace

CLI::App* declare_plot(CLI::App& app, PlotOptions& o) {
  CLI::App* sub = app.add_subcommand("plot", "Learning curves of records: a picture, rows, TensorBoard's events");
  sub->add_option("records", o.records, "Records of train, folders of train sweep, or their studies (.jsonl)")
      ->required();
  sub->add_option("-o,--output", o.picture,
                  "SVG of test accuracy and training loss; runs that differ in the seed are a median with a band");
  sub->add_option("--over", o.over, "epochs, iterations, images, seconds (epochs)")->check(CLI::IsMember(kOver));
  sub->add_option("--csv", o.rows, "A row per evaluation");
  sub->add_option("--events", o.events, "Folder for TensorBoard, with a folder for each run");
  sub->footer(
      "Example:\n  train plot a.json b.json --over seconds -o curves.svg\n  train plot runs.jsonl -o medians.svg");
  return sub;
}

void run_plot(const PlotOptions& o) {
  if (o.picture.empty() && o.rows.empty() && o.events.empty())
    throw InputError("plot: nothing to write; allowed: -o FILE.svg, --csv FILE, --events FOLDER");
  check_outputs({o.picture, o.rows}, o.records);
  std::vector<RunCurve> runs;
  for (const std::string& path : o.records)
    for (RunCurve& run : read_curves(path)) runs.push_back(std::move(run));
  if (!o.picture.empty()) write_file_atomically(o.picture, curves_svg(runs, over_of(o.over)));
  if (!o.rows.empty()) write_file_atomically(o.rows, curves_csv(runs));
  if (o.events.empty()) return;
  for (const RunCurve& run : runs) {
    const std::filesystem::path folder = std::filesystem::path(o.events) / run.name;
    std::filesystem::create_directories(folder);
    write_file_atomically((folder / "events.out.tfevents.lockstep").string(), curve_events(run));
  }
}

}  // namespace lockstep::train
