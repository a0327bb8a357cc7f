/**
 * Exceptions and rejections that nobody catches. Those of a plugin are logged with its name and counted, and the process goes on; any other
 * ends the process, as Node does it.
 */
import { inspect } from 'node:util';
import type { Log } from '../lib/log.ts';
import { safeMessageOf } from './contained-call.ts';
import type { FaultCounts } from './fault-counts.ts';
import { runningPlugin } from './running-plugin.ts';

/** In place of a hook, where faults are counted. */
const LATER = 'later';
const STACK_CHARACTERS_MAX = 2_000;

/** Handles them from now on. */
export function catchFaults(log: Log, faults: FaultCounts): void {
  const handle = (error: unknown, kind: string): void => {
    const plugin = runningPlugin();
    if (plugin === undefined) return endProcess(error, kind);
    faults.add({ plugin, hook: LATER, failed: 1, late: 0 });
    log.error('plugin.not_caught', { plugin, kind, message: safeMessageOf(error), stack: stackOf(error) });
  };
  process.on('uncaughtException', (error) => handle(error, 'exception'));
  process.on('unhandledRejection', (error) => handle(error, 'rejection'));
}

function endProcess(error: unknown, kind: string): never {
  console.error(`Mailwright ends because of an ${kind === 'exception' ? 'exception' : 'unhandled rejection'}:`);
  console.error(error instanceof Error ? (error.stack ?? error.message) : inspect(error));
  process.exit(1);
}

function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error ? String(error.stack).slice(0, STACK_CHARACTERS_MAX) : undefined;
  } catch {
    return undefined;
  }
}
