/** How a plugin presents itself to the host. */
import type { HookName, HookPattern, HookRegistration } from './hooks.ts';
import type { PluginServices } from './plugin-services.ts';

/** What this version of Mailwright offers to plugins. A plugin's package.json says for which one it was written. */
export const CONTRACT_VERSION = 1;

export interface Plugin {
  /** `<vendor>/<name>`, the folder it lives in. */
  readonly name: string;
  /** The versions of the hooks that the plugin was written for; 1 if absent. */
  readonly versions?: { readonly [Name in HookName]?: number };
  /**
   * Hooks of the plugin's own, which it calls. A plugin that uses another plugin's hooks and works without it declares them as well,
   * in the same way.
   */
  readonly declares?: Readonly<Record<string, DeclaredHook>>;
  /** For every plugin that is found, active or not: registers drivers (`register_sending_server_*`), verifiers and translations. */
  register?(hooks: HookRegistration, services: PluginServices): void;
  /** When the plugin becomes active: registers all other hooks. */
  boot?(hooks: HookRegistration, services: PluginServices): void;
}

export interface DeclaredHook {
  readonly pattern: HookPattern;
  /** 1 if absent. Raise it when what the hook passes changes so that listeners must change. */
  readonly version?: number;
}

/** Gives the object its type, so that a plugin's mistakes show in its own file. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
