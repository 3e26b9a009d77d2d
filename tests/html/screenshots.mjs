// Pictures of a page's top: node screenshots.mjs BUILD PAGE.html OUT [PART] gives OUT-desktop.png, OUT-dark.png,
// OUT-phone.png and OUT-print.png; with a part's CSS selector the picture is of it alone.
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [build, pageFile, out, part] = process.argv.slice(2);
const {chromium} = createRequire(path.resolve(build, 'html-test', 'x.js'))('playwright-core');
const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium'});
for (const [name, width, height, colorScheme, media] of [['desktop', 1280, 2160, 'light'], ['dark', 1280, 2160, 'dark'], ['phone', 390, 1700, 'light'],
                                                         ['print', 794, 2246, 'light', 'print']]) {
  const page = await browser.newPage({viewport: {width, height}, colorScheme});
  await page.goto(pathToFileURL(path.resolve(pageFile)).href);
  await page.waitForFunction(() => [...document.querySelectorAll('canvas')].every(canvas => Chart.getChart(canvas)));
  if (media) {
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({media});
  }
  const place = part ? page.locator(part) : page;
  await place.screenshot({path: `${out}-${name}.png`});
}
await browser.close();
