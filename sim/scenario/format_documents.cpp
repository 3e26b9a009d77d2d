#include "sim/scenario/format_documents.hpp"

#include "sim/scenario/cluster_faults.hpp"
#include "sim/scenario/cluster_read.hpp"
#include "sim/scenario/cluster_sharing.hpp"
#include "sim/scenario/communication_format.hpp"
#include "sim/scenario/compute_format.hpp"
#include "sim/scenario/convergence_read.hpp"
#include "sim/scenario/published_format.hpp"
#include "sim/scenario/scenario_format.hpp"

namespace lockstep::sim::scenario {
namespace {

Json schema_file(const Json& object, const std::string& name, const std::string& description) {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$id", "lockstep/" + name + "/1"},
              {"description", description}};
  schema.update(object);
  return schema;
}

template <class T>
std::string table_of(const ObjectFormat<T>& format, const std::string& key) {
  for (const FieldText* field : format.texts())
    if (field->key == key && field->inner) return format_text::table(field->inner(), key + "/", true);
  throw std::logic_error("no object " + key);
}

// Writes a table for every kind, preceded by its name.
template <class E>
std::string tables_of_kinds(std::string (*table)(E)) {
  std::string text;
  for (const Choice<E>& kind : choices_of(E()))
    text += (text.empty() ? "`" : "\n`") + kind.name + "`:\n\n" + table(kind.value);
  return text;
}

}  // namespace

std::map<std::string, Json> format_schemas() {
  return {{"scenario", schema_file(scenario_format().schema(), "scenario",
                                   "A scenario of Lockstep; a cluster, a model "
                                   "and profiles may be files that it names.")},
          {"cluster", schema_file(cluster_format().schema(), "cluster", "A cluster of Lockstep.")}};
}

std::map<std::string, std::string> format_tables() {
  const ObjectFormat<Scenario>& scenario = scenario_format();
  std::map<std::string, std::string> tables = exchange_tables();
  tables.insert({{"scenario", scenario.table("", false)},
                 {"compute", compute_format().table()},
                 {"input", input_format().table()},
                 {"communication", communication_format().table()},
                 {"nccl", nccl_format().table()},
                 {"learners", learners_format().table()},
                 {"parallel", parallel_format().table()},
                 {"workers", workers_format().table()},
                 {"delay", tables_of_kinds<DelaySpec::Kind>(delay_table)},
                 {"parameter_server", parameter_server_format().table()},
                 {"convergence", convergence_format().table()},
                 {"uncertainty", table_of(scenario, "uncertainty")},
                 {"published", published_format().table()},
                 {"jobs", job_table()},
                 {"background", background_format().table()},
                 {"faults", cluster_read::fault_format().table()},
                 {"cluster", cluster_format().table("", false)},
                 {"gpu", table_of(cluster_format(), "gpu")},
                 {"host", table_of(cluster_format(), "host")},
                 {"intra_node", tables_of_kinds<IntraNodeKind>(cluster_read::intra_node_table)},
                 {"nic", cluster_read::nic_table()},
                 {"fabric", tables_of_kinds<FabricKind>(cluster_read::fabric_table)}});
  return tables;
}

std::string with_tables(const std::string& document) {
  const std::string begin = "<!-- fields: ", end = "<!-- end -->";
  const std::map<std::string, std::string> tables = format_tables();
  std::string text;
  std::size_t from = 0;
  for (std::size_t at = document.find(begin); at != std::string::npos; at = document.find(begin, from)) {
    const std::size_t line_end = document.find("\n", at), last = document.find(end, at);
    if (line_end == std::string::npos || last == std::string::npos) throw std::runtime_error("a mark without an end");
    const std::string name = document.substr(at + begin.size(), document.find(" -->", at) - at - begin.size());
    const auto table = tables.find(name);
    if (table == tables.end()) throw std::runtime_error("no table of " + name);
    text += document.substr(from, line_end + 1 - from) + "\n" + table->second + "\n";
    from = last;
  }
  return text + document.substr(from);
}

}  // namespace lockstep::sim::scenario
