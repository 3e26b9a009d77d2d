// The page and the command line give the same bytes for the same job: build/simulate runs the exported command, and its
// JSON is compared with the page's. LOCKSTEP_RANDOM_CASES and LOCKSTEP_RANDOM_SEED set number and seed of the random jobs.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {answered, build, openPage, source, startBrowser} from './browser.mjs';

const CASES = Number(process.env.LOCKSTEP_RANDOM_CASES ?? 200), SEED = Number(process.env.LOCKSTEP_RANDOM_SEED ?? 20261130);
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

// The page's own answer to its whole job, a split that is open searched as the command does.
const answerOf = query => page.evaluate(async text => {
  takeJob(optionsOfQuery(text));
  const job = readControls();
  return {answer: (await askLane(answering, 'job', job)).text, command: commandLine(job)};
}, query);

// The JSON of the command, or its error.
function ofCommand(command) {
  const out = path.join(folder, 'job.json');
  try {
    execFileSync('sh', ['-c', `${build}/${command} --catalogue '${source}/scenarios/catalogue' --json '${out}' >/dev/null`], {stdio: 'pipe'});
  } catch (error) {
    assert.equal(error.status, 2, command);
    return {error: error.stderr.toString().trim()};
  }
  return {text: fs.readFileSync(out, 'utf8')};
}

for (const job of JOBS) {
  const query = new URLSearchParams(job).toString();
  test(`${job.model} on ${job.gpus} ${job.gpu}`, async () => {
    const {answer, command} = await answerOf(query);
    await answered(page);
    assert.equal(await page.locator('#command').innerText(), command);
    assert.equal(answer, ofCommand(command).text);
  });
}

// Mulberry32 (Tommy Ettinger, 2017): uniform in [0, 1).
function uniformNumbers(seed) {
  return () => {
    seed = seed + 0x6D2B79F5 | 0;
    let mixed = Math.imul(seed ^ seed >>> 15, 1 | seed);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) / 4294967296;
  };
}

function randomJob(uniform) {
  const one = values => values[Math.floor(uniform() * values.length)];
  const job = {gpu: one(['H100', 'A100', 'B200', 'V100', 'MI300X', 'L40S', 'GB200', 'P100'])};
  if (uniform() < 0.5) {
    Object.assign(job, {model: one(['resnet50', 'vgg16', 'vit_b16', 'alexnet_tf', 'inception_v3']), gpus: one(['1', '8', '64', '8,512']), batch: one(['16', '64', '128'])});
    if (uniform() < 0.4) job.epochs = '90';
  } else {
    Object.assign(job, {model: one(['gpt2_xl', 'llama3_8b', 'bert_large', 'mixtral_8x7b', 'qwen3_30b_a3b']), gpus: one(['8', '16', '64', '256']), global_batch: one(['256', '512', '1024'])});
    if (uniform() < 0.5) Object.assign(job, {tensor: one(['1', '2', '4']), micro_batch: one(['1', '2'])});
    if (uniform() < 0.3) job.sharding = one(['none', 'zero1', 'zero3']);
    if (uniform() < 0.4) Object.assign(job, {tokens: '300B', price: '2.5'});
  }
  if (uniform() < 0.4) job.network = one(['8x 400 Gb/s InfiniBand', '100 GbE', '4x 200 Gb/s', '8x HDR']);
  return job;
}

test(`${CASES} random jobs of seed ${SEED}`, async () => {
  const uniform = uniformNumbers(SEED);
  const jobs = Array.from({length: CASES}, () => randomJob(uniform));
  let predicted = 0;
  for (const job of jobs) {
    const {command, text, error} = await page.evaluate(async options => {
      const asked = {command: commandLine(options)};
      try {
        return {...asked, text: (await askLane(answering, 'job', options)).text};
      } catch (failed) {
        return {...asked, error: failed.message};
      }
    }, job);
    const expected = ofCommand(command);
    assert.equal(error, expected.error, command);
    assert.equal(text, expected.text, command);
    predicted += text ? 1 : 0;
  }
  assert.ok(predicted > CASES / 2, `${predicted} of ${CASES} were predicted`);
});
