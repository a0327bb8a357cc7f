/**
 * Loaded into a process before the product (`--import`): its clock is wrong by one of the seconds that stand in the file
 * `SHIFTED_CLOCK`, another one in each process, and jumps when the file changes. Timers run on, as on a machine whose
 * clock is set by hand.
 */
import { readFileSync } from 'node:fs';

const POLL_MS = 100;
const file = process.env['SHIFTED_CLOCK'];
const TrueDate = Date;
let offsetMs = 0;

function look(): void {
  const offsets = readFileSync(file ?? '', 'utf8')
    .split(',')
    .map(Number);
  offsetMs = (offsets[process.pid % offsets.length] ?? 0) * 1_000;
}

if (file !== undefined) {
  look();
  setInterval(look, POLL_MS).unref();
  globalThis.Date = new Proxy(TrueDate, {
    construct(target, args: [], newTarget) {
      return Reflect.construct(target, args.length === 0 ? [TrueDate.now() + offsetMs] : args, newTarget);
    },
    get: (target, name, receiver) =>
      name === 'now' ? () => TrueDate.now() + offsetMs : Reflect.get(target, name, receiver),
  });
}
