/** What verifications of lists and of imports do with addresses that cannot get mail. */
import type { WhenUndeliverable } from '../../domain/verification/verification-fields.ts';
import { closedSet } from '../enums.ts';

export const UndeliverableAction = closedSet<WhenUndeliverable>(
  'UndeliverableAction',
  'What a verification does with addresses that it finds undeliverable.',
  {
    keep: 'Stores the result, nothing else.',
    suppress: 'Suppresses them, too: they get no mail any more, by any path.',
  },
);
