// node benchmark.mjs OUT.json: the page's size, the time until its first answer, and the time from a changed control to the
// new answer on the screen, for each preset. LOCKSTEP_BUILD names the folder with lockstep.html.
import fs from 'node:fs';
import os from 'node:os';
import zlib from 'node:zlib';
import {answered, openPage, pageFile, startBrowser} from './browser.mjs';

const REPEATS = 7;
const median = values => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const milliseconds = value => Math.round(10 * value) / 10;

const browser = await startBrowser();
const loads = [];
for (let repeat = 0; repeat < 5; ++repeat) {
  const page = await openPage(browser, '');
  loads.push(await page.evaluate(() => firstAnswerAt));
  await page.context().close();
}

// Changes the batch, whose answer is not known yet, and waits until the new one is drawn.
const changeOnce = (page, repeat) => page.evaluate(at => new Promise(resolve => {
  const input = document.getElementById(document.getElementById('control-tokens').value ? 'control-global_batch' : 'control-batch');
  const value = Number(input.value) * (at % 2 ? 1 / 2 : 2), started = performance.now();
  knownAnswers.clear();
  input.value = String(value);
  input.dispatchEvent(new Event('input', {bubbles: true}));
  const wait = () => document.getElementById('answer').dataset.answered === String(turn) ? resolve(performance.now() - started) : requestAnimationFrame(wait);
  requestAnimationFrame(wait);
}), repeat);

const page = await openPage(browser, '');
const presets = await page.locator('#preset option').evaluateAll(list => list.filter(option => option.value).map(option => [option.value, option.textContent]));
const changes = {};
for (const [id, title] of presets) {
  await page.selectOption('#preset', id);
  await answered(page);
  const times = [];
  for (let repeat = 0; repeat < REPEATS; ++repeat) times.push(await changeOnce(page, repeat));
  changes[title] = milliseconds(median(times));
}
await browser.close();

const bytes = fs.readFileSync(pageFile);
const report = {
  processor: os.cpus()[0].model, cores: os.cpus().length, browser: browser.version(), bytes: bytes.length, bytes_gzipped: zlib.gzipSync(bytes).length,
  first_answer_ms: milliseconds(median(loads)), changed_control_ms: {median: milliseconds(median(Object.values(changes))), largest: Math.max(...Object.values(changes)), by_preset: changes},
};
fs.writeFileSync(process.argv[2], JSON.stringify(report, null, 1) + '\n');
console.log(JSON.stringify({...report, changed_control_ms: {...report.changed_control_ms, by_preset: undefined}}, null, 1));
