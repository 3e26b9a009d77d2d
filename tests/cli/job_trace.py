"""Lists the stops of a job on its way from the command line to the replay, and counts its returns.

usage: gdb -q -batch -x tests/cli/job_trace.py --args build-debug/simulate job --model resnet50 --gpu H100 --gpus 8,64
(a build of the preset "debug"; ARCHITECTURE.md shows the result)

A stop is a function that receives the job in one of its forms, and either gives it the next form or calls a function that
does. The functions of GIVERS give the next form: a job with its names looked up, the parts of a scenario, the tasks of a
prediction, a program, times. A return is a stop in a module that an earlier stop was in, with other modules between them.
"""
import re

import gdb

FORMS = r"\b(JobOptions|JobQuestion|Job|StackModel|Tasks|QuantityTask|QuantityPrediction|JobPrediction|Workload|Scenario|Program)\b"
GIVERS = {
    "job": ["resolve_names", "join_nodes"],
    "stack": ["compute_of", "cluster_of", "communication_of", "with_all_reduce", "with_schedule", "with_split"],
    "quantity": ["set_baseline", "set_training"],
    "job_prediction": ["(anonymous namespace)::scenario_of", "(anonymous namespace)::prediction_at"],
    "program": ["build_program"],
    "replay": ["replay_max_plus", "replay_flows", "replay_shared_rounds", "replay_messages"],
}


def module_of(frame):
    path = frame.find_sal().symtab.filename
    folder = re.search(r"sim/(\w+)/[^/]+$", path)
    return folder.group(1) if folder else "command"


def stops_on_stack():
    stack, frame = [], gdb.newest_frame()
    while frame is not None:
        function = frame.function()
        if function is not None and frame.find_sal().symtab is not None and "/sim/" in frame.find_sal().symtab.filename:
            name = function.name
            # A lambda only carries on what its function does.
            if "operator()" not in name and any(re.search(FORMS, str(p.type)) for p in function.type.fields()):
                stack.append((module_of(frame), re.sub(r"\(anonymous namespace\)::", "", name.split("(const ")[0])))
        frame = frame.older()
    return [(module, re.sub(r"^.*::", "", re.sub(r"\(.*$", "", name))) for module, name in reversed(stack)]


class Giver(gdb.Breakpoint):
    found = []

    def stop(self):
        for one in stops_on_stack():
            if one not in Giver.found:
                Giver.found.append(one)
        return False


gdb.execute("set pagination off")
gdb.execute("set follow-fork-mode child")  # the pool's processes replay
gdb.execute("set breakpoint pending off")
for module, names in GIVERS.items():
    for name in names:
        try:
            Giver(f"lockstep::sim::{module}::{name}", internal=True)
        except gdb.error:
            print(f"no function {module}::{name}")
gdb.execute("run")
left, returns, last = set(), 0, None
for number, (module, name) in enumerate(Giver.found, 1):
    is_return = module != last and module in left
    returns += is_return
    print(f"{number:3} {module:15} {name}{'   (return)' if is_return else ''}")
    if last is not None and module != last:
        left.add(last)
    last = module
print(f"{len(Giver.found)} stops, {returns} returns")
