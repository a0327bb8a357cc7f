/** A short run of the generated requests over every row; `npm run fuzz -- --runs 2000` makes a long one. */
import { afterAll, expect, test } from 'vitest';
import { rows } from '../../src/rest-facade/rows.ts';
import { placesOf } from '../support/play-row.ts';
import { startRestApp } from '../support/rest-app.ts';
import { SEED } from '../support/property.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { fuzzRow } from './fuzz-row.ts';

const RUNS = 15;
const receiver = await startSmtpReceiver();
afterAll(() => receiver.close());
const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });

test.each(placesOf(rows).map((place) => ({ name: `${place.method} ${place.row.path}`, place })))(
  '$name answers within the contract whatever is sent',
  { timeout: 120_000 },
  async ({ place }) => {
    const { faults, requests } = await fuzzRow(place, { app, smtp: receiver.settings, runs: RUNS, seed: SEED });
    expect(faults).toEqual([]);
    expect(requests).toBe(RUNS);
  },
);
