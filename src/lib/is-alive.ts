/** Whether a process with this number runs on this machine, also one of another user. */
import { readFileSync } from 'node:fs';

/** A zombie process, whose end nobody has read yet, does not count: in containers often nobody reads it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !hasEnded(pid);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM' && !hasEnded(pid);
  }
}

/** Linux shows it in `/proc`; elsewhere the signal decides. The name before the state is in brackets. */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
