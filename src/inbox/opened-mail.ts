/**
 * Opens mails to show them, one after the other: parsing takes several times the size of a mail. The last mail is kept for a
 * moment with the answers made from it, because a page and the frame in it need the same mail. However many ask for it, all get
 * one copy of its bytes.
 */
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts';
import type { InboxEntry, InboxStore } from './inbox-store.ts';
import type { ParsedMessage } from './parse-message.ts';
import { readMessage } from './read-message.ts';

/** Long enough for a page and its frame. */
const KEPT_MS = 10_000;

export interface OpenedMail {
  readonly entry: InboxEntry;
  /** As it came. */
  readonly raw: Buffer;
  readonly parsed: ParsedMessage;
}

export interface MailOpener<Answer> {
  /** The result of `make` for this path and search; undefined when there is no such mail. */
  answerOf(id: number, target: string, make: (mail: OpenedMail) => Answer): Promise<Answer | undefined>;
}

/** An opener that keeps answers of one kind. */
export function createMailOpener<Answer>(store: InboxStore): MailOpener<Answer> {
  const opening = createConcurrencyLimit({ runningMax: 1 });
  let kept: (OpenedMail & { readonly answers: Map<string, Answer> }) | undefined;
  const dropTimer = setTimeout(() => (kept = undefined), KEPT_MS).unref();

  const open = async (id: number) => {
    // The inbox may have been emptied meanwhile, also by another process.
    const entry = await store.find(id);
    if (!entry || kept?.entry.id === id) return entry && kept;
    kept = undefined;
    const raw = await store.readRaw(id);
    kept = raw && { entry, raw, parsed: await readMessage(raw), answers: new Map<string, Answer>() };
    return kept;
  };
  return {
    answerOf(id, target, make) {
      return opening.run(async () => {
        const mail = await open(id);
        if (!mail) return undefined;
        dropTimer.refresh();
        const answer = mail.answers.get(target) ?? make(mail);
        mail.answers.set(target, answer);
        return answer;
      });
    },
  };
}
