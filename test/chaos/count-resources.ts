/** Loaded into a process before the product (`--import`): writes how many timers and handles it has to `RESOURCES`, again and again. */
import { renameSync, writeFileSync } from 'node:fs';

const INTERVAL_MS = 5_000;
const file = process.env['RESOURCES'];

/** Further threads load this module, too; what is counted is the process's main thread. */
if (file !== undefined && process.env['RESOURCES_PID'] === undefined) {
  process.env['RESOURCES_PID'] = String(process.pid);
  setInterval(() => {
    const resources = process.getActiveResourcesInfo();
    const timers = resources.filter((name) => name === 'Timeout').length;
    writeFileSync(`${file}.new`, JSON.stringify({ timers, others: resources.length - timers }));
    renameSync(`${file}.new`, file);
  }, INTERVAL_MS).unref();
}
