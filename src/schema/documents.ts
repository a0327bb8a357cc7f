/** Documents, parsed within limits and validated, each once: clients repeat the same few. */
import { validate, type DocumentNode, type GraphQLError, type GraphQLSchema } from 'graphql';
import { parseWithinLimits } from './document-limits.ts';
import { DOCUMENTS_CACHED_MAX } from './limits.ts';

interface Checked {
  readonly text: string;
  faults: readonly GraphQLError[] | undefined;
}

export class Documents {
  readonly #schema: GraphQLSchema;
  /** By text, the least recently used first. Only valid documents are kept: invalid ones are too various. */
  readonly #kept = new Map<string, DocumentNode>();
  readonly #checked = new WeakMap<DocumentNode, Checked>();

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** The document of a text; throws a GraphQLError for a syntax error or a limit. */
  parse(text: string): DocumentNode {
    const kept = this.#kept.get(text);
    if (kept) {
      this.#kept.delete(text);
      this.#kept.set(text, kept);
      return kept;
    }
    const document = parseWithinLimits(this.#schema, text);
    this.#checked.set(document, { text, faults: undefined });
    return document;
  }

  /** The faults of a parsed document by the schema. Suggestions of names are never part of them. */
  validate(document: DocumentNode): readonly GraphQLError[] {
    const checked = this.#checked.get(document);
    if (checked?.faults) return checked.faults;
    const faults = validate(this.#schema, document, undefined, { hideSuggestions: true });
    if (checked) checked.faults = faults;
    if (checked && faults.length === 0) this.#keep(checked.text, document);
    return faults;
  }

  #keep(text: string, document: DocumentNode): void {
    this.#kept.set(text, document);
    if (this.#kept.size <= DOCUMENTS_CACHED_MAX) return;
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined) this.#kept.delete(oldest);
  }
}
