/**
 * Reads that many ask for at the same time: whoever asks while the same read is under way gets its answer. Nothing is kept afterwards, so an answer
 * is never older than one read takes.
 */
export class SharedReads<Answer> {
  readonly #underWay = new WeakMap<object, Map<string, Promise<Answer>>>();

  /** `of` is what is read from, such as a database: the same key of another one is another question. */
  read(of: object, key: string, work: () => Promise<Answer>): Promise<Answer> {
    const open = this.#underWay.get(of) ?? new Map<string, Promise<Answer>>();
    this.#underWay.set(of, open);
    const known = open.get(key);
    if (known) return known;
    const answer = work().finally(() => open.delete(key));
    open.set(key, answer);
    return answer;
  }
}
