/** Starts the receiver of `sink-program.ts` and asks it what it got. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { cpuSecondsOf } from './product.ts';

/** What the receiver offers: BDAT and pipelining, pipelining only, or none of both. */
export type SinkMode = 'chunking' | 'pipelining' | 'neither';

export interface SinkReport {
  readonly messages: number;
  /** Different people who got something, and those who got more than one copy. */
  readonly people: number;
  readonly doubled: number;
  /** Those that begin with a signature; counted where they come in chunks. */
  readonly signed: number;
  /** Messages to the provider. */
  readonly atProvider: number;
  /** When the first message was taken, in milliseconds since 1970. */
  readonly firstAt: number | null;
}

/** When each copy to a person came: the number of `person<number>@`, and milliseconds since 1970. */
export type Arrivals = readonly (readonly [person: number, at: number])[];

export interface BenchSink {
  readonly port: number;
  /** What came since the last reset; `reset` begins anew after it. */
  report(then?: 'reset' | 'provider is full' | 'provider has room'): Promise<SinkReport>;
  /** Copies to people from `timedFrom` on since the last call. */
  arrivals(): Promise<Arrivals>;
  cpuSeconds(): number;
  close(): void;
}

/** Starts one on a free port of 127.0.0.1. It notes the time of each copy to people with this number or a larger one. */
export async function startBenchSink(mode: SinkMode, delayMs: number, timedFrom?: number): Promise<BenchSink> {
  const program = path.join(import.meta.dirname, 'sink-program.ts');
  const timed = timedFrom === undefined ? [] : ['--timed-from', String(timedFrom)];
  const child = fork(program, ['--mode', mode, '--delay', String(delayMs), ...timed], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [{ port }] = await once(child, 'message');
  return {
    port,
    async report(then) {
      child.send(then ?? 'report');
      const [report] = await once(child, 'message');
      return report;
    },
    async arrivals() {
      child.send('arrivals');
      const [arrivals] = await once(child, 'message');
      return arrivals;
    },
    cpuSeconds: () => cpuSecondsOf(child.pid ?? 0),
    close: () => void child.kill(),
  };
}
