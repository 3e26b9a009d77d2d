// When a control changes, the first worker answers at once, with the split of the previous answer. Then the second
// worker searches the best split and computes everything else.
'use strict';

const opened = performance.now();
const FURTHER_AFTER_MS = 250;
const FIRST_PRESET = 'N-DSV3-001';

let predictor = null, answering = null, later = null;
let options = {}, found = {}, preset = null, current = null;  // current: {options, summary} on display
let turn = 0, furtherTimer = 0, firstAnswerAt = 0;

const byId = id => document.getElementById(id);

// Shows an error next to the answer, and marks the controls whose options it names.
function say(problem) {
  const isNamed = key => problem && new RegExp(OPTIONS.get(key).option + '(?![\\w-])').test(problem);
  const wrong = [...controls.keys()].filter(key => isNamed(key) && controls.get(key).input.value !== '');
  for (const [key, {input}] of controls) input.setAttribute('aria-invalid', wrong.includes(key));
  const links = wrong.map(key => h('button', {type: 'button', class: 'link', click: () => controls.get(key).input.focus()}, labelOf(key)));
  const where = links.length > 0 && [' Controls: ', links.flatMap((link, at) => at ? [', ', link] : [link]), '.'];
  byId('problem').replaceChildren(...(problem ? [h('p', {class: 'problem'}, problem, where)] : []));
  byId('answer').classList.toggle('is-stale', !!problem);
}

const plainModels = new Set();  // models whose jobs have no split to search

function showAnswer(answer, isSearched) {
  const summary = summaryOf(answer.json, options);
  current = {options, summary};
  if (summary.split) found = optionsOfSplit(summary.split.splits[0].parallel, options);
  if (!summary.isSequences && !summary.split) plainModels.add(options.model);
  say('');
  byId('lead').textContent = leadSentence(options, summary) + (isSearched ? '' : ' Searching for the fastest split …');
  showPicture(options, summary, preset);
  showMemory(summary.memory);
  showInputs(summary.assumptions);
  showAssumed(summary.read, summary.assumptions, found);
  showCompare(current);
  byId('answer').dataset.ms = answer.ms.toFixed(1);
  return summary;
}

// Answers with the split found before. If there is none or it does not fit, the predictor searches one. That may take
// seconds, so it runs in the worker that can be stopped.
async function quickAnswer(mine) {
  const isGuess = Object.keys(found).some(key => options[key] === undefined);
  if (isGuess) {
    try {
      return {answer: await askLane(answering, 'job', {...found, ...options}), isGuess};
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
    }
  }
  if (mine === turn && !plainModels.has(options.model)) byId('lead').textContent = 'Searching for the fastest split …';
  return {answer: await askLane(plainModels.has(options.model) ? answering : later, 'job', options), isGuess: false};
}

async function predictNow() {
  const mine = ++turn;
  clearTimeout(furtherTimer);
  later.stop();
  const before = options;
  options = readControls();
  if (before.model !== options.model && !preset) found = {};
  location.replace(hashOf(options, pinned.map(job => job.options)));
  showExport(options);
  try {
    const {answer, isGuess} = await quickAnswer(mine);
    if (mine !== turn) return;
    const summary = showAnswer(answer, !isGuess);
    furtherTimer = setTimeout(() => showFurther(mine, options, summary, isGuess), FURTHER_AFTER_MS);
  } catch (error) {
    if (mine !== turn) return;
    if (!(error instanceof AnswerError)) throw error;
    byId('lead').textContent = 'No prediction for this job:';
    say(error.message);
    showCompare(current);
    for (const id of ['time', 'scaling', 'loss', 'what-ifs', 'splits', 'timeline']) showSection(id);
  }
  byId('answer').dataset.answered = mine;
  firstAnswerAt = firstAnswerAt || performance.now();
}

// Shows everything that takes longer, quickest first; stops as soon as the job changes.
async function showFurther(mine, job, summary, isGuess) {
  const ask = async (question, asked) => {
    const reply = await askLane(later, question, asked);
    if (mine !== turn) await new Promise(() => {});  // the job has changed: never continues
    return reply;
  };
  const showParts = async () => showTime((await ask('result', {...found, ...job})).json.points.at(-1));
  try {
    await showParts();
    if (isGuess) {
      summary = showAnswer(await ask('job', job), true);
      await showParts();
    }
    await fillPinned(ask);
    await showTimeline(ask, job, found);
    await showWhatIfs(ask, job, found, summary);
    await showScaling(ask, job, found, summary);
    await showSplits(ask, job, summary);
    await showLoss(ask, job, summary);
    byId('answers').dataset.done = mine;
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    say(error.message);
  }
}

// ---- what buttons do ----

let isPlanned = false;
function change() {
  preset = null;
  byId('preset').value = '';
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => { isPlanned = false; predictNow(); });
}

function takeJob(job) {
  writeControls(job);
  change();
}

const takeChange = changed => takeJob(withChange(readControls(), changed));

function takeSplit(split) {
  byId('split-controls').open = true;
  takeJob({...withoutSplit(readControls()), ...split});
}

function choosePreset(id) {
  preset = PRESETS.find(one => one.id === id) || null;
  if (!preset) return;
  found = preset.found;
  writeControls(preset.options);
  predictNow();
}

function pinJob() {
  if (!current) return;
  pinned.push({options: current.options, summary: current.summary});
  pinsChanged();
}

function pinsChanged() {
  location.replace(hashOf(options, pinned.map(job => job.options)));
  showCompare(current);
}

// ---- export ----

function copyButton(name, source) {
  const button = h('button', {type: 'button', class: 'plain', click: async () => {
    const text = source();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = h('textarea', {'aria-hidden': 'true'}, text);  // a page opened from a file may lack a clipboard
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = name; }, 1500);
  }}, name);
  return button;
}

async function saveAnswer(question, name) {
  try {
    const {text} = await askLane(answering, question, options);
    saveFile(name, 'application/json', question === 'scenario' ? JSON.stringify(JSON.parse(text), null, 1) + '\n' : text);
  } catch (error) {
    say(error.message);
  }
}

function showExport(job) {
  byId('export').lastElementChild.replaceChildren(
    h('p', {class: 'buttons'}, copyButton('Copy the link', () => location.href),
      h('button', {type: 'button', class: 'plain', click: () => saveAnswer('scenario', 'scenario.json')}, 'Save as scenario'),
      h('button', {type: 'button', class: 'plain', click: () => saveAnswer('job', 'predictions.json')}, 'Save the prediction as JSON')),
    h('h3', {}, 'Command line'), h('pre', {class: 'text', id: 'command', tabindex: '0', role: 'region', 'aria-label': 'Command line'}, commandLine(job)),
    h('p', {class: 'buttons'}, copyButton('Copy the command', () => commandLine(job))),
    h('h3', {}, 'Python'), h('pre', {class: 'text', id: 'python', tabindex: '0', role: 'region', 'aria-label': 'Python'}, pythonText(job)),
    h('p', {class: 'buttons'}, copyButton('Copy the Python', () => pythonText(job))));
}

// ---- beginning ----

function takeHash() {
  const read = readHash(location.hash);
  pinned = read.pinned.map(other => ({options: other}));
  if (Object.keys(read.options).length === 0) {
    byId('preset').value = FIRST_PRESET;
    choosePreset(FIRST_PRESET);
    return;
  }
  writeControls(read.options);
  predictNow();
}

async function begin() {
  showControls(byId('controls'), {change, choosePreset, clearSplit: () => takeJob(withoutSplit(readControls()))});
  try {
    predictor = await unpackPredictor();
  } catch (error) {
    byId('lead').textContent = `This browser cannot run the predictor (${error.message}). ` +
      `It needs WebAssembly with exceptions and DecompressionStream: Chrome 95, Firefox 113, Safari 16.4 or later.`;
    return;
  }
  answering = new Lane(predictor);
  later = new Lane(predictor);
  takeHash();
  const {text} = await answering.loaded;
  if (text) say(text);
  byId('load-time').textContent = `Loaded in ${duration((performance.now() - opened) / 1000)}.`;
  window.addEventListener('hashchange', () => { if (location.hash !== hashOf(options, pinned.map(job => job.options))) takeHash(); });
}

begin();
