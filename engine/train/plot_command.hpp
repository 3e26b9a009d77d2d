#pragma once
// `train plot RUN.json...`: learning curves of records.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lockstep::train {

struct PlotOptions {
  std::vector<std::string> records;
  std::string over = "epochs";
  std::string picture;  ///< SVG
  std::string rows;     ///< CSV
  std::string events;   ///< folder, for TensorBoard
};

/// `app` must not outlive `options`.
CLI::App* declare_plot(CLI::App& app, PlotOptions& options);
/// Throws InputError if no output is given or a record cannot be read.
void run_plot(const PlotOptions& options);

}  // namespace lockstep::train
