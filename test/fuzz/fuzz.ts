/**
 * Generated requests over every row of the REST interface, on a database of its own (bar: 2,000 per row give no 500, no
 * answer later than two seconds, none outside the OpenAPI document). The seed is printed; the same seed makes the same
 * requests. `npm run fuzz -- --runs 2000 --seed 1 --only "POST /lists"`; with `--part 1/2` every second row, for two processes.
 */
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { openRestApp } from '../support/open-rest-app.ts';
import { placesOf } from '../support/play-row.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { fuzzRow, type RowReport } from './fuzz-row.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
  },
});
const WARM_UP_REQUESTS = 50;
const runs = Number(values.runs);
const seed = Number(values.seed ?? Math.trunc(Math.random() * 2 ** 31));
const [part = 1, parts = 1] = values.part.split('/').map(Number);
const places = placesOf(rows)
  .filter(({ method, row }) => `${method} ${row.path}`.includes(values.only))
  .filter((_, index) => index % parts === part - 1);
console.log(`${places.length} rows, ${runs} requests each, seed ${seed}`);

const postgres = await startScratchPostgres();
const receiver = await startSmtpReceiver();
const app = await openRestApp(postgres.url, { OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const reports: RowReport[] = [];
// The first answers of a fresh process are late because it is fresh.
for (let no = 0; no < WARM_UP_REQUESTS; no++) await app.rest('/lists');
const started = performance.now();
try {
  for (const place of places) {
    const report = await fuzzRow(place, { app, smtp: receiver.settings, runs, seed });
    reports.push(report);
    const statuses = [...report.statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    console.log(`${report.name}  ${statuses.join(', ')}; slowest ${Math.round(report.msMax)} ms`);
    for (const fault of [...report.faults.slice(0, 3), ...report.slow.slice(0, 3)]) console.log(`  ${fault}`);
  }
} finally {
  await app.stop();
  await receiver.close();
  await postgres.stop();
}
const total = (count: (report: RowReport) => number) => reports.reduce((sum, report) => sum + count(report), 0);
const [requests, faults, slow] = [
  total((one) => one.requests),
  total((one) => one.faults.length),
  total((one) => one.slow.length),
];
const seconds = (performance.now() - started) / 1_000;
console.log(
  `${requests} requests in ${Math.round(seconds)} s, ${faults} faults, ${slow} later than two seconds; seed ${seed}`,
);
if (faults + slow > 0) process.exitCode = 1;
// Kept connections and pools of libraries must not hold the program.
setImmediate(() => process.exit());
