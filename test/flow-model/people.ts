/** The people of the reference: what flows and others do to them, and what of it the flow is told. No code of the product is used. */
import type { CopyNode, Happening, PersonThere } from './flow-data.ts';
import type { Reader, Rules } from './rules.ts';

export interface Person extends Reader {
  fields: Record<string, string>;
  tags: readonly string[];
  status: string;
  isSuppressed: boolean;
}

/** What has happened to a person since it was read last. */
export interface Changes {
  /** The person left the list, or was deleted. */
  hasEnded: boolean;
  /** Anything of the person is another one. */
  hasChanged: boolean;
  readonly fields: Set<string>;
}

export class People {
  readonly all: readonly Person[];
  readonly there: (PersonThere | undefined)[];
  readonly #rules: Rules;
  /** Of each flow that reads it. */
  readonly #changes: Map<number, Changes>[] = [];

  constructor(
    fields: readonly Readonly<Record<string, string>>[],
    there: readonly (PersonThere | undefined)[],
    rules: Rules,
  ) {
    this.all = fields.map((one) => ({ fields: { ...one }, tags: [], status: 'subscribed', isSuppressed: false }));
    this.there = fields.map((_, no) => there[no]);
    this.#rules = rules;
  }

  get(no: number): Person {
    const found = this.all[no];
    if (!found) throw new Error('No such person.');
    return found;
  }

  /** One more flow reads what happens to people. */
  addReader(): number {
    return this.#changes.push(new Map()) - 1;
  }

  /** What happened to people since this flow took it last. */
  changes(reader: number): ReadonlyMap<number, Changes> {
    return this.#changes[reader] ?? new Map();
  }

  /** The same, which is read then. */
  takeChanges(reader: number): ReadonlyMap<number, Changes> {
    const taken = this.changes(reader);
    this.#changes[reader] = new Map();
    return taken;
  }

  /** What others do to a person. */
  happens(happening: Happening): void {
    switch (happening.do) {
      case 'set':
        return this.setField(happening.person, happening.field, happening.value);
      case 'tag':
        return this.tag(happening.person, happening.tag);
      case 'unsubscribe':
        return this.leave(happening.person, 'unsubscribed');
      case 'delete':
        return this.leave(happening.person, 'deleted');
      case 'suppress':
        this.get(happening.person).isSuppressed = true;
        return;
      default:
        return;
    }
  }

  setField(no: number, field: string, value: string): void {
    const { fields } = this.get(no);
    if ((fields[field] ?? '') !== value) this.#changed(no, ({ fields: changed }) => changed.add(field));
    fields[field] = value;
  }

  tag(no: number, tag: string): void {
    this.#setTags(no, this.#rules.withTag(this.get(no).tags, tag));
  }

  untag(no: number, tag: string): void {
    this.#setTags(no, this.#rules.withoutTag(this.get(no).tags, tag));
  }

  #setTags(no: number, tags: readonly string[]): void {
    if (tags.length !== this.get(no).tags.length) this.#changed(no);
    this.get(no).tags = tags;
  }

  leave(no: number, status: 'unsubscribed' | 'deleted'): void {
    if (this.get(no).status === status) return;
    this.get(no).status = status;
    this.#changed(no, (changes) => (changes.hasEnded = true));
  }

  /** Copies the person to the other list, or moves them; returns why not. */
  copy(no: number, { type, onConflict }: CopyNode): string | undefined {
    const person = this.get(no);
    const there = this.there[no];
    const refusal = this.#rules.copyRefusal(person, there);
    if (refusal !== undefined) return refusal;
    const own = { tags: person.tags, level: person.fields['LEVEL'] ?? '' };
    this.there[no] = there ? this.#rules.merged(there, own, onConflict) : { status: 'subscribed', ...own };
    if (type === 'move_to_list') this.leave(no, 'unsubscribed');
    return undefined;
  }

  #changed(no: number, add: (changes: Changes) => unknown = () => undefined): void {
    for (const all of this.#changes) {
      const known = all.get(no) ?? { hasEnded: false, hasChanged: true, fields: new Set<string>() };
      all.set(no, known);
      add(known);
    }
  }
}
