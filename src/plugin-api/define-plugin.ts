/** How a plugin presents itself to the host. */
import type { Hooks } from './hooks.ts';

export interface Plugin {
  /** `<vendor>/<name>`, the folder it lives in. */
  readonly name: string;
  /** Runs for every discovered plugin, before anything is active: translations and drivers go here. */
  register?(hooks: Hooks): void;
  /** Runs when the plugin is active: all other hooks go here. */
  boot?(hooks: Hooks): void;
}

/** Names the type, so that a plugin's mistakes show in its own file. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
