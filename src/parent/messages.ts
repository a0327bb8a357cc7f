/** What the program and its parent process tell each other. */
import type { ProcessEnd } from './process-end.ts';

/** Environment variable that says that a parent process has started this one. */
export const HAS_PARENT = 'MAILWRIGHT_HAS_PARENT';
/** Environment variable with the latest ends, as JSON. */
export const LAST_ENDS = 'MAILWRIGHT_LAST_ENDS';

export type ToParent =
  /** Start the embedded database in this folder, if it does not run yet, and say where it is. */
  | { readonly kind: 'database'; readonly folder: string }
  /** The ends are recorded. `isDealtWith`: a plugin was switched off because of those that nothing explains. */
  | { readonly kind: 'recorded'; readonly isDealtWith: boolean }
  /** It works. With PORT=0 it has this one from now on. */
  | { readonly kind: 'ready'; readonly port: number }
  /** It cannot start, and has said why. */
  | { readonly kind: 'failed' }
  /** It stops now, so that another version of it starts. */
  | { readonly kind: 'replace' }
  /** Somebody has asked it to stop. */
  | { readonly kind: 'stopping' };

export type ToProgram = { readonly kind: 'database'; readonly url?: string; readonly fault?: string };

/** The ends of the last minutes of which a parent process tells, the latest one last. */
export type LastEnds = readonly ProcessEnd[];
