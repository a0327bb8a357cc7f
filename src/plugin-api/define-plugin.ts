/** How a plugin presents itself to the host. */
import type { Hooks } from './hooks.ts';

export interface Plugin {
  /** `<vendor>/<name>`, the folder it lives in. */
  readonly name: string;
  /** For every discovered plugin, before any is active: register translations and drivers here. */
  register?(hooks: Hooks): void;
  /** When the plugin is active: register all other hooks here. */
  boot?(hooks: Hooks): void;
}

/** Gives the object its type, so that a plugin's mistakes show in its own file. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
