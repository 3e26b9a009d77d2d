#pragma once
// Takes options by their keys, as Python's arguments or a JSON object, in place of a command line.
//
//   {"model": "llama3_70b", "gpus": [64, 128], "sequence_parallel": false}
//      ->  --model=llama3_70b --gpus=64,128 --no-sequence-parallel
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/api/option_text.hpp"

namespace lockstep::sim::api {

/// Converts these options to the words of a command line. Null options are skipped. An object becomes its JSON text.
/// Throws InputError for a key that `texts` does not have, and lists the nearest ones. Also throws it for a boolean
/// where a value is needed, and for a list where one value is allowed.
std::vector<std::string> command_words(const Json& options, const OptionTexts& texts);

/// Makes these words from "kernel", the kind, and its options: {"kernel": "gemm", "m": 8192} becomes gemm --m=8192.
std::vector<std::string> kernel_words(const Json& options);

/// Parses the words with `app`. Throws InputError with the message of a command line.
void parse_words(CLI::App& app, std::vector<std::string> words);

/// Parses the options with `app` like a command line. Throws InputError with its message.
void parse_options(CLI::App& app, const Json& options, const OptionTexts& texts);

}  // namespace lockstep::sim::api
