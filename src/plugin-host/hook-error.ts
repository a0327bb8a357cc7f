/** Why a plugin's hooks are refused. The sentences are for the plugin's author and for the administrator who activates it. */
import type { HookPattern } from '../plugin-api/index.ts';
import type { Phase } from './known-hooks.ts';

export type HookErrorCode =
  | 'UNKNOWN_HOOK'
  | 'WRONG_PATTERN'
  | 'WRONG_PHASE'
  | 'WRITTEN_FOR_OLDER'
  | 'WRITTEN_FOR_NEWER'
  | 'ALREADY_SET'
  | 'INVALID_NAME'
  | 'DECLARED_TWICE'
  | 'ORDER_CYCLE'
  | 'INVALID_ORDER'
  | 'NOT_A_FUNCTION'
  | 'INVALID_ENTRY'
  | 'REGISTRATION_CLOSED'
  | 'ASYNCHRONOUS'
  | 'NOT_DECLARED'
  | 'NOT_IN_MANIFEST'
  | 'NAME_TAKEN'
  | 'NOBODY_PERFORMS'
  | 'BEHAVIOR_FAILED';

export class HookError extends Error {
  readonly code: HookErrorCode;

  constructor(code: HookErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HookError';
    this.code = code;
  }
}

/** How a plugin registers for a hook of each pattern. */
const METHODS: Readonly<Record<HookPattern, string>> = {
  REGISTRY: 'add()',
  EVENT: 'on()',
  BEHAVIOR: 'set() or setIfEmpty()',
  FILTER: 'modify()',
};

/** A hook that a plugin uses. */
export interface HookUse {
  readonly plugin: string;
  readonly hook: string;
}

export function unknownHook({ plugin, hook }: HookUse, nearest: readonly string[]): HookError {
  const names = nearest.map((name) => `"${name}"`).join(', ');
  return new HookError(
    'UNKNOWN_HOOK',
    `Plugin "${plugin}" uses the hook "${hook}", which does not exist. The nearest names are ${names}. If the hook is the plugin's own, add it to "declares" of definePlugin.`,
  );
}

export function notInManifest({ plugin, hook }: HookUse): HookError {
  return new HookError(
    'NOT_IN_MANIFEST',
    `Plugin "${plugin}" uses the hook "${hook}", which its manifest does not name: add it to "hooks" of "mailwright" in its package.json.`,
  );
}

export function wrongPattern({ plugin, hook }: HookUse, used: HookPattern, right: HookPattern): HookError {
  return new HookError(
    'WRONG_PATTERN',
    `Plugin "${plugin}" calls ${METHODS[used]} for the hook "${hook}", which is of the pattern ${right}: use ${METHODS[right]}.`,
  );
}

export function wrongPhase({ plugin, hook }: HookUse, right: Phase): HookError {
  const [is, not] = right === 'register' ? ['register()', 'boot()'] : ['boot()', 'register()'];
  return new HookError(
    'WRONG_PHASE',
    `Plugin "${plugin}" registers for the hook "${hook}" in ${not}. This hook belongs in ${is}.`,
  );
}

export function wrongVersion({ plugin, hook }: HookUse, written: number, version: number): HookError {
  const what = `Plugin "${plugin}" was written for version ${written} of the hook "${hook}", which has version ${version} here.`;
  return written < version
    ? new HookError('WRITTEN_FOR_OLDER', `${what} Install a newer version of the plugin.`)
    : new HookError('WRITTEN_FOR_NEWER', `${what} Upgrade Mailwright, or install an older version of the plugin.`);
}

export function alreadySet({ plugin, hook }: HookUse, other: string): HookError {
  return new HookError(
    'ALREADY_SET',
    `Plugin "${plugin}" sets the behavior "${hook}", which plugin "${other}" has set. Only one plugin may set it: deactivate one of them.`,
  );
}

export function invalidName(plugin: string, name: string): HookError {
  const shown = [plugin, name].map((text) => JSON.stringify(text.slice(0, 200)));
  return new HookError(
    'INVALID_NAME',
    `Plugin ${shown[0]} has the name ${shown[1]}. Names of plugins and hooks consist of letters, digits and the characters "_", ".", "/", "-", at most 200 in all.`,
  );
}

export function declaredTwice({ plugin, hook }: HookUse, other: string | undefined): HookError {
  return new HookError(
    'DECLARED_TWICE',
    `Plugin "${plugin}" declares the hook "${hook}" with another pattern or version than ${other === undefined ? 'Mailwright' : `plugin "${other}"`}. Give it another name.`,
  );
}

export function orderCycle(hook: string, plugins: readonly string[]): HookError {
  const names = plugins.map((name) => `"${name}"`).join(' before ');
  return new HookError(
    'ORDER_CYCLE',
    `The order of the hook "${hook}" contradicts itself: ${names}. Change "before" or "after" in one of these plugins, or deactivate one.`,
  );
}

export function invalidEntry({ plugin, hook }: HookUse, fault: string): HookError {
  return new HookError('INVALID_ENTRY', `Plugin "${plugin}" adds to the hook "${hook}" what cannot be used: ${fault}`);
}
