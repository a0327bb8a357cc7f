/** Processor time of a program with all the processes that it started. */
import { readdirSync, readFileSync } from 'node:fs';
import { cpuSecondsOf } from './product.ts';

/** Seconds used so far by the process, its descendants, and those of them that have ended. */
export function cpuSecondsOfTree(pid: number): number {
  return ownSeconds(pid) + childrenOf(pid).reduce((sum, child) => sum + cpuSecondsOfTree(child), 0);
}

/** A child may end while it is being looked at: then its parent has its time already. */
function ownSeconds(pid: number): number {
  try {
    return cpuSecondsOf(pid) + endedSeconds(pid);
  } catch {
    return 0;
  }
}

/** Fields 16 and 17 of /proc/<pid>/stat: the time of children that were waited for. */
function endedSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => textOf(`/proc/${pid}/task/${task}/children`).split(' '))
    .filter((child) => child !== '')
    .map(Number);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
