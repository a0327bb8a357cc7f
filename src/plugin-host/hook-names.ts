/** Which hooks there are: Mailwright's own and those that plugins declare. */
import type { Plugin } from '../plugin-api/index.ts';
import { nearestNames } from '../lib/nearest-names.ts';
import { declaredTwice, invalidName, unknownHook } from './hook-error.ts';
import type { KnownHook, KnownHooks } from './known-hooks.ts';

/** So many names are suggested for an unknown one. */
const SUGGESTIONS = 3;

/** Names stand in the log, in counters in the database and in `/metrics`. */
const NAME_LENGTH_MAX = 200;
const NAME = /^[\w./-]{1,200}$/;

interface Declaration extends KnownHook {
  readonly name: string;
  readonly plugin: string;
}

export class HookNames {
  readonly #known: KnownHooks;
  readonly #families: readonly KnownHook[];
  #declarations: readonly Declaration[] = [];

  constructor(known: KnownHooks) {
    this.#known = known;
    this.#families = Object.values(known).filter(({ family }) => family);
  }

  /** Adds the hooks that the plugin declares. Throws HookError `INVALID_NAME`, `DECLARED_TWICE`; then none is added. */
  declare({ name: plugin, declares = {} }: Plugin): void {
    for (const name of [plugin, ...Object.keys(declares)]) if (!NAME.test(name)) throw invalidName(plugin, name);
    const declarations = Object.entries(declares).map(([name, { pattern, version = 1 }]) => {
      const declaration: Declaration = { name, plugin, pattern, version, phase: 'boot' };
      const other = this.#find(name);
      if (other && (other.pattern !== pattern || other.version !== version))
        throw declaredTwice({ plugin, hook: name }, this.#declared(name)?.plugin);
      return declaration;
    });
    this.#declarations = [...this.#declarations, ...declarations];
  }

  remove(plugin: string): void {
    this.#declarations = this.#declarations.filter((declaration) => declaration.plugin !== plugin);
  }

  /** The hook that this plugin uses. Throws HookError `UNKNOWN_HOOK`. */
  require(plugin: string, name: string): KnownHook {
    const found = this.#find(name);
    if (!found)
      throw unknownHook(
        { plugin, hook: name.slice(0, NAME_LENGTH_MAX) },
        this.#nearest(name.slice(0, NAME_LENGTH_MAX)),
      );
    return found;
  }

  /** Whether it is a hook of Mailwright itself. */
  isOfProduct(name: string): boolean {
    return this.#product(name) !== undefined;
  }

  #find(name: string): KnownHook | undefined {
    if (!NAME.test(name)) return undefined;
    return this.#product(name) ?? this.#declared(name);
  }

  #product(name: string): KnownHook | undefined {
    const known = Object.hasOwn(this.#known, name) ? this.#known[name] : undefined;
    return known ?? this.#families.find(({ family }) => family?.test(name));
  }

  #declared(name: string): Declaration | undefined {
    return this.#declarations.find((declaration) => declaration.name === name);
  }

  /** First the families to which the beginning of the name belongs. */
  #nearest(name: string): string[] {
    const names = [...Object.keys(this.#known), ...this.#declarations.map((declaration) => declaration.name)];
    const { families = [], others = [] } = Object.groupBy(new Set(names), (known) =>
      known.includes('<') && name.startsWith(known.slice(0, known.indexOf('<'))) ? 'families' : 'others',
    );
    return [...families, ...nearestNames(name, others, SUGGESTIONS)].slice(0, SUGGESTIONS);
  }
}
