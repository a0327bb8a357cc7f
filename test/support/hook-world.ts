/** A hook bus with hooks of a plugin `acme/core`, for tests of the bus. */
import { createLog } from '../../src/lib/log.ts';
import type { HookRegistration, Plugin } from '../../src/plugin-api/index.ts';
import { createHookBus, type HookBus } from '../../src/plugin-host/hook-bus.ts';
import { knownHooks } from '../../src/plugin-host/known-hooks.ts';
import { withHooks } from './with-hooks.ts';

declare module 'mailwright/plugin-api' {
  interface RegistryHooks {
    acme_badges: string;
  }
  interface EventHooks {
    acme_scored: [score: number, tags: string[]];
  }
  interface BehaviorHooks {
    acme_price: { args: [amount: number]; result: number };
  }
  interface FilterHooks {
    acme_words: readonly string[];
    acme_text: string;
    acme_style: { readonly color: string };
  }
}

const DECLARES = {
  acme_badges: { pattern: 'REGISTRY' },
  acme_scored: { pattern: 'EVENT' },
  acme_price: { pattern: 'BEHAVIOR' },
  acme_words: { pattern: 'FILTER' },
  acme_text: { pattern: 'FILTER' },
  acme_style: { pattern: 'FILTER' },
} as const;

export interface HookWorld {
  readonly bus: HookBus;
  /** What was logged. */
  readonly lines: readonly Record<string, unknown>[];
  /** Adds a live plugin that registers this in `boot`. */
  live(name: string, boot: (hooks: HookRegistration) => void, more?: Partial<Plugin>): string;
}

export function openHookWorld(known = knownHooks): HookWorld {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const bus = createHookBus(createLog({ level: 'info', format: 'json', write }), { known });
  withHooks(bus, { name: 'acme/core', declares: DECLARES });
  return { bus, lines, live: (name, boot, more = {}) => withHooks(bus, { name, boot, ...more }) };
}

/** What is thrown; nothing if nothing is. */
export function faultOf(act: () => unknown): { code?: unknown; message?: unknown } {
  try {
    act();
  } catch (error) {
    return error instanceof Error ? { ...error, message: error.message } : { message: error };
  }
  return {};
}

export const CUSTOMER = {
  ...{ id: 7n, uid: 'c7', email: 'a@example.com', firstName: 'Ada', lastName: '', timezone: 'UTC' },
};
