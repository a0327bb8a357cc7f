/**
 * The schema of this process: the product's own, with the parts of the plugins that are live. It is replaced as a whole; an operation ends
 * on the schema on which it began.
 */
import type { GraphQLSchema } from 'graphql';
import type { OwnedEntry, ProductHooks } from '../domain/product-hooks.ts';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { GraphqlPart } from '../plugin-api/index.ts';
import { Documents } from './documents.ts';
import { mergeParts } from './plugin-parts/merge-parts.ts';
import { parsePart, PartFault, type ParsedPart } from './plugin-parts/parse-part.ts';

/** A schema with the documents that were checked against it. */
export interface SchemaInUse {
  readonly schema: GraphQLSchema;
  readonly documents: Documents;
}

type Entries = readonly OwnedEntry<GraphqlPart>[];

interface Built extends SchemaInUse {
  readonly entries: Entries;
}

/** The one in use, and one that is about to be: an activation may be taken back. */
const BUILT_KEPT_MAX = 3;

export class LiveSchema {
  readonly product: GraphQLSchema;
  readonly #hooks: ProductHooks;
  readonly #log: Log;
  readonly #parsed = new WeakMap<GraphqlPart, ParsedPart>();
  /** Parts that were live already and do not fit. */
  readonly #leftOut = new WeakSet<GraphqlPart>();
  #built: readonly Built[] = [];
  #current: Built;
  #isStale = false;
  readonly #stop: readonly (() => void)[];

  constructor(product: GraphQLSchema, { hooks, log }: { readonly hooks: ProductHooks; readonly log: Log }) {
    this.product = product;
    this.#hooks = hooks;
    this.#log = log;
    this.#current = this.#build([]);
    this.#current = this.#buildFitting(hooks.owned('graphql_part'));
    this.#stop = [
      hooks.check((next) => void this.schemaWith(next.owned('graphql_part'))),
      hooks.onChange(() => void (this.#isStale = true)),
    ];
  }

  /** What operations that begin now use. */
  get current(): SchemaInUse {
    if (this.#isStale) this.#current = this.#buildFitting(this.#hooks.owned('graphql_part'));
    this.#isStale = false;
    return this.#current;
  }

  /** The schema with these parts, for plugins that are about to go live. Throws PartFault. */
  schemaWith(entries: Entries): GraphQLSchema {
    return this.#build(entries.filter(({ value }) => !this.#leftOut.has(value))).schema;
  }

  close(): void {
    for (const stop of this.#stop) stop();
  }

  /** A part that does not fit is left out: what is live already must not stop the program. */
  #buildFitting(entries: Entries): Built {
    const fitting = entries.filter(({ value }) => !this.#leftOut.has(value));
    try {
      return this.#build(fitting);
    } catch {
      const kept: OwnedEntry<GraphqlPart>[] = [];
      for (const entry of fitting) {
        try {
          this.#build([...kept, entry]);
          kept.push(entry);
        } catch (error) {
          this.#leftOut.add(entry.value);
          this.#log.error('plugin.graphql_part_left_out', { plugin: entry.plugin, message: messageOf(error) });
          this.#hooks.noteLeftOut(entry.plugin, messageOf(error));
        }
      }
      return this.#build(kept);
    }
  }

  #build(entries: Entries): Built {
    const known = this.#built.find((built) => isSame(built.entries, entries));
    if (known) return known;
    const schema = this.#merged(entries);
    const built = { entries, schema, documents: new Documents(schema) };
    this.#built = [built, ...this.#built].slice(0, BUILT_KEPT_MAX);
    return built;
  }

  #merged(entries: Entries): GraphQLSchema {
    const parts = entries.map((entry) => this.#parse(entry));
    try {
      return mergeParts(this.product, parts, this.#hooks);
    } catch (error) {
      throw this.#clash(parts) ?? error;
    }
  }

  /** Which part does not fit: those that are live fit together. */
  #clash(parts: readonly ParsedPart[]): PartFault | undefined {
    const isLive = ({ source }: ParsedPart) => this.#current.entries.some(({ value }) => value === source);
    const fitting = parts.filter(isLive);
    for (const part of parts.filter((one) => !isLive(one))) {
      try {
        mergeParts(this.product, [...fitting, part], this.#hooks);
        fitting.push(part);
      } catch (error) {
        return new PartFault(part.plugin, messageOf(error));
      }
    }
    return undefined;
  }

  /** Once: what the plugin changes in its object later has no effect. */
  #parse(entry: OwnedEntry<GraphqlPart>): ParsedPart {
    const known = this.#parsed.get(entry.value);
    if (known) return known;
    const parsed = parsePart(entry, this.product);
    this.#parsed.set(entry.value, parsed);
    return parsed;
  }
}

function isSame(one: Entries, other: Entries): boolean {
  return one.length === other.length && one.every(({ value }, index) => value === other[index]?.value);
}
