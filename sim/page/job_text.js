// Writes the job as a link, a command line and Python.
'use strict';

const queryOf = options => new URLSearchParams(Object.entries(options).map(([key, value]) => [key, textOf(value)])).toString();

function optionsOfQuery(query) {
  const options = {};
  for (const [name, text] of new URLSearchParams(query)) {
    const key = name === 'sequence' && ['yes', 'no'].includes(text) ? 'sequence_parallel' : name;  // the switch's earlier name
    if (OPTIONS.has(key) && text !== '') options[key] = valueOf(OPTIONS.get(key), text);
  }
  return options;
}

// #model=...&gpus=...&compare=...: the job, and the jobs to compare it with.
function hashOf(options, pinned) {
  const query = new URLSearchParams(queryOf(options));
  for (const other of pinned) query.append('compare', queryOf(other));
  return '#' + query.toString();
}

function readHash(hash) {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const pinned = query.getAll('compare').map(optionsOfQuery);
  query.delete('compare');
  return {options: optionsOfQuery(query.toString()), pinned};
}

const shellWord = text => /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";

function commandLine(options) {
  const words = ['simulate', 'job'];
  for (const [key, value] of Object.entries(options)) {
    const name = OPTIONS.get(key).option;
    if (value === true) words.push(name);
    else if (value === false) { if (OPTIONS.get(key).negation || ['sequence_parallel', 'offload_optimizer', 'expert_overlap'].includes(key)) words.push(name.replace('--', '--no-')); }
    else words.push(name, shellWord(textOf(value)));
  }
  return words.join(' ');
}

function pythonText(options) {
  const value = item => item === true ? 'True' : item === false ? 'False' : JSON.stringify(item);
  const given = Object.entries(options).map(([key, item]) => `${key}=${value(Array.isArray(item) && item.length === 1 ? item[0] : item)}`);
  return `import lockstep\n\nprediction = lockstep.predict(${given.join(', ')})\nprint(prediction)`;
}

// "Llama 3 70B on 1,024 H100 SXM5"
function jobTitle(options, read) {
  const model = read ? read.model.title.replace(/, \d+ tokens$/, '') : options.model, gpu = read ? read.gpu.name : options.gpu;
  const gpus = options.gpus && options.gpus.length ? Math.max(...options.gpus) : '?';
  return `${model} on ${typeof gpus === 'number' ? format.count(gpus) : gpus} ${gpu}`;
}
