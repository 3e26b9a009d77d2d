#pragma once
// A sweep is a set of runs of `train`, declared in one file (schema "lockstep/sweep/1"):
//
//   {"schema": "lockstep/sweep/1", "name": "...", "description": "...",
//    "targets": [0.97, 0.99],          test accuracies, rising; a run stops at the last. Left out: all epochs are trained
//    "seeds": [1, 2, 3],
//    "options": {"model": "lenet", "data": "mnist", "epochs": 4, "evaluations_per_epoch": 8, ...},
//    "search": {"factors": [0.5, 1, 2], "seed": 100, "least_iterations": 20, "options": {"train_images": 6000}},
//    "groups": [{"name": "ssgd", "options": {"algorithm": "s-sgd", "learning_rate": 0.01},
//                "over": {"batch": [16, 64, 256]}, "seeds": [1, 2]}]}
//
// `options` are flags of `train` without the dashes ("evaluations_per_epoch" is --evaluations-per-epoch). A group's
// options override the sweep's. A cell is one combination of the values of `over`, in the order of the file, where the
// last key varies fastest. Its name is the group's name and the values: "ssgd-16".
//
// With `search`, each cell first tries several learning rates: its own times each factor. The search's options override
// the cell's. The number of epochs is chosen so that there are at least `least_iterations`. The cell's runs then use
// the rate with the highest last test accuracy; among equal ones, the lowest.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/options.hpp"

namespace lockstep::sweep {

/// The runs' data folder and the number of threads that they may use.
struct Means {
  std::string data_dir;
  int threads = 1;
};

/// One run of `train`.
struct Run {
  std::string name;                    ///< name of the record's file without ".json", in the sweep's folder
  std::vector<std::string> arguments;  ///< flags of `train`, without files
  train::Settings settings;
};

struct Cell {
  std::string name;
  std::string pointer;  ///< of its group, in the file
  Json options;         ///< merged; learning_rate is the centre of the search
  std::vector<std::uint64_t> seeds;
  std::vector<Run> search;            ///< one per rate, ascending; empty without a search
  std::vector<double> rates;          ///< of `search`
  std::optional<double> chosen_rate;  ///< set without a search; else see outcome.hpp
};

struct Sweep {
  std::string path;
  Json document;  ///< as read
  std::map<std::string, std::string> inputs;
  std::string name;
  std::vector<double> targets;  ///< empty: runs train all of their epochs
  std::vector<Cell> cells;
  Means means;
};

/// True for a directory or a .jsonl path, which load_sweep() reads as a sweep's output. Does not check the content.
bool is_sweep_output(const std::string& path);

/// Reads a sweep file, or the sweep stored in a folder or a study. Checks it and every run that may follow from it.
/// Throws InputError.
Sweep load_sweep(const std::string& path, const Means& means);

/// The runs of `cell` with this learning rate (none: the default of `train`), one per seed.
std::vector<Run> runs_of(const Sweep& sweep, const Cell& cell, const std::optional<double>& learning_rate);

}  // namespace lockstep::sweep
