"""Lists the stops of a job on its way from the command line to its times, counts its returns, and how often it stops where.

usage: gdb -q -batch -x tests/cli/job_trace.py --args build-debug/simulate job --model resnet50 --gpu H100 --gpus 8,64
(a build of the preset "debug"; ARCHITECTURE.md shows the result)

A stop is a function that receives the job in one of its forms, and either gives it the next form or calls a function that
does. The functions of GIVERS give the next form: a job with its names looked up, the parts of a scenario, the tasks of a
prediction, a program, times. A return is a stop in a module that an earlier stop was in, with other modules between them.
A visit is a call of a stop. A job visits a stop again for another number of GPUs, another split, or another baseline.

The program runs twice: the first run finds the stops, the second one counts their visits. Both run in one process.
"""
import re

import gdb

FORMS = r"\b(JobOptions|JobQuestion|Job|JobDraft|StackModel|QuantityTask|QuantityPrediction|JobPrediction|Workload|Scenario|Program)\b"
GIVERS = {
    "job": ["resolve_names", "join_nodes"],
    "stack": ["compute_of", "cluster_of", "communication_of", "with_all_reduce", "with_schedule", "with_split"],
    "quantity": ["set_baseline", "set_training"],
    "job_prediction": ["(anonymous namespace)::scenario_of", "(anonymous namespace)::prediction_at"],
    "program": ["build_program", "split_job"],
    "replica": ["split_program", "SplitModel::iteration"],
    "replay": ["replay_max_plus", "replay_flows", "replay_shared_rounds", "replay_messages"],
}


def module_of(frame):
    path = frame.find_sal().symtab.filename
    folder = re.search(r"sim/(\w+)/[^/]+$", path)
    return folder.group(1) if folder else "command"


def short_name(name):
    return re.sub(r"^.*::|\[.*$", "", re.sub(r"\(.*$", "", name.replace("(anonymous namespace)::", "")))


def stops_on_stack():
    stack, frame = [], gdb.newest_frame()
    while frame is not None:
        function = frame.function()
        if function is not None and frame.find_sal().symtab is not None and "/sim/" in frame.find_sal().symtab.filename:
            # A lambda only carries on what its function does.
            if "operator()" not in function.name and any(re.search(FORMS, str(p.type)) for p in function.type.fields()):
                stack.append((module_of(frame), short_name(function.name), function.symtab.filename, function.line))
        frame = frame.older()
    return list(reversed(stack))


class Giver(gdb.Breakpoint):
    found = []

    def stop(self):
        for one in stops_on_stack():
            if one not in Giver.found:
                Giver.found.append(one)
        return False


class Visits(gdb.Breakpoint):
    count = 0

    def stop(self):
        self.count += 1
        return False


class InOneProcess(gdb.Breakpoint):
    def stop(self):
        gdb.parse_and_eval("jobs = 0")
        return False


gdb.execute("set pagination off")
gdb.execute("set breakpoint pending off")
in_one_process = InOneProcess("lockstep::sim::job_prediction::predict_job", internal=True)
givers = []
for module, names in GIVERS.items():
    for name in names:
        try:
            givers.append(Giver(f"lockstep::sim::{module}::{name}", internal=True))
        except gdb.error:
            print(f"no function {module}::{name}")
gdb.execute("run")
for giver in givers:
    giver.delete()
counted = [Visits(f"{file}:{line}", internal=True) for _, _, file, line in Giver.found]
gdb.execute("run")
left, returns, last = set(), 0, None
for number, ((module, name, _, _), visits) in enumerate(zip(Giver.found, counted), 1):
    is_return = module != last and module in left
    returns += is_return
    print(f"{number:3} {module:15} {name:25} {visits.count:4} visits{'   (return)' if is_return else ''}")
    if last is not None and module != last:
        left.add(last)
    last = module
print(f"{len(Giver.found)} stops, {returns} returns, {sum(visits.count for visits in counted)} visits")
