// The page and the command line give the same prediction for the same job: the exported command is run by build/simulate and
// its JSON compared with the page's. Texts and structure are equal byte for byte; numbers to TOLERANCE, as the C libraries'
// exp() and log() may differ in the last bit.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {answered, build, openPage, source, startBrowser} from './browser.mjs';

const TOLERANCE = 1e-12;
const JOBS = [
  {model: 'resnet50', gpu: 'H100', gpus: '8,64,512', batch: '128', epochs: '90'}, {model: 'resnet50', gpu: 'V100', gpus: '16', batch: '64', network: '100 GbE'},
  {model: 'vgg16', gpu: 'P40', gpus: '32', batch: '32', network: '25 GbE'}, {model: 'bert_large', gpu: 'A100', gpus: '64', batch: '8', network: '8x HDR'},
  {model: 'alexnet_tf', gpu: 'titanx-pascal', gpus: '8', batch: '128', algorithm: 'ring', network: '10 GbE'}, {model: 'vit_b16', gpu: 'H200', gpus: '8', batch: '256'},
  {model: 'llama2_7b', gpu: 'A100', gpus: '64', global_batch: '256', tensor: '2', tokens: '300B', price: '1.5', network: '8x HDR'},
  {model: 'llama3_8b', gpu: 'H100', gpus: '16', global_batch: '64', tokens: '15T', network: '8x NDR'},
  {model: 'llama3_70b', gpu: 'H100', gpus: '256', global_batch: '512', tensor: '8', pipeline: '4', tokens: '1T', network: '8x NDR', sequence_parallel: 'yes'},
  {model: 'llama3_1_405b', gpu: 'H100', gpus: '16384', global_batch: '2048', tensor: '8', pipeline: '16', sharding: 'zero2', tokens: '15.6T', network: '8x 400 GbE RoCE'},
  {model: 'deepseek_v3', gpu: 'h800-sxm', gpus: '2048', global_batch: '15360', pipeline: '16', expert: '64', sharding: 'zero1', software: 'hai-llm', precision: 'fp8', network: '8x NDR'},
  {model: 'mixtral_8x7b', gpu: 'H100', gpus: '64', global_batch: '256', expert: '8', tensor: '1', pipeline: '1', network: '8x NDR'},
  {model: 'llama3_8b', gpu: 'B200', gpus: '8', global_batch: '64', precision: 'fp8', tensor: '1', pipeline: '1'},
  {model: 'gpt3_175b', gpu: 'a100-sxm4', gpus: '1024', global_batch: '1536', tensor: '8', pipeline: '8', micro_batch: '1', tokens: '300B', network: '8x HDR', recompute: 'full'},
  {model: 'llama2_13b', gpu: 'MI300X', gpus: '8', global_batch: '64', sharding: 'zero3', tensor: '1', pipeline: '1'},
  {model: 'opt_13b', gpu: 'A100 40GB', gpus: '16', global_batch: '64', sharding: 'zero3', software: 'deepspeed', network: '4x 100 Gb/s EFA', tensor: '1', pipeline: '1'},
  {model: 'gpt2_xl', gpu: 'L40S', gpus: '8', global_batch: '64', tensor: '1', pipeline: '1'}, {model: 'inception_v3', gpu: 'K80', gpus: '8', batch: '32', network: '10 GbE'},
  {model: 'resnet50', gpu: 'H100', gpus: '64', batch: '128', rate: '2700', network: '400 Gb/s per GPU', no_failures: 'yes'},
  {model: 'llama3_8b@4096', gpu: 'H200', gpus: '32', global_batch: '128', tensor: '2', pipeline: '2', schedule: '1f1b', micro_batch: '2', recompute: 'selective', network: '8x NDR'},
];

let browser, folder, page;
before(async () => {
  browser = await startBrowser();
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-page-'));
  page = await openPage(browser);
});
after(async () => {
  await browser.close();
  fs.rmSync(folder, {recursive: true});
});

// Equal texts, and numbers within the tolerance; returns the number of numbers that differ at all.
function compare(mine, theirs, where) {
  if (typeof mine === 'number' && typeof theirs === 'number') {
    assert.ok(Math.abs(mine - theirs) <= TOLERANCE * Math.max(Math.abs(mine), Math.abs(theirs)), `${where}: ${mine} and ${theirs}`);
    return mine === theirs ? 0 : 1;
  }
  if (mine === null || typeof mine !== 'object') {
    assert.equal(mine, theirs, where);
    return 0;
  }
  assert.deepEqual(Object.keys(mine), Object.keys(theirs), where);
  return Object.keys(mine).reduce((sum, key) => sum + compare(mine[key], theirs[key], where + '/' + key), 0);
}

// The page's own answer to its whole job, a split that is open searched as the command does.
const answerOf = query => page.evaluate(async text => {
  takeJob(optionsOfQuery(text));
  const job = readControls();
  return {answer: (await askLane(answering, 'job', job)).text, command: commandLine(job)};
}, query);

for (const job of JOBS) {
  const query = new URLSearchParams(job).toString();
  test(`${job.model} on ${job.gpus} ${job.gpu}`, async () => {
    const {answer, command} = await answerOf(query);
    await answered(page);
    assert.equal(await page.locator('#command').innerText(), command);
    const out = path.join(folder, 'job.json');
    execFileSync('sh', ['-c', `${build}/${command} --catalogue '${source}/scenarios/catalogue' --json '${out}' >/dev/null`]);
    const text = fs.readFileSync(out, 'utf8');
    if (answer !== text) console.log(`${compare(JSON.parse(answer), JSON.parse(text), '')} numbers differ in their last bits: ${query}`);
  });
}
