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

export interface BenchSink {
  readonly port: number;
  /** What came since the last reset; `reset` begins anew after it. */
  report(then?: 'reset' | 'provider is full' | 'provider has room'): Promise<SinkReport>;
  cpuSeconds(): number;
  close(): void;
}

/** Starts one on a free port of 127.0.0.1. */
export async function startBenchSink(mode: SinkMode, delayMs: number): Promise<BenchSink> {
  const program = path.join(import.meta.dirname, 'sink-program.ts');
  const child = fork(program, ['--mode', mode, '--delay', String(delayMs)], {
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
    cpuSeconds: () => cpuSecondsOf(child.pid ?? 0),
    close: () => void child.kill(),
  };
}
