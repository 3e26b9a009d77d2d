#include "sim/validation/paper_figure.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/json.hpp"
#include "engine/base/progress_line.hpp"
#include "engine/base/text.hpp"
#include "sim/report/figure.hpp"

namespace lockstep::sim::validation {
namespace {

std::vector<std::string> scenarios_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const JsonDocument document = JsonDocument::load(entry.path().string());
    const Json& json = document.json();
    if (json.is_object() && json.contains("cluster") && json.contains("gpus")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> paper_names(const std::string& published) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(published))
    if (entry.is_directory() && !scenarios_of(entry.path().string()).empty())
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

PaperFigure plot_paper(const std::string& published, const std::string& paper, int jobs) {
  const std::vector<std::string> papers = paper_names(published);
  if (std::find(papers.begin(), papers.end(), paper) == papers.end())
    throw InputError("--plot " + paper + ": no such paper; allowed: " + joined(papers));
  const std::vector<std::string> files = scenarios_of((std::filesystem::path(published) / paper).string());
  PaperFigure figure;
  std::vector<FigurePanel> panels;
  ProgressLine progress("scenarios", files.size());
  for (const std::string& file : files) {
    const Report report = predict(load_scenario(file, {}), jobs, {});
    for (FigurePanel& panel : figure_panels(report.loaded.variants.front().name, report))
      panels.push_back(std::move(panel));
    figure.table += table_text(report) + "\n";
    progress.advance();
  }
  figure.svg = figure_svg(paper, panels);
  return figure;
}

}  // namespace lockstep::sim::validation
