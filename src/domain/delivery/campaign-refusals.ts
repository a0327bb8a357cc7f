/**
 * Refusals of what is the same for everybody: a campaign's sender ("not owned by user", "not authorized to send from this
 * domain"), or its size. They are met by this campaign only, so the server stays in use and the campaign is stopped. One
 * recipient's host may say the same of its own accord; what everybody before it met tells them apart.
 */
import { SendingError } from '../../plugin-api/index.ts';
import { classifyReply } from '../sending/replies/classify-reply.ts';

/** Nobody was written to yet, and so many were refused for it. */
const FIRST_REFUSALS_MAX = 3;
/** So many new ones in a row, after others were taken. */
const REFUSALS_IN_A_ROW_MAX = 10;
/** One who is refused among others who are not is tried so often. */
const TRIES_MAX = 5;

export class CampaignRefusals {
  #hasTaken = false;
  #inARow = 0;

  taken(): void {
    this.#hasTaken = true;
    this.#inARow = 0;
  }

  /** What a final refusal of the campaign leads to; undefined: it is none. */
  verdictOn(error: SendingError, attempts: number): 'stop' | 'again' | undefined {
    if (!isOfCampaign(error)) return undefined;
    // Whoever comes again was refused while others were not.
    if (attempts === 0 || !this.#hasTaken) this.#inARow += 1;
    if (this.#inARow >= (this.#hasTaken ? REFUSALS_IN_A_ROW_MAX : FIRST_REFUSALS_MAX)) return 'stop';
    return attempts + 1 < TRIES_MAX ? 'again' : undefined;
  }
}

/** Final as it was said, it may yet be another's fault. */
export function asDeferred({ message, code, enhancedStatus }: SendingError): SendingError {
  return new SendingError('deferred', message, { code, enhancedStatus });
}

/** What is said of content is left out: one provider's filter speaks for itself. */
function isOfCampaign({ kind, code, enhancedStatus, message }: SendingError): boolean {
  if (kind !== 'refused') return false;
  const meaning = classifyReply({ code, enhancedStatus, text: message });
  return meaning.class === 'policy'
    ? meaning.scope === 'sender'
    : meaning.class === 'permanent' && meaning.scope === 'message';
}
