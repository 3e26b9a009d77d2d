// node assemble.mjs ROOT BUILD OUT.html: writes a single file that needs nothing else. It contains the page's parts,
// the predictor that Emscripten built in BUILD, the catalogue and the presets.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import zlib from 'node:zlib';
import {presetsOf} from './presets.mjs';

const [root, build, out] = process.argv.slice(2).map(name => path.resolve(name));
const CATALOGUE = 'scenarios/catalogue';
const here = path.join(root, 'sim/page'), report = path.join(root, 'sim/report/html');
const read = (...parts) => fs.readFileSync(path.join(...parts), 'utf8');

function filesBelow(folder) {
  return fs.readdirSync(folder, {withFileTypes: true}).flatMap(
    entry => entry.isDirectory() ? filesBelow(path.join(folder, entry.name)) : [path.join(folder, entry.name)]);
}

// {"/scenarios/catalogue/gpus.json": text, ...}, without blanks between values.
function catalogueFiles() {
  return Object.fromEntries(filesBelow(path.join(root, CATALOGUE)).filter(name => name.endsWith('.json')).sort().map(
    name => ['/' + path.relative(root, name), read(name)]));
}

async function loadCore(files) {
  const createCore = createRequire(import.meta.url)(path.join(build, 'core.js'));
  const core = await createCore({wasmBinary: fs.readFileSync(path.join(build, 'core.wasm'))});
  for (const [name, text] of Object.entries(files)) {
    core.FS.mkdirTree(path.dirname(name));
    core.FS.writeFile(name, text);
  }
  const wrong = core.ccall('load_catalogue', 'string', [], []);
  if (wrong) throw new Error(wrong);
  return (question, options) => {
    const text = core.ccall('answer_question', 'string', ['string', 'string'], [question, JSON.stringify(options)]);
    if (text.startsWith('!')) throw new Error(text.slice(1));
    return JSON.parse(text);
  };
}

function script(name, ...parts) {
  const text = parts.join('\n');
  if (/<\/script|<!--/i.test(text)) throw new Error(name + ' cannot stand inside an HTML page');
  return text;
}

const packed = bytes => zlib.gzipSync(bytes, {level: 9}).toString('base64');

const files = catalogueFiles();
const ask = await loadCore(files);
const presets = presetsOf(root, ask);
const SCRIPTS = ['split_options.mjs', 'predictor.js', 'controls.js', 'job_text.js', 'picture.js', 'answer.js', 'further.js', 'loss.js', 'compare.js', 'main.js'];
const parts = {
  style: read(report, 'page.css') + read(here, 'page.css'),
  core_script: script('core.js', read(build, 'core.js'), read(here, 'worker.js')),
  core_wasm: packed(fs.readFileSync(path.join(build, 'core.wasm'))),
  core_files: packed(JSON.stringify(files)),
  options: JSON.stringify(ask('options', {})).replaceAll('<', '\\u003c'),
  names: JSON.stringify(ask('names', {})).replaceAll('<', '\\u003c'),
  presets: JSON.stringify(presets).replaceAll('<', '\\u003c'),
  script: script('the page', read(report, 'format.js'), read(report, 'dom.js'), ...SCRIPTS.map(name => read(here, name).replaceAll(/^export /gm, ''))),
};
const page = read(here, 'page.html').replace(/\{\{(\w+)\}\}/g, (all, name) => {
  if (!(name in parts)) throw new Error('page.html names a part that is none: ' + name);
  return parts[name];
});
fs.writeFileSync(out + '.part', page);
fs.renameSync(out + '.part', out);
console.log(`${out}: ${(page.length / 1e6).toFixed(2)} MB, ${presets.length} presets`);
