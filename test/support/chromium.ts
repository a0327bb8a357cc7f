/** The browser of tests: Debian's Chromium. Where there is none, tests that need it are left out. */
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

/** Chromium asks its maker's hosts for this and that unless told otherwise; as root it wants no sandbox. */
const QUIET = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
];

/** Where nothing else runs it takes a second; what starts it waits for half a minute unless told otherwise. */
const START_MS_MAX = 120_000;

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? '', args: QUIET, timeout: START_MS_MAX });
}
