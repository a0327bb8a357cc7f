/**
 * Loaded before the product (`node --import`): counts every step between the claim and the end of a message, which
 * are the statements about the ledger and the bytes to and from the receiver, and kills the process at the step that
 * CRASH_AT names. Without it, it writes their number to the file that CRASH_STEPS names when the process ends.
 */
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import pg from 'pg';

const crashAt = Number(process.env['CRASH_AT'] ?? 0);
const sinkPort = Number(process.env['CRASH_SINK_PORT']);
const stepsFile = process.env['CRASH_STEPS'];
const LEDGER_STATEMENT = /hot\.(delivery|record_and_mark|lease_sends|send_slice)|^COMMIT/;
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === crashAt) process.kill(process.pid, 'SIGKILL');
}

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/** Puts a function around a method of a library's class. */
function wrap(prototype: object, name: string, around: (original: AnyFunction) => AnyFunction): void {
  const original: unknown = Reflect.get(prototype, name);
  if (typeof original !== 'function') throw new Error(`There is no method ${name} to wrap.`);
  Reflect.set(
    prototype,
    name,
    around(function call(...args) {
      return Reflect.apply(original, this, args);
    }),
  );
}

wrap(pg.Client.prototype, 'query', (original) => {
  return function query(...args) {
    const [first] = args;
    const text = typeof first === 'object' && first !== null && 'text' in first ? first.text : first;
    if (typeof text !== 'string' || !LEDGER_STATEMENT.test(text)) return original.apply(this, args);
    step();
    const last = args.at(-1);
    if (typeof last === 'function') {
      args[args.length - 1] = function answered(...answer: unknown[]) {
        step();
        return Reflect.apply(last, this, answer);
      };
      return original.apply(this, args);
    }
    const result = original.apply(this, args);
    if (result instanceof Promise) result.then(step, step);
    return result;
  };
});

function isToSink(socket: unknown): boolean {
  return socket instanceof net.Socket && socket.remotePort === sinkPort;
}

wrap(net.Socket.prototype, 'write', (original) => {
  return function write(...args) {
    if (!isToSink(this)) return original.apply(this, args);
    step();
    const result = original.apply(this, args);
    step();
    return result;
  };
});

wrap(net.Socket.prototype, 'emit', (original) => {
  return function emit(...args) {
    if (args[0] === 'data' && isToSink(this)) step();
    return original.apply(this, args);
  };
});

if (stepsFile !== undefined) process.on('exit', () => writeFileSync(stepsFile, String(steps)));
