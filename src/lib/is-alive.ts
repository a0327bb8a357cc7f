/** Whether a process with this number runs on this machine; one that belongs to somebody else counts. */
import { readFileSync } from 'node:fs';

/** One that has ended counts no more, though nobody has asked yet how: containers often have nobody who would. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !hasEnded(pid);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM' && !hasEnded(pid);
  }
}

/** Linux says it in `/proc`; where there is none, the signal's answer counts. The name before the state is in brackets. */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
